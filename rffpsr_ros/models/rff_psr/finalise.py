"""What is fitted once parameters are final: stand-ins, the belief after a history, the monitor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.moments import Regression
from rffpsr_ros.data.preparation import Prepared, PreparedRecordings
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.tick_windows import tick_windows
from rffpsr_ros.data.windows import CHUNK
from rffpsr_ros.models.rff_psr.filter_monitor import FilterMonitor, MonitorThresholds, fit_monitor
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.parts import RFFPSRParts, WindowHead
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.filter_step import Dynamics, filter_runs
from rffpsr_ros.psr.history import fit_history
from rffpsr_ros.psr.predictor import (
    FixedStructure,
    Limits,
    TrainableParameters,
    predict_observation,
)


class Followed(NamedTuple):
    """Recordings as the final parameters see them, run by run."""

    states: list[Array]  # (T, p), before each tick
    actions: list[Array]  # phi^a (T, r_a)
    observations: list[Array]  # phi^o (T, r_o)
    errors: list[Array]  # one-step errors (T, d_o), standardised; NaN where not seen


def follow(
    recordings: PreparedRecordings, structure: FixedStructure, parameters: TrainableParameters
) -> Followed:
    """Filter through recordings from the initial state."""
    actions = [structure.action(run.actions) for run in recordings.filled]
    observations = [structure.observation(run.observations) for run in recordings.filled]
    dynamics = Dynamics(parameters.covariance, parameters.extended, parameters.initial)
    states = filter_runs(dynamics, structure.conditioning, actions, observations)
    errors = []
    for run, seen, state, action in zip(
        recordings.filled, recordings.seen, states, actions, strict=True
    ):
        predicted = _predictions(run, structure, parameters, state, action)
        errors.append(np.where(seen, predicted - run.observations, np.nan))
    return Followed(states, actions, observations, errors)


def _predictions(
    run: Run,
    structure: FixedStructure,
    parameters: TrainableParameters,
    states: Array,
    action: Array,
) -> Array:
    """Return the expected observations (T, d_o) of a run, some ticks at a time."""
    parts = []
    for start in range(0, len(states), CHUNK):
        ticks = np.arange(start, min(start + CHUNK, len(states)))
        windows = tick_windows(run, structure.past, ticks)
        joined = khatri_rao(states[ticks], action[ticks])
        seen, acted = windows.observations, windows.actions
        parts.append(predict_observation(parameters, structure, joined, seen, acted).value)
    return np.concatenate(parts)


def finalise(
    prepared: Prepared,
    history: Features,
    structure: FixedStructure,
    parameters: TrainableParameters,
    head: WindowHead | None,
    options: RFFPSROptions,
    settings: FitSettings,
) -> RFFPSRParts:
    """Return the fitted parts around final parameters."""
    train = follow(prepared.train, structure, parameters)
    validation = follow(prepared.validation, structure, parameters)
    limits = standard_limits(prepared, options.margin)
    runs, ridge = prepared.train.filled, settings.history_ridge
    return RFFPSRParts(
        prepared.observation_scaling,
        prepared.action_scaling,
        structure._replace(limits=limits),
        parameters,
        _expected_features(train, prepared.train.seen, options.ridge),
        fit_history(runs, train.states, history, options.past, ridge),
        _monitor(train, validation, options.past, settings.monitor),
        "prediction" if options.refinement == "rollout" else "features",
        head,
    )


def _expected_features(followed: Followed, seen: Sequence[Array], ridge: float) -> Array:
    """Return the weights (p r_a, r_o) of E[phi^o | q, a], on ticks that were seen whole."""
    joint = followed.states[0].shape[1] * followed.actions[0].shape[1]
    regression = Regression.zeros(followed.observations[0].shape[1], joint)
    for states, actions, observations, whole in zip(*followed[:3], seen, strict=True):
        complete = np.flatnonzero(whole.all(1))
        for start in range(0, len(complete), CHUNK):
            ticks = complete[start : start + CHUNK]
            regression.add(khatri_rao(states[ticks], actions[ticks]), observations[ticks])
    return regression.solve(ridge).T


def _monitor(
    train: Followed, validation: Followed, warm_up: int, thresholds: MonitorThresholds
) -> FilterMonitor:
    """Return what is normal, from how the finished filter follows all recordings."""
    norms = np.concatenate(
        [np.linalg.norm(states, axis=1) for states in [*train.states, *validation.states]]
    )
    held_out = np.concatenate([_settled(error, warm_up) for error in validation.errors])
    scale = np.sqrt(np.nanmean(held_out**2, axis=0))
    scale = np.where(np.isfinite(scale) & (scale > 0), scale, 1.0)
    innovations = [
        _mean_of_seen((_settled(error, warm_up) / scale) ** 2)
        for error in [*train.errors, *validation.errors]
    ]
    return fit_monitor(norms, innovations, scale, thresholds)


def _mean_of_seen(rows: Array) -> Array:
    """Return the mean of each row's values that are there; NaN where there is none."""
    count = np.isfinite(rows).sum(axis=1)
    return np.asarray(np.where(count > 0, np.nansum(rows, axis=1) / np.maximum(count, 1), np.nan))


def _settled(errors: Array, warm_up: int) -> Array:
    """Return a run's errors without its first ticks, unless they are all there is."""
    return errors[warm_up:] if len(errors) > warm_up else errors


def standard_limits(prepared: Prepared, margin: float) -> Limits:
    """Return the range seen in training, widened by ``margin``, in standard units."""
    observation, action = prepared.observation_scaling, prepared.action_scaling
    low, high = observation.limits(margin)
    least, most = action.limits(margin)
    return Limits(
        observation.apply(low),
        observation.apply(high),
        action.apply(least),
        action.apply(most),
    )
