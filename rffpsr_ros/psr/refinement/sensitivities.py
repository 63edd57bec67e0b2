"""Rolled-out predictions, and how each depends on frequencies and readout: exact sensitivities.

    o_t = R^T [z(V x), w, u],   x and w: windows in coordinates of their own,   u = q x phi^a(a_t)

What is predicted is fed back to both windows and to the filter. Of one rollout two things are kept:
how each prediction depends on parameters with everything fed back held fixed, D, and how it depends
on each prediction before it, A. The whole dependence is then one triangular solve away:
J = (I - A)^{-1} D, the same for any number of parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.tick_windows import newest_ticks
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao
from rffpsr_ros.psr.filter_step import StepCache, filter_step, filter_step_gradient, state_part
from rffpsr_ros.psr.fourier_features import fourier_features_of
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters

TOGETHER = 64
"""Rollouts whose dependence on the parameters is held at a time."""


class Learnable(NamedTuple):
    """What is learned: D frequencies V, and the readout R of K inputs."""

    frequencies: Array  # (D, d_x)
    readout: Array  # (2 D + d_w + p r_a, d_o)

    def flat(self) -> Array:
        """Return all parameters (P,): frequencies, then one output's weights after another."""
        return np.concatenate([self.frequencies.ravel(), self.readout.T.ravel()])

    def at(self, point: Array) -> Learnable:
        """Return parameters of the same shapes from a point (P,)."""
        size = self.frequencies.size
        readout = point[size:].reshape(self.readout.shape[::-1]).T
        return Learnable(point[:size].reshape(self.frequencies.shape), readout)


class Rollouts(NamedTuple):
    """B stretches of H ticks that are predicted, and what precedes them."""

    observations: Array  # (B, past + H, d_o)
    actions: Array  # (B, past + H, d_a)
    target: Array  # (B, H, d_o); NaN where nothing was seen
    action_features: Array  # phi^a (B, H, r_a)
    state: Array  # q at the origins (B, p); p = 0 where no state takes part

    def pick(self, chosen: slice) -> Rollouts:
        """Return some of the rollouts."""
        return Rollouts(*(part[chosen] for part in self))


class FeedbackModel(NamedTuple):
    """What stays the same while frequencies and readout are learned."""

    structure: FixedStructure  # windows, limits, bounds, phi^o
    tensors: TrainableParameters  # of the filter
    window_map: Array  # (d_x, d_x): what x is of the NARX term's window
    arx_map: Array  # (d_w, d_w): what w is of the ARX term's window and a one
    waves: type[np.floating] = np.float64  # what cosines and sines are computed in


class PredictedTick(NamedTuple):
    """What one tick's predictions (B, d_o) were computed from."""

    value: Array
    window: Array  # x (B, d_x)
    inputs: Array  # [z, w, u] (B, K)
    inside: Array  # which predictions are not held at a bound (B, d_o)
    free: Array  # which entries of the NARX term's window are not held at a limit (B, d_x)


class Dependence(NamedTuple):
    """How predictions depend on each other and on the parameters, of B rollouts."""

    values: Array  # (B, H, d_o)
    feedback: Array  # (I - A)^{-1} (B, H, d_o, H, d_o)
    windows: Array  # (B, H, d_x)
    inputs: Array  # (B, H, K)

    def pick(self, chosen: slice) -> Dependence:
        """Return that of some of the rollouts."""
        return Dependence(*(part[chosen] for part in self))


def predictions(predictor: FeedbackModel, learnable: Learnable, rollouts: Rollouts) -> Array:
    """Return rolled-out predictions (B, H, d_o)."""
    ticks = [tick.value for tick, _, _ in _roll(predictor, learnable, rollouts)]
    return np.stack(ticks, axis=1)


def dependence(predictor: FeedbackModel, learnable: Learnable, rollouts: Rollouts) -> Dependence:
    """Return rolled-out predictions and what `jacobian` needs."""
    structure = predictor.structure
    count, horizon, columns = rollouts.target.shape
    feedback = np.zeros((count, horizon, columns, horizon, columns))
    by_state = np.zeros((count, rollouts.state.shape[1], horizon, columns))
    each, kept = np.arange(columns), []
    for h, (tick, action, cache) in enumerate(_roll(predictor, learnable, rollouts)):
        at_window, at_state = _at_inputs(predictor, learnable, tick, action)
        row = feedback[:, h]
        seen = min(h, structure.past)
        row += np.einsum(
            "bokc,bkcsd->bosd",
            at_window[:, :, structure.past - seen :],
            feedback[:, h - seen : h],
            optimize=True,
        )
        if by_state.size:
            # The state, like the window, follows from what was fed back before.
            row += np.einsum("bop,bpsd->bosd", at_state, by_state, optimize=True)
        row[:, each, h, each] = 1.0
        row *= tick.inside[:, :, None, None]
        if cache is not None:
            by_state = _through_filter(predictor, cache, tick, action, by_state, row)
        kept.append(tick)
    return Dependence(
        np.stack([tick.value for tick in kept], axis=1),
        feedback,
        np.stack([tick.window for tick in kept], axis=1),
        np.stack([tick.inputs for tick in kept], axis=1),
    )


def gradient(learnable: Learnable, found: Dependence, at_values: Array) -> Array:
    """Return the gradient (P,) at the parameters, given that at the predictions (B, H, d_o)."""
    count, horizon, columns = at_values.shape
    through = found.feedback.reshape(count, horizon * columns, -1)
    at_direct = (at_values.reshape(count, 1, -1) @ through).reshape(-1, columns)
    inputs = found.inputs.reshape(count * horizon, -1)
    waves = inputs[:, : 2 * len(learnable.frequencies)]
    at_phase = np.zeros((len(inputs), len(learnable.frequencies)))
    for output, weights in enumerate(_wave_weights(learnable)):
        at_phase += at_direct[:, output, None] * _phase_slope(waves, weights)
    windows = found.windows.reshape(count * horizon, -1)
    return Learnable(at_phase.T @ windows, inputs.T @ at_direct).flat()


def jacobian(
    learnable: Learnable,
    found: Dependence,
    dtype: type[np.floating] = np.float64,
    together: int = TOGETHER,
) -> Iterator[Array]:
    """Yield the derivatives (b, H, d_o, P) of predictions, a few rollouts at a time."""
    count, horizon, columns = found.values.shape
    units = len(learnable.frequencies)
    by_output = _wave_weights(learnable)
    size, width = learnable.frequencies.size, len(learnable.readout)
    for first in range(0, count, together):
        chosen = slice(first, first + together)
        inputs = found.inputs[chosen].astype(dtype)
        windows = found.windows[chosen].astype(dtype)
        b = len(inputs)
        through = found.feedback[chosen].astype(dtype).reshape(b, horizon * columns, -1)
        rows = np.empty((b, horizon * columns, size + columns * width), dtype)
        # d o_s / d V_jk = (d o_s / d phase_j) x_k, each output a block of rows.
        waves = inputs[..., : 2 * units]
        phases = np.stack([_phase_slope(waves, weights) for weights in by_output], axis=2)
        direct = phases[..., None] * windows[:, :, None, None, :]
        rows[..., :size] = through @ direct.reshape(b, horizon * columns, size)
        for output in range(columns):
            place = size + output * width
            rows[..., place : place + width] = through[..., output::columns] @ inputs
        yield rows.reshape(b, horizon, columns, -1)


def _wave_weights(learnable: Learnable) -> list[tuple[Array, Array]]:
    """Return each output's weights of cosines and of sines (D,)."""
    units = len(learnable.frequencies)
    return [(column[:units], column[units : 2 * units]) for column in learnable.readout.T]


def _phase_slope(waves: Array, weights: tuple[Array, Array]) -> Array:
    """Return the derivative (..., D) of one output by the phases V x, given [cos, sin]."""
    units = waves.shape[-1] // 2
    cosine, sine = (part.astype(waves.dtype) for part in weights)
    return np.asarray(waves[..., :units] * sine - waves[..., units:] * cosine)


def _roll(
    predictor: FeedbackModel, learnable: Learnable, rollouts: Rollouts
) -> Iterator[tuple[PredictedTick, Array, StepCache | None]]:
    """Yield each tick's prediction, phi^a (B, r_a) and the filter step that follows it."""
    structure, past = predictor.structure, predictor.structure.past
    horizon = rollouts.target.shape[1]
    observations, state = rollouts.observations.copy(), rollouts.state
    for h in range(horizon):
        action = rollouts.action_features[:, h]
        joined = khatri_rao(state, action)
        seen, acted = observations[:, h : h + past], rollouts.actions[:, h : h + past + 1]
        tick = _predict(predictor, learnable, joined, seen, acted)
        observations[:, past + h] = tick.value
        cache = None
        if state.shape[1] and h < horizon - 1:
            features = structure.observation(tick.value)
            state, cache = filter_step(predictor.tensors, structure.conditioning, joined, features)
        yield tick, action, cache


def _predict(
    predictor: FeedbackModel, learnable: Learnable, joined: Array, seen: Array, acted: Array
) -> PredictedTick:
    structure = predictor.structure
    raw = np.concatenate(newest_ticks(structure.narx_past, seen, acted), axis=1)
    held = raw
    if structure.limits is not None:
        low, high = _window_limits(structure)
        held = np.minimum(np.maximum(raw, low), high)
    window = held @ predictor.window_map.T
    phases = (window @ learnable.frequencies.T).astype(predictor.waves, copy=False)
    waves = fourier_features_of(phases)
    ones = np.ones((len(seen), 1))
    linear = np.concatenate([*newest_ticks(structure.arx_past, seen, acted), ones], axis=1)
    inputs = np.concatenate([waves, linear @ predictor.arx_map.T, joined], axis=1)
    value = inputs @ learnable.readout
    inside = np.ones(value.shape, bool)
    if structure.bounds is not None:
        value = structure.bounds(value)
        inside = structure.bounds.strictly_inside(value)
    return PredictedTick(value, window, inputs, inside, np.asarray(held == raw))


def _window_limits(structure: FixedStructure) -> tuple[Array, Array]:
    limits, past = structure.limits, structure.narx_past
    assert limits is not None
    low = np.concatenate([np.tile(limits[0], past), np.tile(limits[2], past + 1)])
    return low, np.concatenate([np.tile(limits[1], past), np.tile(limits[3], past + 1)])


def _at_inputs(
    predictor: FeedbackModel, learnable: Learnable, tick: PredictedTick, action: Array
) -> tuple[Array, Array]:
    """Return the derivatives of a tick's predictions by the past (B, d_o, past, d_o) and by q."""
    structure, columns = predictor.structure, tick.value.shape[1]
    units, linear = len(learnable.frequencies), len(predictor.arx_map)
    n, m, past = structure.arx_past, structure.narx_past, structure.past
    at_window = np.zeros((len(action), columns, past, columns))
    weights = (predictor.arx_map.T @ learnable.readout[2 * units : 2 * units + linear]).T
    at_window[:, :, past - n :] += weights[:, : n * columns].reshape(columns, n, columns)
    frequencies = learnable.frequencies @ predictor.window_map
    waves = tick.inputs[:, : 2 * units]
    for output, pair in enumerate(_wave_weights(learnable)):
        at_held = (_phase_slope(waves, pair) @ frequencies) * tick.free
        at_window[:, output, past - m :] += at_held[:, : m * columns].reshape(-1, m, columns)
    by_joined = learnable.readout[2 * units + linear :].reshape(-1, action.shape[1], columns)
    return at_window, np.einsum("pao,ba->bop", by_joined, action)


def _through_filter(
    predictor: FeedbackModel,
    cache: StepCache,
    tick: PredictedTick,
    action: Array,
    by_state: Array,
    row: Array,
) -> Array:
    """Return how the next state (B, p, H, d_o) depends on what was predicted up to this tick."""
    size = by_state.shape[1]
    structure = predictor.structure
    _, raw = structure.observation.with_pullback(tick.value)
    following = np.empty_like(by_state)
    for p in range(size):
        one = np.zeros((len(action), size))
        one[:, p] = 1.0
        through = filter_step_gradient(predictor.tensors, cache, one)
        at_state = state_part(through.joined, action)
        at_value = structure.observation.pullback(raw, through.observation)
        following[:, p] = np.einsum("bq,bqsd->bsd", at_state, by_state, optimize=True)
        following[:, p] += np.einsum("bo,bosd->bsd", at_value, row, optimize=True)
    return following
