"""Gaps so frequent that hardly any window is complete: filled before anything is learned.

Where windows with gaps are few they are left out of regressions. Where each of several sensors now
and then misses a tick, none may be left: twenty ticks of three columns are sixty values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import starmap

import numpy as np

from rffpsr_ros.data.arx_term import fill_missing, fit_arx
from rffpsr_ros.data.scaling import Run, forgiving_scaling, standardise
from rffpsr_ros.data.summary import summarise
from rffpsr_ros.data.windows import count_windows
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

FEW = 0.1
"""A smaller share of complete windows than this is hardly any."""

LONGEST = 20
"""Ticks of a gap that is filled, at the most; what a longer one hid, nobody knows."""

PAST, RIDGE = 5, 1e-3
"""Of the linear model that fills."""

ROUNDS = 2
"""The first model learns from values interpolated, the next from those that the last one filled."""


def without_gaps(
    trajectories: Sequence[Trajectory], past: int, future: int
) -> tuple[list[Trajectory], tuple[str, ...]]:
    """Return the trajectories, short gaps filled where hardly any window is complete; and a note.

    A gap is filled tick by tick with what a linear model expects from the ticks before it, as in
    use, so that no value tells of a later one. Nothing fills a column that was never seen.
    """
    windows = sum(count_windows(len(trajectory), past, future) for trajectory in trajectories)
    found = summarise(trajectories, past, future)
    if found.windows >= FEW * windows or not found.observations.count.all():
        return list(trajectories), ()
    missing = [np.isnan(trajectory.observations) for trajectory in trajectories]
    scaling = forgiving_scaling([trajectory.observations for trajectory in trajectories])
    actions = forgiving_scaling([trajectory.actions for trajectory in trajectories])
    runs = standardise(trajectories, scaling, actions)
    filled = [Run(_interpolated(run.observations), run.actions) for run in runs]
    for _ in range(ROUNDS):
        everything = [np.ones(run.observations.shape, bool) for run in filled]
        weights = fit_arx(filled, everything, PAST, RIDGE)
        filled = [fill_missing(run, weights, PAST) for run in runs]

    def restored(trajectory: Trajectory, run: Run, gaps: Array) -> Trajectory:
        short = gaps & ~_long(gaps)
        values = np.where(short, scaling.invert(run.observations), trajectory.observations)
        return replace(trajectory, observations=values)

    share = np.concatenate(missing).mean()
    note = (
        f"{share:.0%} of all values are missing, so that hardly any window is complete: gaps of at"
        f" most {LONGEST} ticks filled by a linear model"
    )
    return list(starmap(restored, zip(trajectories, filled, missing, strict=True))), (note,)


def _interpolated(values: Array) -> Array:
    """Return rows (T, d) with missing values between those that were seen; 0 where none was."""
    ticks, result = np.arange(len(values)), np.zeros_like(values)
    for column in range(values.shape[1]):
        seen = ~np.isnan(values[:, column])
        if seen.any():
            result[:, column] = np.interp(ticks, ticks[seen], values[seen, column])
    return result


def _long(gaps: Array) -> Array:
    """Return which missing values (T, d) lie in gaps of more than `LONGEST` ticks."""
    edge = np.zeros((1, gaps.shape[1]), bool)
    change = np.diff(np.concatenate([edge, gaps, edge]).astype(int), axis=0)
    result = np.zeros_like(gaps)
    for column in range(gaps.shape[1]):
        first, last = (np.flatnonzero(change[:, column] == way) for way in (1, -1))
        for start, stop in zip(first, last, strict=True):
            result[start:stop, column] = stop - start > LONGEST
    return result
