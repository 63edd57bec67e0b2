"""What a model forecast along recordings, to be looked at: one-step errors, whole forecasts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import forecasts, targets_by_origin
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recordings.trajectory import Trajectory

FORECASTS = 6
"""So many forecasts, one after the other, make a stretch."""


class FollowedRun(NamedTuple):
    """One recording of T ticks; origins 0 to n - 1 are its ticks from ``start`` on."""

    trajectory: Trajectory
    start: int
    one_step: Array
    """(n, d_o) observation minus forecast, one tick ahead; NaN where nothing was observed."""
    relative: Array
    """(n,) squared error of each whole forecast, relative to the variance of each observation."""
    whole: Array
    """(m, H, d_o) every H-th forecast."""

    @property
    def horizon(self) -> int:
        """Return the number of ticks H of a forecast."""
        return int(self.whole.shape[1])


class Stretch(NamedTuple):
    """Some consecutive forecasts of a recording, and how far off they were."""

    followed: FollowedRun
    first: int
    """The first of them, among ``followed.whole``."""
    forecasts: int
    relative: float
    """Mean squared error relative to the variance."""


def follow(
    model: PredictiveModel[Any],
    trajectories: Sequence[Trajectory],
    horizon: int,
    start: int,
    progress: Progress = silent,
) -> list[FollowedRun]:
    """Return what a model forecast along the trajectories that are long enough."""
    rows = np.concatenate([one.observations for one in trajectories])
    variance = np.nanvar(rows, axis=0)
    scale = np.where(variance > 0, variance, np.nan)
    found = []
    for number, trajectory in enumerate(trajectories):
        progress("looking at forecasts", number / len(trajectories))
        targets = targets_by_origin(trajectory, horizon, start)
        if not len(targets):
            continue
        one_step, relative, whole = [], [], []
        for first, made in forecasts(model, trajectory, horizon, start):
            errors = targets[first - start : first - start + len(made)] - made
            one_step.append(errors[:, 0])
            relative.append(_mean((errors**2 / scale).reshape(len(made), -1)))
            whole.append(made[(start - first) % horizon :: horizon])
        found.append(
            FollowedRun(
                trajectory,
                start,
                np.concatenate(one_step),
                np.concatenate(relative),
                np.concatenate(whole),
            )
        )
    return found


def stretches(followed: Sequence[FollowedRun]) -> list[Stretch]:
    """Return all stretches that were observed, the most exact first."""
    found = []
    for one in followed:
        count = min(FORECASTS, len(one.whole))
        for first in range(len(one.whole) - count + 1):
            origins = slice(first * one.horizon, (first + count) * one.horizon)
            relative = _mean(one.relative[None, origins])[0]
            if np.isfinite(relative):
                found.append(Stretch(one, first, count, float(relative)))
    return sorted(found, key=lambda stretch: stretch.relative)


def _mean(rows: Array) -> Array:
    """Return the mean of what is known in each row; NaN where nothing is."""
    known = np.isfinite(rows)
    count = known.sum(axis=1)
    return np.asarray(np.where(known, rows, 0.0).sum(axis=1) / np.where(count, count, np.nan))
