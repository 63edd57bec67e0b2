"""A model's forecasts along a recording: from every tick, given the actions that followed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.guard import Guard
from rffpsr_ros.models.state_batches import stack_states
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

_CHUNK = 1024
"""Origins whose states and forecasts are in memory at once."""

Range = tuple[Array, Array]
"""Lowest and highest value (d_o,) of each observation."""


def forecasts(
    model: PredictiveModel[Any],
    trajectory: Trajectory,
    horizon: int,
    start: int = 0,
    clip: Range | None = None,
) -> Iterator[tuple[int, Array]]:
    """Yield (first origin, forecasts (origins, horizon, d_o)) in chunks of consecutive origins.

    Row t of all chunks together is the forecast of ticks t to t + horizon - 1 made before tick t.
    The last origin is the last whose every target the trajectory holds. Inputs are guarded as live
    ones are, see `Guard`.
    """
    guard = Guard(model)
    observations = guard.gate.observations(trajectory.observations)
    actions = guard.gate.actions(trajectory.actions)
    state = model.initial_state()
    origins = len(trajectory) - horizon + 1
    states: list[Any] = []
    for tick in range(origins):
        if tick >= start:
            states.append(state)
        if states and (len(states) == _CHUNK or tick == origins - 1):
            first = tick - len(states) + 1
            plans = sliding_window_view(actions[first : tick + horizon], horizon, axis=0).swapaxes(
                1, 2
            )
            forecast = model.forecast(stack_states(states), plans)
            yield first, forecast if clip is None else np.clip(forecast, *clip)
            states = []
        state = guard.update(state, actions[tick], observations[tick], tick)


def targets_by_origin(trajectory: Trajectory, horizon: int, start: int) -> Array:
    """Return what each origin is scored on, (origins, horizon, d_o)."""
    observations = trajectory.observations[start:]
    if len(observations) < horizon:
        return np.empty((0, horizon, observations.shape[1]))
    windows: Array = sliding_window_view(observations, horizon, axis=0).swapaxes(1, 2)
    return windows


def errors_by_origin(
    model: PredictiveModel[Any], trajectory: Trajectory, horizon: int, start: int = 0
) -> Array:
    """Return observations minus forecasts from each origin, (origins, horizon, d_o).

    NaN where nothing was observed. Forecasts that run away are as wrong as they are: beyond all
    numbers, infinitely.
    """
    targets = targets_by_origin(trajectory, horizon, start)
    with np.errstate(over="ignore", invalid="ignore"):
        made = [forecast for _, forecast in forecasts(model, trajectory, horizon, start)]
        errors = targets - np.concatenate(made) if made else targets
    return np.where(np.isnan(errors) & ~np.isnan(targets), np.inf, errors)
