"""Gaps so frequent that hardly any window is complete: filled before anything is learned.

Where windows with gaps are few they are left out of regressions. Where each of several sensors now
and then misses a tick, none may be left: twenty ticks of three columns are sixty values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.arx_term import fill_missing, fit_arx
from rffpsr_ros.data.scaling import Run, Scaling, forgiving_scaling, standardise
from rffpsr_ros.data.summary import DataSummary
from rffpsr_ros.data.windows import count_windows
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory


@dataclass(frozen=True)
class GapFilling:
    """When gaps are filled, and how.

    Attributes
    ----------
    complete
        Where a smaller share of windows than this is complete, gaps are filled.
    longest
        Ticks of a gap that is filled, at the most; what a longer one hid, nobody knows.
    past, ridge
        Of the linear model that fills.
    rounds
        The first model learns from values interpolated, the next from those that the last one
        filled.
    """

    complete: float = 0.1
    longest: int = 20
    past: int = 5
    ridge: float = 1e-3
    rounds: int = 2


class GapFiller(NamedTuple):
    """Fills short gaps tick by tick with what a linear model expects from the ticks before.

    So it does in use, and no value depends on a later one. Nothing fills a column never observed.
    """

    observation_scaling: Scaling
    action_scaling: Scaling
    weights: Array  # of the linear model
    filling: GapFilling

    def __call__(self, trajectory: Trajectory) -> Trajectory:
        """Return the trajectory with short gaps filled."""
        (run,) = standardise([trajectory], self.observation_scaling, self.action_scaling)
        filled = fill_missing(run, self.weights, self.filling.past)
        gaps = np.isnan(trajectory.observations)
        short = gaps & ~_longer_than(self.filling.longest, gaps)
        expected = self.observation_scaling.invert(filled.observations)
        return replace(trajectory, observations=np.where(short, expected, trajectory.observations))

    def describe(self, missing: float) -> str:
        """Return in words what was done, where so large a share of all values was missing."""
        return (
            f"{missing:.0%} of all values are missing, so that hardly any window is complete: gaps"
            f" of at most {self.filling.longest} ticks filled by a linear model"
        )


def gaps_are_frequent(
    trajectories: Sequence[Trajectory],
    summary: DataSummary,
    past: int,
    future: int,
    filling: GapFilling,
) -> bool:
    """Return whether hardly any window of the trajectories is complete, by their summary."""
    windows = sum(count_windows(len(trajectory), past, future) for trajectory in trajectories)
    return summary.windows < filling.complete * windows


def fit_gap_filler(trajectories: Sequence[Trajectory], filling: GapFilling) -> GapFiller:
    """Return what fills the gaps of recordings like these, each column observed at least once."""
    scalings = (
        forgiving_scaling([trajectory.observations for trajectory in trajectories]),
        forgiving_scaling([trajectory.actions for trajectory in trajectories]),
    )
    runs = standardise(trajectories, *scalings)
    everything = [np.ones(run.observations.shape, bool) for run in runs]
    filled = [Run(_interpolated(run.observations), run.actions) for run in runs]
    weights = fit_arx(filled, everything, filling.past, filling.ridge)
    for _ in range(1, filling.rounds):
        filled = [fill_missing(run, weights, filling.past) for run in runs]
        weights = fit_arx(filled, everything, filling.past, filling.ridge)
    return GapFiller(*scalings, weights, filling)


def _interpolated(values: Array) -> Array:
    """Return rows (T, d) with missing values between those that were seen; 0 where none was."""
    ticks, result = np.arange(len(values)), np.zeros_like(values)
    for column in range(values.shape[1]):
        seen = ~np.isnan(values[:, column])
        if seen.any():
            result[:, column] = np.interp(ticks, ticks[seen], values[seen, column])
    return result


def _longer_than(longest: int, gaps: Array) -> Array:
    """Return which missing values (T, d) lie in gaps of more than ``longest`` ticks."""
    edge = np.zeros((1, gaps.shape[1]), bool)
    change = np.diff(np.concatenate([edge, gaps, edge]).astype(int), axis=0)
    result = np.zeros_like(gaps)
    for column in range(gaps.shape[1]):
        first, last = (np.flatnonzero(change[:, column] == step) for step in (1, -1))
        for start, stop in zip(first, last, strict=True):
            result[start:stop, column] = stop - start > longest
    return result
