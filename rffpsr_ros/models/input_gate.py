"""Inputs absurdly far outside of what was trained: kept from the model, before any part of it.

One observation of 1e30 would stay in a linear filter's state for hundreds of ticks. It is taken for
missing, as a value that fails the gate of a `robot_localization` filter is; in place of an absurd
command the one before it stays in force. What is rejected depends on the value alone and on nothing
that was seen before, so whoever follows the same inputs rejects the same.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.numerics.arrays import Array

REJECTION_THRESHOLD = 100.0
"""Widths of the trained range that an input may lie outside of it."""

LEAST_WIDTH = 0.01
"""Of a range, in magnitudes of its values: one that hardly varied in training may vary later."""

ONE_BY_ONE = 16
"""Up to so many columns are compared one by one, sooner than as an array."""

_LARGEST = sys.float_info.max


class InputRange(NamedTuple):
    """The least and the largest value (d,) that columns had in training."""

    low: Array
    high: Array

    def left_by(self, values: Array) -> bool:
        """Tell whether any value (..., d) lies outside; NaN does not."""
        return bool(((values < self.low) | (values > self.high)).any())

    def joined(self, other: InputRange) -> InputRange:
        """Return the range that holds both."""
        return InputRange(np.fmin(self.low, other.low), np.fmax(self.high, other.high))


class TrainedRange(NamedTuple):
    """The ranges of observations and actions; None where a model does not know one."""

    observations: InputRange | None = None
    actions: InputRange | None = None

    def joined(self, other: TrainedRange) -> TrainedRange:
        """Return the ranges that hold those of both, as far as either knows them."""
        pairs = zip(self, other, strict=True)
        return TrainedRange(*((a.joined(b) if b else a) if a else b for a, b in pairs))


class ColumnGate:
    """The gate of one kind of columns.

    Attributes
    ----------
    count
        (d,): how often each column's value was outside.
    """

    def __init__(self, known: InputRange | None, thresholds: Array) -> None:
        columns = len(thresholds)
        if known is None:
            thresholds = np.zeros(columns)
            known = InputRange(np.full(columns, -_LARGEST), np.full(columns, _LARGEST))
        self.range = known
        self.count = np.zeros(columns, np.int64)
        gated = (thresholds > 0) & np.isfinite(known.low) & np.isfinite(known.high)
        with np.errstate(over="ignore", invalid="ignore"):
            reach = thresholds * _width(known)
            low = np.where(gated, known.low - reach, -_LARGEST)
            high = np.where(gated, known.high + reach, _LARGEST)
        self._low, self._high = np.maximum(low, -_LARGEST), np.minimum(high, _LARGEST)
        self._pairs = list(zip(self._low.tolist(), self._high.tolist(), strict=True))

    def outside(self, values: Array) -> Array | None:
        """Return which values (..., d) are absurd; None, quickly, if none is. NaN is not."""
        if values.ndim == 1 and len(values) <= ONE_BY_ONE:
            for value, (low, high) in zip(values.tolist(), self._pairs, strict=True):
                if not low <= value <= high:
                    break
            else:
                return None
        beyond = (values < self._low) | (values > self._high)
        return beyond if beyond.any() else None


class InputGate:
    """Lets through what a model can make use of.

    Parameters
    ----------
    known
        What the model was trained on.
    columns
        How many observations and actions there are.
    thresholds
        One for all columns, or one for each observation and then for each action: how many widths
        of its trained range a value may lie outside of it; 0: any finite value passes.

    Raises
    ------
    InputError
        If the thresholds are not as many, or one is negative or not finite.
    """

    def __init__(
        self,
        known: TrainedRange,
        columns: tuple[int, int],
        thresholds: Sequence[float] = (REJECTION_THRESHOLD,),
    ) -> None:
        each = checked_thresholds(thresholds, columns)
        self.observed = ColumnGate(known.observations, each[: columns[0]])
        self.acted = ColumnGate(known.actions, each[columns[0] :])
        self._held: Array | None = None

    def observations(self, values: Array) -> Array:
        """Return observations (..., d_o), NaN in place of those that are absurd, and count them."""
        outside = self.observed.outside(values)
        if outside is None:
            return values
        self.observed.count += outside.reshape(-1, outside.shape[-1]).sum(axis=0)
        return np.where(outside, np.nan, values)

    def action(self, values: Array) -> Array:
        """Return the action (d_a,) of the next tick, and count what was absurd of it."""
        outside = self.acted.outside(values)
        if outside is not None:
            self.acted.count += outside
            values = self._instead(values, outside, self._held)
        self._held = values
        return values

    def command(self, values: Array) -> Array:
        """Return what will be the action (d_a,) of the tick to come, and do not count it yet."""
        outside = self.acted.outside(values)
        return values if outside is None else self._instead(values, outside, self._held)

    def actions(self, rows: Array) -> Array:
        """Return actions (n, d_a) one after the other, and count what was absurd of them."""
        outside = self.acted.outside(rows)
        if outside is None:
            return rows
        self.acted.count += outside.sum(axis=0)
        rows, before = rows.copy(), self._held
        for row, absurd in zip(rows, outside, strict=True):
            row[:] = self._instead(row, absurd, before)
            before = row
        return rows

    def begin(self) -> None:
        """Forget the last action: a segment begins."""
        self._held = None

    def _instead(self, values: Array, outside: Array, before: Array | None) -> Array:
        """Return the actions before where values are absurd; the nearest trained, if none was."""
        known = np.clip(values, *self.acted.range) if before is None else before
        return np.where(outside, known, values)


def checked_thresholds(thresholds: Sequence[float], columns: tuple[int, int]) -> Array:
    """Return a threshold for each column (d_o + d_a,).

    Raises
    ------
    InputError
        As `InputGate` does.
    """
    given, total = np.asarray(thresholds, dtype=np.float64).ravel(), sum(columns)
    if len(given) not in (1, total):
        raise InputError(
            f"rejection_threshold has {len(given)} numbers; give one for all, or {total}: one for"
            f" each of {columns[0]} observations, then one for each of {columns[1]} actions"
        )
    if not (np.isfinite(given).all() and (given >= 0).all()):
        raise InputError(
            f"rejection_threshold is {given.tolist()}; every number must be finite and at least 0"
        )
    return np.broadcast_to(given, total).copy()


def _width(known: InputRange) -> Array:
    """Return how wide ranges count (d,): never nothing."""
    size = np.maximum(np.abs(known.low), np.abs(known.high))
    width = np.maximum(known.high - known.low, LEAST_WIDTH * size)
    return np.where(width > 0, width, 1.0)
