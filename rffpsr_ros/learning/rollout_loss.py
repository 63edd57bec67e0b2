"""The rolled-out prediction error and its gradient, by backpropagation through time.

From every origin t the model predicts o_t, takes its own prediction for what was seen, and goes on
for H ticks, as it will when it is used. The filter over the recorded observations runs once per
segment; the rollouts from all origins run side by side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.learning.arrays import Array
from rffpsr_ros.learning.predictor import (
    Frame,
    StepCache,
    StepGradient,
    Weights,
    base_input,
    direct_features,
    filter_step,
    filter_step_gradient,
    join,
    state_part,
)


class Segments(NamedTuple):
    """S stretches of recordings of L ticks, with the ``past`` ticks before them.

    ``observations`` (S, past + L, d_o) and ``actions`` (S, past + L, d_a) are standardised and
    finite (stand-ins where missing, zero before a recording's start and after its end);
    ``target`` (S, L) says which ticks count; ``observation_features`` (S, L, r_o) and
    ``action_features`` (S, L, r_a) belong to the L ticks.
    """

    observations: Array
    actions: Array
    target: Array
    observation_features: Array
    action_features: Array


class Origins(NamedTuple):
    """Where rollouts start: B pairs of a segment and a tick within it."""

    segment: Array
    tick: Array


class Rollout(NamedTuple):
    """What the gradient needs of a rollout over H ticks from B origins."""

    observations: Array  # (B, past + H, d_o): recorded, then predicted
    actions: Array  # (B, past + H, d_a)
    steps: list[RolloutStep]


class RolloutStep(NamedTuple):
    """One tick of the rollout; the last one has no filter step."""

    joined: Array
    action: Array
    base: Array
    direct: Array  # z
    direct_raw: Array  # what z's pullback needs
    observation_raw: Array | None
    filter: StepCache | None


def filter_segments(
    weights: Weights, frame: Frame, segments: Segments
) -> tuple[Array, list[StepCache]]:
    """Return the states (L, S, p) before each tick, and every step's cache."""
    ticks = segments.target.shape[1]
    count = len(segments.observations)
    state = np.repeat(weights.initial[None], count, axis=0)
    states, caches = [state], []
    for t in range(ticks - 1):
        action = segments.action_features[:, t]
        joined = join(state, action)
        observation = segments.observation_features[:, t]
        state, cache = filter_step(weights, frame, joined, action, observation)
        states.append(state)
        caches.append(cache)
    return np.stack(states), caches


def roll_out(
    weights: Weights,
    frame: Frame,
    segments: Segments,
    states: Array,
    origins: Origins,
    horizon: int,
) -> tuple[Array, Rollout]:
    """Return predictions (B, H, d_o) from the states at the origins, and the cache."""
    past = frame.past
    segment, tick = origins
    window = tick[:, None] + np.arange(past + horizon)
    actions = segments.actions[segment[:, None], window]
    observations = np.zeros((len(tick), past + horizon, segments.observations.shape[2]))
    observations = observations.astype(states.dtype)
    observations[:, :past] = segments.observations[segment[:, None], window[:, :past]]
    state = states[tick, segment]
    steps = []
    for h in range(horizon):
        seen, acted = observations[:, h : h + past], actions[:, h : h + past + 1]
        action = segments.action_features[segment, tick + h]
        joined = join(state, action)
        base = base_input(frame, weights, seen, acted)
        direct, raw = direct_features(frame, seen, acted)
        predicted = joined @ weights.prediction + base @ weights.base + direct @ weights.direct
        observations[:, past + h] = predicted
        observation_raw, cache = None, None
        if h < horizon - 1:
            features, observation_raw = frame.observation.with_pullback(predicted)
            state, cache = filter_step(weights, frame, joined, action, features)
        steps.append(RolloutStep(joined, action, base, direct, raw, observation_raw, cache))
    return observations[:, past:], Rollout(observations, actions, steps)


def roll_out_gradient(
    weights: Weights, frame: Frame, rollout: Rollout, gradient: Array
) -> tuple[Weights, Array]:
    """Return the weights' gradients and those at the origins' states (B, p).

    ``gradient`` (B, H, d_o) is the loss's at the predictions.
    """
    past, horizon, columns = frame.past, gradient.shape[1], gradient.shape[2]
    at_observations = np.zeros_like(rollout.observations)
    at_observations[:, past:] = gradient
    total = Weights(*(np.zeros_like(part) for part in weights))
    at_state = np.zeros((len(gradient), len(weights.initial)), dtype=gradient.dtype)
    n, m = frame.base_past, frame.direct_past
    for h in reversed(range(horizon)):
        step = rollout.steps[h]
        at_joined = np.zeros_like(step.joined)
        if step.filter is not None and step.observation_raw is not None:
            through = filter_step_gradient(weights, step.filter, at_state)
            add_step_gradient(total, step.joined, through)
            at_joined += through.joined
            at_observations[:, past + h] += frame.observation.pullback(
                step.observation_raw, through.observation
            )
        at_predicted = at_observations[:, past + h]
        total.prediction[...] += step.joined.T @ at_predicted
        total.base[...] += step.base.T @ at_predicted
        total.direct[...] += step.direct.T @ at_predicted
        at_joined += at_predicted @ weights.prediction.T
        if len(weights.base):
            at_base = at_predicted @ weights.base[: n * columns].T
            at_observations[:, past + h - n : past + h] += at_base.reshape(-1, n, columns)
        if frame.direct is not None:
            at_window = frame.direct.pullback(step.direct_raw, at_predicted @ weights.direct.T)
            at_window = at_window[:, : m * columns].reshape(-1, m, columns)
            at_observations[:, past + h - m : past + h] += at_window
        at_state = state_part(at_joined, step.action)
    return total, at_state


def filter_gradient(
    weights: Weights, caches: list[StepCache], at_states: Array, total: Weights
) -> None:
    """Add to ``total`` the gradient through the filter, given that at its states (L, S, p)."""
    carried = np.zeros_like(at_states[0])
    for t in reversed(range(len(caches))):
        through = filter_step_gradient(weights, caches[t], at_states[t + 1] + carried)
        add_step_gradient(total, caches[t].joined, through)
        carried = state_part(through.joined, caches[t].action)
    total.initial[...] += (at_states[0] + carried).sum(0)


def add_step_gradient(total: Weights, joined: Array, gradient: StepGradient) -> None:
    """Add one filter step's gradients at its two tensors."""
    total.covariance[...] += joined.T @ gradient.covariance
    total.extended[...] += joined.T @ gradient.extended


def rollout_loss(
    weights: Weights,
    frame: Frame,
    segments: Segments,
    origins: Origins,
    horizon_weights: Array,
) -> tuple[float, Weights]:
    """Return the weighted mean squared error over origins and horizons, and its gradient.

    ``horizon_weights`` (H, d_o) weighs each horizon and observation. Targets past a segment's end
    or missing do not count; the sum is divided by the number of origins.
    """
    horizon = len(horizon_weights)
    states, caches = filter_segments(weights, frame, segments)
    predicted, rollout = roll_out(weights, frame, segments, states, origins, horizon)
    ticks = origins.tick[:, None] + np.arange(horizon)
    targets = segments.observations[origins.segment[:, None], frame.past + ticks]
    counts = segments.target[origins.segment[:, None], ticks]
    scale = (counts[:, :, None] * horizon_weights / len(ticks)).astype(predicted.dtype)
    error = predicted - targets
    loss = float((scale * error * error).sum())
    total, at_origins = roll_out_gradient(weights, frame, rollout, 2 * scale * error)
    at_states = np.zeros_like(states)
    np.add.at(at_states, (origins.tick, origins.segment), at_origins)
    filter_gradient(weights, caches, at_states, total)
    return loss, total
