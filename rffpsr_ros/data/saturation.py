"""Bounds of observations, learned from where recordings stay at one extreme value.

A sensor at the end of its scale, a tank that runs over, a joint at its stop: the signal reaches
its highest or lowest value, stays there to the last digit for a while, and leaves again. Elsewhere
noise, or motion, lets hardly any value last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds

LEAST_STAY = 5
"""Ticks in a row at an extreme value that are more than chance."""

LEAST_TICKS = 10
"""Ticks that all such stays have together, at the least."""

CLEARLY_LONGER = 4
"""The longest stay at a bound is so many times the longest at any value between, at the least."""


class Bounds(NamedTuple):
    """The least and the largest value (d_o,) that observations can have; infinite: not known."""

    low: Annotated[Array, holds("d_o", infinite=True)]
    high: Annotated[Array, holds("d_o", infinite=True)]

    def astype(self, dtype: type[np.floating]) -> Bounds:
        """Return the same bounds in another precision."""
        return Bounds(*(bound.astype(dtype) for bound in self))

    def __call__(self, values: Array) -> Array:
        """Return values (..., d_o) held within the bounds."""
        return np.minimum(np.maximum(values, self.low), self.high)

    def strictly_inside(self, values: Array) -> Array:
        """Return which of the values (..., d_o) are not held."""
        return np.asarray((values > self.low) & (values < self.high))


def learned_bounds(recordings: Sequence[Array]) -> Bounds | None:
    """Return the bounds of recordings (T, d_o), or None if there are none.

    Only stays that were reached and left again count: where a recording happens to begin or to end,
    or is at rest, says nothing about how far it could go.
    """
    by_column = [
        [seen for run in recordings if len(seen := run[np.isfinite(run[:, i]), i])]
        for i in range(recordings[0].shape[1])
    ]
    low = np.array([_lower_bound(runs) for runs in by_column])
    high = np.array([-_lower_bound([-run for run in runs]) for runs in by_column])
    if np.isinf(low).all() and np.isinf(high).all():
        return None
    return Bounds(low, high)


def _lower_bound(runs: Sequence[Array]) -> float:
    """Return the least value (of runs (T,) of one observation) if it is a bound, else -inf."""
    if not runs:
        return -np.inf
    ends = min(map(np.min, runs)), max(map(np.max, runs))
    stays = [_stays(run) for run in runs]
    at_bound = np.concatenate([lengths[1:-1][values[1:-1] == ends[0]] for values, lengths in stays])
    between = np.concatenate([lengths[~np.isin(values, ends)] for values, lengths in stays])
    lasting = at_bound[at_bound >= LEAST_STAY]
    if lasting.sum() < LEAST_TICKS or lasting.max() < CLEARLY_LONGER * between.max(initial=0):
        return -np.inf
    return float(ends[0])


def _stays(run: Array) -> tuple[Array, Array]:
    """Return the values that a run (T,) has in turn, and for how many ticks."""
    starts = np.flatnonzero(np.append(True, run[1:] != run[:-1]))
    lengths = np.diff(np.append(starts, len(run)))
    return run[starts], lengths
