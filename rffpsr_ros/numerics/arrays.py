"""The type of arrays, and how an array lies in memory."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""An array of floats; float64 unless a caller chose float32 for speed."""


def as_sent(values: Array) -> Array:
    """Return a copy that lies in memory as it would in a process that was sent it.

    Products round differently by order and strides in memory.
    """
    return np.array(values, order="C")
