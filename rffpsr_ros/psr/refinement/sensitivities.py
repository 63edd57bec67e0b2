"""Rolled-out predictions, and how each depends on units and readout: exact sensitivities.

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
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.refinement.learned_units import Units

TOGETHER = 256
"""Rollouts whose dependence on the parameters is held at a time."""


class Learnable(NamedTuple):
    """What is learned: D units V, and the readout R of K of their values and other inputs."""

    units: Array  # (D, d_x); where there are offsets, x ends with a one
    readout: Array  # (K + d_w + p r_a, d_o)

    def flat(self) -> Array:
        """Return all parameters (P,): units, then one output's weights after another."""
        return np.concatenate([self.units.ravel(), self.readout.T.ravel()])

    def at(self, point: Array) -> Learnable:
        """Return parameters of the same shapes from a point (P,)."""
        size = self.units.size
        readout = point[size:].reshape(self.readout.shape[::-1]).T
        return Learnable(point[:size].reshape(self.units.shape), readout)


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
    """What stays the same while units and readout are learned."""

    structure: FixedStructure  # windows, limits, bounds, phi^o
    tensors: TrainableParameters  # of the filter
    units: Units
    window_map: Array  # (d, d): what x is of the NARX term's window, before a one
    arx_map: Array  # (d_w, d_w): what w is of the ARX term's window and a one
    precision: type[np.floating] = np.float64  # what the units' values are computed in


class PredictedTick(NamedTuple):
    """What one tick's predictions (B, d_o) were computed from."""

    value: Array
    window: Array  # x (B, d_x)
    inputs: Array  # [z, w, u] (B, inputs)
    inside: Array  # which predictions are not held at a bound (B, d_o)
    free: Array  # which entries of the NARX term's window are not held at a limit (B, d)


class Dependence(NamedTuple):
    """How predictions depend on each other and on the parameters, of B rollouts."""

    values: Array  # (B, H, d_o)
    feedback: Array  # (I - A)^{-1} (B, H, d_o, H, d_o)
    windows: Array  # (B, H, d_x)
    inputs: Array  # (B, H, inputs)

    def pick(self, chosen: slice) -> Dependence:
        """Return that of some of the rollouts."""
        return Dependence(*(part[chosen] for part in self))

    def scaled(self, factors: Array) -> Dependence:
        """Return that of predictions times factors (B, H, d_o)."""
        return self._replace(
            values=self.values * factors, feedback=self.feedback * factors[..., None, None]
        )


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
        row[:, :, :h] += np.einsum(
            "bokc,bkcsd->bosd",
            at_window[:, :, structure.past - seen :],
            feedback[:, h - seen : h, :, :h],  # on what comes later nothing depends
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


def gradient(units: Units, learnable: Learnable, found: Dependence, at_values: Array) -> Array:
    """Return the gradient (P,) at the parameters, given that at the predictions (B, H, d_o)."""
    count, horizon, columns = at_values.shape
    through = found.feedback.reshape(count, horizon * columns, -1)
    at_direct = (at_values.reshape(count, 1, -1) @ through).reshape(-1, columns)
    inputs = found.inputs.reshape(count * horizon, -1)
    own = units.each * len(learnable.units)
    at_sums = np.zeros((len(inputs), len(learnable.units)))
    for output, weights in enumerate(learnable.readout[:own].T):
        at_sums += at_direct[:, output, None] * units.slopes(inputs[:, :own], weights)
    windows = found.windows.reshape(count * horizon, -1)
    return Learnable(at_sums.T @ windows, inputs.T @ at_direct).flat()


def jacobian(
    units: Units,
    learnable: Learnable,
    found: Dependence,
    dtype: type[np.floating] = np.float64,
    together: int = TOGETHER,
) -> Iterator[Array]:
    """Yield the derivatives (b, H, d_o, P) of predictions, a few rollouts at a time."""
    count, horizon, columns = found.values.shape
    own = units.each * len(learnable.units)
    size, width = learnable.units.size, len(learnable.readout)
    for first in range(0, count, together):
        chosen = slice(first, first + together)
        inputs = found.inputs[chosen].astype(dtype)
        windows = found.windows[chosen].astype(dtype)
        b = len(inputs)
        through = found.feedback[chosen].astype(dtype).reshape(b, horizon * columns, -1)
        rows = np.empty((b, horizon * columns, size + columns * width), dtype)
        # d o_s / d V_jk = (d o_s / d sum_j) x_k, each output a block of rows.
        by_output = learnable.readout[:own].T
        slopes = np.stack([units.slopes(inputs[..., :own], one) for one in by_output], axis=2)
        direct = slopes[..., None] * windows[:, :, None, None, :]
        rows[..., :size] = through @ direct.reshape(b, horizon * columns, size)
        for output in range(columns):
            place = size + output * width
            rows[..., place : place + width] = through[..., output::columns] @ inputs
        yield rows.reshape(b, horizon, columns, -1)


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
    ones = np.ones((len(seen), 1))
    window = held @ predictor.window_map.T
    if predictor.units.offset:
        window = np.concatenate([window, ones], axis=1)
    sums = (window @ learnable.units.T).astype(predictor.precision, copy=False)
    linear = np.concatenate([*newest_ticks(structure.arx_past, seen, acted), ones], axis=1)
    values = predictor.units.values(sums)
    inputs = np.concatenate([values, linear @ predictor.arx_map.T, joined], axis=1)
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
    own, linear = predictor.units.each * len(learnable.units), len(predictor.arx_map)
    n, m, past = structure.arx_past, structure.narx_past, structure.past
    at_window = np.zeros((len(action), columns, past, columns))
    weights = (predictor.arx_map.T @ learnable.readout[own : own + linear]).T
    at_window[:, :, past - n :] += weights[:, : n * columns].reshape(columns, n, columns)
    directions = learnable.units[:, : len(predictor.window_map)] @ predictor.window_map
    for output, one in enumerate(learnable.readout[:own].T):
        slopes = predictor.units.slopes(tick.inputs[:, :own], one)
        at_held = (slopes @ directions) * tick.free
        at_window[:, output, past - m :] += at_held[:, : m * columns].reshape(-1, m, columns)
    by_joined = learnable.readout[own + linear :].reshape(-1, action.shape[1], columns)
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
