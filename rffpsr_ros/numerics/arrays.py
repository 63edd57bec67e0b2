"""The type of arrays, and how an array lies in memory."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""An array of floats; float64 unless a caller chose float32 for speed."""


def c_ordered(values: Array) -> Array:
    """Return a copy in C order, as pickling makes one.

    Products round differently by order and strides in memory: so they have the same bits in the
    process that made an array and in one that was sent it.
    """
    return np.array(values, order="C")
