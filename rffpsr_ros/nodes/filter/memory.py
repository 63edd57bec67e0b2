"""The memory that a node holds."""

from __future__ import annotations

import ctypes
from contextlib import suppress


def give_back() -> None:
    """Give back to the system what this process has freed, where its C library keeps it (glibc).

    For moments at which much was let go of, such as a model in whose place another one is served:
    what comes next would lie between the pieces, and the process grow with every change.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
