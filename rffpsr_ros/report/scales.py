"""Axes: where values stand on them, and which of them are named."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


class AxisScale(NamedTuple):
    """An axis from value ``low`` to ``high``, on the page from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, values: Array) -> Array:
        """Return where values stand; what a logarithm has no place for is NaN."""
        low, high = self._inner(np.array([self.low, self.high]))
        share = (self._inner(np.asarray(values, dtype=float)) - low) / (high - low)
        return np.asarray(self.start + share * (self.end - self.start))

    def ticks(self, about: int = 5) -> list[float]:
        """Return the values that are named, about so many."""
        if self.log:
            return _powers(self.low, self.high)
        return _round_values(self.low, self.high, about)

    def _inner(self, values: Array) -> Array:
        if not self.log:
            return values
        return np.log10(np.where(values > 0, values, np.nan))


def scale_of(
    values: Array, start: float, end: float, *, log: bool = False, zero: bool = False
) -> AxisScale:
    """Return a scale on which all values have a place, with a little room at its ends.

    Parameters
    ----------
    zero
        Whether 0 belongs to it.
    """
    known = values[np.isfinite(values) & ((values > 0) | (not log))]
    if not len(known):
        known = np.array([1.0, 10.0]) if log else np.array([0.0, 1.0])
    low, high = float(known.min()), float(known.max())
    if log:
        low = max(low, high * 1e-12)
        return AxisScale(low / 1.15, high * 1.15, start, end, True)
    low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    below = 0.0 if zero and low == 0 else room
    return AxisScale(low - below, high + room, start, end)


def label(value: float) -> str:
    """Return a value as it stands at an axis."""
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}"
    mantissa, exponent = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _round_values(low: float, high: float, about: int) -> list[float]:
    rough = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(power * one for one in _STEPS if power * one >= rough)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _powers(low: float, high: float) -> list[float]:
    """Return powers of ten, or where there are few of them also their double and fivefold."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, (last - first) // 6)
    found = [10.0**power for power in range(first, last + 1, every)]
    if last - first <= 2:
        found = [one * factor for one in found for factor in (1, 2, 5)]
    return [one for one in found if low <= one <= high]
