"""Freed memory kept for the next arrays, where the C library would give it back at once.

Dask starts workers with ``MALLOC_TRIM_THRESHOLD_`` at 64 kB: every larger array that is dropped
goes back to the system. Gradients make and drop thousands of them, and would spend a sixth of their
time on getting pages anew. Without Dask, learning a motor of 3000 ticks spends a tenth.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Of ``mallopt``, in the GNU C library's malloc.h."""

KEPT = 2**27
"""Bytes that may lie unused before they are given back."""

LARGEST = 2**25
"""Bytes of an array from which on it is a mapping of its own, as large as the library allows."""


@lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """Keep some freed memory for good; where the C library is not GNU's, nothing happens."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(_TRIM_THRESHOLD, KEPT)
        set_option(_MMAP_THRESHOLD, LARGEST)
