"""The functions of the field grammar, of numbers or of vectors alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


def elementwise(name: str, numbers: tuple[float, ...], scalar: bool) -> Callable[[Any], Any]:
    """Return ``sin``, ``cos``, ``clip`` or ``equals``, of a number or a vector; NaN stays NaN."""
    if name == "clip":
        low, high = numbers
        if scalar:
            return lambda value: min(max(value, low), high)
        return lambda values: np.clip(values, low, high)
    if name == "equals":
        (wanted,) = numbers
        if scalar:
            return lambda value: value if math.isnan(value) else float(value == wanted)
        return lambda values: np.where(np.isnan(values), np.nan, values == wanted)
    if scalar:
        return math.sin if name == "sin" else math.cos
    function = np.sin if name == "sin" else np.cos
    return lambda values: function(_finite(values))


def yaw(quaternion: Any) -> float:
    """Return the angle about the z axis of a quaternion of any length (rad, REP 103).

    Raises
    ------
    IndexError
        If it is all zeros, which is what an unknown orientation looks like.
    """
    x, y, z, w = quaternion.x, quaternion.y, quaternion.z, quaternion.w
    norm = x * x + y * y + z * z + w * w
    if not norm > 0:
        raise IndexError("an orientation of all zeros is none")
    return math.atan2(2 * (w * z + x * y), norm - 2 * (y * y + z * z))


class Unwrap:
    """Angles made continuous: jumps of more than half a turn between samples are turns."""

    def __init__(self, columns: int) -> None:
        self._last: Vector = np.full(columns, np.nan)

    def reset(self) -> None:
        """Forget the past: the next angle is taken as it is."""
        self._last[:] = np.nan

    def __call__(self, angles: Any) -> Any:
        """Return the continuous angles; NaN passes through and leaves the memory as it is."""
        values = _finite(np.atleast_1d(np.asarray(angles, dtype=np.float64)))
        turns = np.round((values - self._last) / (2 * math.pi))
        values = np.where(np.isnan(turns), values, values - 2 * math.pi * turns)
        known = ~np.isnan(values)
        self._last[known] = values[known]
        return values if np.ndim(angles) else values[0]


def _finite(values: Vector) -> Vector:
    return np.where(np.isfinite(values), values, np.nan)
