"""Errors of a linear system's forecasts, on many recordings side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.models.kalman.linear_system import (
    LinearState,
    LinearSystem,
    expected_observation,
    kalman_step,
    steady_state_means,
)
from rffpsr_ros.numerics.arrays import Array

STRETCH = 200
"""Ticks of a stretch."""

MOST_STRETCHES = 64
"""Stretches that systems are compared on, at the most: hours of recordings say no more."""


def stretches(runs: Sequence[Run]) -> list[Run]:
    """Return runs cut into stretches, at the most `MOST_STRETCHES`, evenly spread."""
    cut = [
        Run(*(part[start : start + STRETCH] for part in run))
        for run in runs
        for start in range(0, len(run.actions), STRETCH)
    ]
    return evenly_spread(cut, MOST_STRETCHES)


def forecast_errors(
    system: LinearSystem,
    runs: Sequence[Run],
    horizon: int,
    settling: int,
    exact: bool = False,
    whole: bool = False,
) -> Iterator[Array]:
    """Yield the errors (N, origins, d_o) of forecasts 1, 2, ..., ``horizon`` ticks ahead.

    Origins are the ticks of N runs from ``settling`` on. NaN where nothing was seen.

    Parameters
    ----------
    system, runs
        In the same units.
    horizon, settling
        Ticks.
    exact
        Filter the settling ticks with the gain that the start's covariance asks for, as the model
        does in use; else with the steady gain, from the start's mean.
    whole
        Take only origins whose whole horizon lies within their run.
    """
    lengths = np.array([len(run.actions) for run in runs])
    observations = np.zeros((len(runs), lengths.max(), len(system.output)))
    actions = np.zeros((len(runs), lengths.max(), system.action.shape[1]))
    for i, run in enumerate(runs):
        observations[i, : lengths[i]] = run.observations
        actions[i, : lengths[i]] = run.actions
    means = _filtered_means(system, observations, actions, settling if exact else 0)
    observations[np.arange(lengths.max()) >= lengths[:, None]] = np.nan
    means, observations, actions = (p[:, settling:] for p in (means, observations, actions))
    last = lengths - settling - (horizon if whole else 1)
    for _ in range(min(horizon, means.shape[1])):
        errors = observations - expected_observation(system, means, actions)
        errors[np.arange(errors.shape[1]) > last[:, None]] = np.nan
        yield errors
        means = means[:, :-1] @ system.transition.T + actions[:, :-1] @ system.action.T
        observations, actions = observations[:, 1:], actions[:, 1:]


def _filtered_means(system: LinearSystem, observations: Array, actions: Array, exact: int) -> Array:
    """Return the states' means (N, T, n) before each tick; ``exact`` ticks by the exact filter."""
    count = len(observations)
    state = LinearState(
        np.repeat(system.start[None], count, 0), np.repeat(system.start_covariance[None], count, 0)
    )
    before = np.empty((count, exact, len(system.start)))
    for t in range(exact):
        before[:, t] = state.mean
        state = kalman_step(system, state, actions[:, t], observations[:, t])
    after = steady_state_means(system, state.mean, observations[:, exact:], actions[:, exact:])
    return np.concatenate([before, after], axis=1)


def mean_squared_forecast_errors(
    system: LinearSystem,
    runs: Sequence[Run],
    horizon: int,
    settling: int,
    exact: bool = False,
    whole: bool = False,
) -> Array:
    """Return the squares of `forecast_errors` (N, H), summed over observations, mean over origins.

    NaN where nothing is known, or a system that runs away leaves no finite number.
    """
    found = np.full((len(runs), horizon), np.nan)
    for h, errors in enumerate(forecast_errors(system, runs, horizon, settling, exact, whole)):
        squares = np.sum(errors**2, axis=2)
        known = ~np.isnan(squares)
        mean = np.where(known, squares, 0.0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)
        found[:, h] = np.where(np.isfinite(squares).any(axis=1), mean, np.nan)
    return found
