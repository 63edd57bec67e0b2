"""Whether numbers can still be computed with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rffpsr_ros.numerics.arrays import Array

LARGEST = 1e150
"""Numbers are used up to this size: their squares can still be added up."""

_SCALE = 1e-160
_MOST = (LARGEST * _SCALE) ** 2


def usable(values: Array) -> bool:
    """Tell whether all values (...) are finite, and no larger together than `LARGEST`."""
    scaled = values.ravel() * _SCALE  # of which no square overflows
    return bool(scaled.dot(scaled) <= _MOST)


def usable_state(state: Any) -> bool:
    """Tell whether all numbers of a state, a tuple of arrays, numbers and such tuples, are."""
    for part in state:
        if isinstance(part, np.ndarray):
            if part.dtype.kind == "f" and not usable(part):
                return False
        elif isinstance(part, tuple):
            if not usable_state(part):
                return False
        elif isinstance(part, float) and not math.isfinite(part):
            return False
    return True
