"""The rolled-out prediction error and its gradient, by backpropagation through time.

From every origin t the model predicts o_t, takes its prediction for the observation, and continues
for H ticks, as it does in use. The filter over the recorded observations runs once per
segment; the rollouts from all origins run side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao, pack_gradient, unpack
from rffpsr_ros.psr.filter_step import (
    StepCache,
    StepGradient,
    filter_step,
    filter_step_gradient,
    state_part,
)
from rffpsr_ros.psr.predictor import (
    FixedStructure,
    Prediction,
    TrainableParameters,
    add_prediction_gradient,
    for_predictions,
    predict_observation,
)
from rffpsr_ros.psr.refinement.segments import Origins, Segments


class RolloutStep(NamedTuple):
    """One tick of a rollout; the last one has no filter step."""

    joined: Array  # u (B, p r_a)
    action: Array  # phi^a (B, r_a)
    prediction: Prediction
    observation_raw: Array | None  # what the pullback of phi^o needs
    filter: StepCache | None


class Rollout(NamedTuple):
    """A rollout over H ticks from B origins."""

    observations: Array  # (B, past + H, d_o): recorded, then predicted
    steps: list[RolloutStep]


def filter_segments(
    parameters: TrainableParameters,
    structure: FixedStructure,
    segments: Segments,
    keep: bool = True,
) -> tuple[Array, list[StepCache]]:
    """Return the states (L, S, p) before each tick, and every step's cache, if they are kept.

    They are for gradients, and take far more memory than the states.
    """
    state = np.repeat(parameters.initial[None], len(segments.observations), axis=0)
    states, caches = [state], []
    for t in range(segments.target.shape[1] - 1):
        joined = khatri_rao(state, segments.action_features[:, t])
        observation = segments.observation_features[:, t]
        state, cache = filter_step(parameters, structure.conditioning, joined, observation)
        states.append(state)
        if keep:
            caches.append(cache)
    return np.stack(states), caches


def roll_out(
    parameters: TrainableParameters,
    structure: FixedStructure,
    segments: Segments,
    states: Array,
    origins: Origins,
    horizon: int,
    keep: bool = True,
) -> tuple[Array, Rollout]:
    """Return predictions (B, H, d_o) from the states at the origins, and what led to them.

    The steps are for gradients; they are kept or not.
    """
    past = structure.past
    observations, actions = recorded(structure, segments, origins, horizon)
    state = states[origins.tick, origins.segment]
    steps = []
    for h in range(horizon):
        seen, acted = observations[:, h : h + past], actions[:, h : h + past + 1]
        action = segments.action_features[origins.segment, origins.tick + h]
        joined = khatri_rao(state, action)
        prediction = predict_observation(parameters, structure, joined, seen, acted)
        observations[:, past + h] = prediction.value
        raw, cache = None, None
        if h < horizon - 1:
            features, raw = structure.observation.with_pullback(prediction.value)
            state, cache = filter_step(parameters, structure.conditioning, joined, features)
        if keep:
            steps.append(RolloutStep(joined, action, prediction, raw, cache))
    return observations[:, past:], Rollout(observations, steps)


def roll_out_stateless(
    parameters: TrainableParameters,
    structure: FixedStructure,
    segments: Segments,
    origins: Origins,
    horizon: int,
) -> Array:
    """Return what ARX and NARX term predict (B, H, d_o), without a state."""
    past = structure.past
    observations, actions = recorded(structure, segments, origins, horizon)
    nothing = np.zeros((len(observations), len(parameters.prediction)), observations.dtype)
    for h in range(horizon):
        seen, acted = observations[:, h : h + past], actions[:, h : h + past + 1]
        predicted = predict_observation(parameters, structure, nothing, seen, acted)
        observations[:, past + h] = predicted.value
    return observations[:, past:]


def recorded(
    structure: FixedStructure, segments: Segments, origins: Origins, horizon: int
) -> tuple[Array, Array]:
    """Return observations and actions (B, past + H, d) from before the origins to the horizon."""
    past, rows = structure.past, origins.segment[:, None]
    window = origins.tick[:, None] + np.arange(past + horizon)
    observations, actions = segments.observations[rows, window], segments.actions[rows, window]
    unseen = segments.first[origins.segment] & (origins.tick == 0)
    observations[unseen, :past] = structure.start.observation
    actions[unseen, :past] = structure.start.action
    return observations, actions


def roll_out_gradient(
    parameters: TrainableParameters, structure: FixedStructure, rollout: Rollout, gradient: Array
) -> tuple[TrainableParameters, Array]:
    """Return the parameters' gradients and those at the origins' states (B, p).

    ``gradient`` (B, H, d_o) is the loss's at the predictions.
    """
    past = structure.past
    at_observations = np.zeros_like(rollout.observations)
    at_observations[:, past:] = gradient
    total = TrainableParameters(*(np.zeros_like(part) for part in parameters))
    at_state = np.zeros((len(gradient), len(parameters.initial)), dtype=gradient.dtype)
    for h in reversed(range(gradient.shape[1])):
        step = rollout.steps[h]
        at_joined = np.zeros_like(step.joined)
        if step.filter is not None and step.observation_raw is not None:
            through = filter_step_gradient(parameters, step.filter, at_state)
            add_step_gradients(total, [step.joined], [through])
            at_joined += through.joined
            at_observations[:, past + h] += structure.observation.pullback(
                step.observation_raw, through.observation
            )
        at_joined += add_prediction_gradient(
            parameters,
            structure,
            step.joined,
            step.prediction,
            at_observations[:, past + h],
            at_observations[:, h : past + h],
            total,
        )
        at_state = state_part(at_joined, step.action)
    return total, at_state


def filter_gradient(
    parameters: TrainableParameters,
    segments: Segments,
    caches: list[StepCache],
    at_states: Array,
    total: TrainableParameters,
) -> None:
    """Add to ``total`` the gradient through the filter, given that at its states (L, S, p)."""
    carried, steps = np.zeros_like(at_states[0]), []
    for t in reversed(range(len(caches))):
        through = filter_step_gradient(parameters, caches[t], at_states[t + 1] + carried)
        steps.append(through)
        carried = state_part(through.joined, segments.action_features[:, t])
    total.initial[...] += (at_states[0] + carried).sum(0)
    add_step_gradients(total, [cache.joined for cache in reversed(caches)], steps)


def add_step_gradients(
    total: TrainableParameters, joined: Sequence[Array], gradients: Sequence[StepGradient]
) -> None:
    """Add the gradients of filter steps, given u (N, p r_a) of each, at their two tensors."""
    if not joined:
        return
    read = np.concatenate(joined).T
    total.covariance[...] += read @ np.concatenate([step.covariance for step in gradients])
    total.extended[...] += read @ np.concatenate([step.extended for step in gradients])


def unpacked(parameters: TrainableParameters, structure: FixedStructure) -> TrainableParameters:
    """Return parameters with full matrices for C_oo: steps need not put theirs together."""
    covariance = unpack(parameters.covariance, structure.observation.size)
    return parameters._replace(covariance=covariance.reshape(len(covariance), -1))


def packed_like(gradient: TrainableParameters, like: TrainableParameters) -> TrainableParameters:
    """Return the gradient at parameters with upper triangles for C_oo, if ``like`` has these."""
    size = round(np.sqrt(gradient.covariance.shape[1]))
    matrices = gradient.covariance.reshape(-1, size, size)
    return gradient._replace(covariance=pack_gradient(matrices, like.covariance.shape[1]))


def rollout_errors(
    parameters: TrainableParameters,
    structure: FixedStructure,
    segments: Segments,
    origins: Origins,
    horizon: int,
    states: Array | None = None,
) -> Array:
    """Return squared errors (B, H, d_o), standardised; NaN where there is no target.

    What predictions do not need is not computed, nor the filter's states (L, S, p) where they are
    given.
    """
    parameters, structure = for_predictions(unpacked(parameters, structure), structure)
    if parameters.prediction.any():
        if states is None:
            states, _ = filter_segments(parameters, structure, segments, keep=False)
        predicted, _ = roll_out(
            parameters, structure, segments, states, origins, horizon, keep=False
        )
    else:
        predicted = roll_out_stateless(parameters, structure, segments, origins, horizon)
    targets, counts = _targets(structure, segments, origins, horizon)
    return np.where(counts, (predicted - targets) ** 2, np.nan)


def rollout_loss(
    parameters: TrainableParameters,
    structure: FixedStructure,
    segments: Segments,
    origins: Origins,
    horizon_weights: Array,
    total_origins: int | None = None,
) -> tuple[float, TrainableParameters]:
    """Return the weighted mean squared error over origins and horizons, and its gradient.

    ``horizon_weights`` (H, d_o) weighs each horizon and observation. Targets past a recording's
    end or missing do not count; the sum is divided by the number of origins, or by
    ``total_origins``, of which these are a part.
    """
    horizon, packed = len(horizon_weights), parameters
    parameters = unpacked(parameters, structure)
    states, caches = filter_segments(parameters, structure, segments)
    predicted, rollout = roll_out(parameters, structure, segments, states, origins, horizon)
    targets, counts = _targets(structure, segments, origins, horizon)
    scale = counts * horizon_weights / (total_origins or len(counts))
    scale = scale.astype(predicted.dtype)
    error = predicted - targets
    loss = float((scale * error * error).sum())
    total, at_origins = roll_out_gradient(parameters, structure, rollout, 2 * scale * error)
    at_states = np.zeros_like(states)
    np.add.at(at_states, (origins.tick, origins.segment), at_origins)
    filter_gradient(parameters, segments, caches, at_states, total)
    return loss, packed_like(total, packed)


def _targets(
    structure: FixedStructure, segments: Segments, origins: Origins, horizon: int
) -> tuple[Array, Array]:
    rows, ticks = origins.segment[:, None], origins.tick[:, None] + np.arange(horizon)
    return segments.observations[rows, structure.past + ticks], segments.target[rows, ticks]
