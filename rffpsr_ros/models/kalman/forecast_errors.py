"""How well a linear system forecasts, judged on many recordings at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.models.kalman.linear_system import LinearSystem, expected_observation
from rffpsr_ros.numerics.arrays import Array

STRETCH = 200
"""Ticks of a recording that are judged at once."""

MOST_STRETCHES = 64
"""Stretches that systems are judged by, at the most: hours of recordings say no more."""


def stretches(runs: Sequence[Run]) -> list[Run]:
    """Return runs cut into stretches, at the most `MOST_STRETCHES`, evenly spread."""
    cut = [
        Run(*(part[start : start + STRETCH] for part in run))
        for run in runs
        for start in range(0, len(run.actions), STRETCH)
    ]
    return evenly_spread(cut, MOST_STRETCHES)


def forecast_errors(
    system: LinearSystem, runs: Sequence[Run], horizon: int, settling: int
) -> Array:
    """Return the mean squared errors (runs, H) of forecasts made after ``settling`` ticks.

    The filter runs with its steady gain from the start's mean. NaN where nothing was scored.
    """
    ticks = max(len(run.actions) for run in runs)
    observations = np.full((len(runs), ticks, len(system.output)), np.nan)
    actions = np.zeros((len(runs), ticks, system.action.shape[1]))
    for i, run in enumerate(runs):
        observations[i, : len(run.actions)] = run.observations
        actions[i, : len(run.actions)] = run.actions
    means = np.empty((len(runs), ticks, len(system.start)))
    mean = np.tile(system.start, (len(runs), 1))
    for tick in range(ticks):
        means[:, tick] = mean
        error = observations[:, tick] - expected_observation(system, mean, actions[:, tick])
        mean = mean @ system.transition.T + actions[:, tick] @ system.action.T
        mean += np.nan_to_num(error) @ system.gain.T
    return _errors_ahead(system, means, observations, actions, horizon, settling)


def _errors_ahead(
    system: LinearSystem,
    means: Array,
    observations: Array,
    actions: Array,
    horizon: int,
    settling: int,
) -> Array:
    errors = np.full((len(means), horizon), np.nan)
    for h in range(min(horizon, means.shape[1])):
        forecast = expected_observation(system, means, actions[:, h:])
        squares = np.sum((observations[:, h:] - forecast) ** 2, axis=2)[:, settling:]
        scored = np.isfinite(squares)
        count = scored.sum(axis=1)
        total = np.where(scored, squares, 0.0).sum(axis=1)
        errors[:, h] = np.where(count, total / np.maximum(count, 1), np.nan)
        means = means[:, :-1] @ system.transition.T + actions[:, h:-1] @ system.action.T
    return errors
