"""A look at one recording: what is needed to judge it by others, in memory that does not grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

STRETCH = 2**16
"""Ticks read at once."""

SAMPLE = 512
"""Rows kept of a recording, about, evenly spread: quantiles need no more."""


class Stay(NamedTuple):
    """Ticks ``first`` to ``last`` (half-open) in a row with the very same value of a column."""

    column: int
    first: int
    last: int
    value: float

    def __len__(self) -> int:
        """Return the number of ticks."""
        return self.last - self.first


class Look(NamedTuple):
    """What was seen of a recording's columns (d,), observations first, then actions."""

    ticks: int
    low: Array
    high: Array
    roughness: Array
    """Mean square of changes from tick to tick over the variance: 2 of white noise."""
    sample: Array  # rows (n, d)
    longest: Array
    """Ticks of each column's longest stay."""
    stays: tuple[Stay, ...]
    """The longest of those that last."""

    def middle(self) -> tuple[Array, Array]:
        """Return between what quartiles (d,) half of the values lie."""
        return quantiles(self.sample, 0.25), quantiles(self.sample, 0.75)


def quantiles(rows: Array, share: float) -> Array:
    """Return a quantile of every column (d,) of rows (n, d); NaN where nothing was seen."""
    result = np.full(rows.shape[1], np.nan)
    seen = ~np.isnan(rows).all(axis=0)
    if seen.any():
        result[seen] = np.nanquantile(rows[:, seen], share, axis=0, method="nearest")
    return result


@dataclass(frozen=True)
class LookAt:
    """Looks at a recording, here or in another process; stays count from ``least`` ticks on."""

    least: int

    def __call__(self, trajectory: Trajectory) -> Look:
        """Return what is seen."""
        ticks = len(trajectory)
        columns = len(trajectory.observation_names) + len(trajectory.action_names)
        low, high = np.full(columns, np.inf), np.full(columns, -np.inf)
        changes, longest = np.zeros(columns), np.zeros(columns, int)
        stays: list[Stay] = []
        sample = []
        every = max(1, ticks // SAMPLE)
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, ticks, STRETCH):
                rows = all_columns(trajectory.slice(start, min(start + STRETCH, ticks)))
                low, high = np.fmin(low, np.fmin.reduce(rows)), np.fmax(high, np.fmax.reduce(rows))
                changes += np.nansum(np.diff(rows, axis=0) ** 2, axis=0)
                sample.append(rows[::every])
                for column in range(columns):
                    values = rows[:, column]
                    lengths, firsts = _stays(values)
                    longest[column] = max(longest[column], lengths.max(initial=0))
                    for place in np.flatnonzero(lengths >= self.least).tolist():
                        begun, length = int(firsts[place]), int(lengths[place])
                        ticks_of_it = start + begun, start + begun + length
                        stays.append(Stay(column, *ticks_of_it, float(values[begun])))
            rows = np.concatenate(sample)
            roughness = changes / np.maximum(ticks - 1, 1) / _variance(rows)
        stays.sort(key=len, reverse=True)
        return Look(ticks, low, high, roughness, rows, longest, tuple(stays[: 2 * columns]))


def all_columns(trajectory: Trajectory) -> Array:
    """Return observations and actions side by side (T, d)."""
    run = Run(trajectory.observations, trajectory.actions)
    return np.concatenate(run, axis=1)


def _variance(rows: Array) -> Array:
    """Return the variance (d,) of rows (n, d) without NaN; NaN where there is none."""
    seen = ~np.isnan(rows)
    count = np.maximum(seen.sum(axis=0), 1)
    apart = np.where(seen, rows - np.where(seen, rows, 0).sum(axis=0) / count, 0)
    found = (apart**2).sum(axis=0) / count
    return np.asarray(np.where(found > 0, found, np.nan))


def _stays(values: Array) -> tuple[Array, Array]:
    """Return the lengths of stays of values (T,), and where they begin; NaN stays nowhere."""
    firsts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return np.diff(np.append(firsts, len(values))), firsts
