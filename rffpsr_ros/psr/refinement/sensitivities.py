"""How rolled-out predictions depend on units and readout: exact sensitivities.

Of one rollout two things are kept: how each prediction depends on parameters with everything fed
back held fixed, D, and how it depends on each prediction before it, A. The whole dependence is then
one triangular solve away: J = (I - A)^{-1} D, the same for any number of parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.filter_step import StepCache, filter_step_gradient, state_part
from rffpsr_ros.psr.refinement.rolling import (
    FeedbackModel,
    Learnable,
    PredictedTick,
    Rollouts,
    roll,
)

TOGETHER = 256
"""Rollouts whose dependence on the parameters is held at a time."""


class Dependence(NamedTuple):
    """How predictions depend on each other and on the parameters, of B rollouts."""

    values: Array  # (B, H, d_o)
    feedback: Array  # (I - A)^{-1} (B, H, d_o, H, d_o)
    windows: Array  # of the NARX term, as they are (B, H, d_x)
    inputs: Array  # [z, w, u], w as it is (B, H, inputs)

    def pick(self, chosen: slice) -> Dependence:
        """Return that of some of the rollouts."""
        return Dependence(*(part[chosen] for part in self))

    def scaled(self, factors: Array) -> Dependence:
        """Return that of predictions times factors (B, H, d_o)."""
        return self._replace(
            values=self.values * factors,
            feedback=self.feedback * factors.astype(self.feedback.dtype)[..., None, None],
        )


def dependence(predictor: FeedbackModel, learnable: Learnable, rollouts: Rollouts) -> Dependence:
    """Return rolled-out predictions and what `jacobian` needs."""
    past, plain = predictor.structure.past, predictor.of_windows(learnable)
    count, horizon, columns = rollouts.target.shape
    precision = predictor.precision
    feedback = np.zeros((count, horizon, columns, horizon, columns), precision)
    by_state = np.zeros((count, rollouts.state.shape[1], horizon, columns), precision)
    each, kept = np.arange(columns), []
    for h, (tick, action, cache) in enumerate(roll(predictor, plain, rollouts)):
        row, seen = feedback[:, h], min(h, past)
        row[:, :, :h] += np.einsum(
            "bokc,bkcsd->bosd",
            _at_predicted(predictor, plain, tick, seen),
            feedback[:, h - seen : h, :, :h],  # on what comes later nothing depends
            optimize=True,
        )
        if by_state.size:
            # The state, like the window, follows from what was fed back before.
            at_state = _at_state(predictor, plain, action)
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


def gradient(
    predictor: FeedbackModel, learnable: Learnable, found: Dependence, at_values: Array
) -> Array:
    """Return the gradient (P,) at the parameters, given that at the predictions (B, H, d_o)."""
    count, horizon, columns = at_values.shape
    through = found.feedback.reshape(count, horizon * columns, -1)
    at_predicted = at_values.reshape(count, 1, -1).astype(through.dtype)
    at_direct = (at_predicted @ through).reshape(-1, 1, columns)
    inputs = found.inputs.reshape(count * horizon, -1)
    slopes = _slopes(predictor, learnable, inputs)
    at_sums, at_direct = (at_direct @ slopes)[:, 0], at_direct[:, 0]
    windows = found.windows.reshape(count * horizon, -1)
    return predictor.pulled_back(Learnable(at_sums.T @ windows, inputs.T @ at_direct)).flat()


def jacobian(
    predictor: FeedbackModel,
    learnable: Learnable,
    found: Dependence,
    dtype: type[np.floating] = np.float64,
    together: int = TOGETHER,
) -> Iterator[Array]:
    """Yield the derivatives (b, H, d_o, P) of predictions, a few rollouts at a time."""
    count, horizon, columns = found.values.shape
    own = predictor.own(learnable)
    size, width = learnable.units.size, len(learnable.readout)
    for first in range(0, count, together):
        chosen = slice(first, first + together)
        inputs = predictor.inputs(learnable, found.inputs[chosen]).astype(dtype)
        windows = predictor.windows(found.windows[chosen]).astype(dtype)
        b = len(inputs)
        through = found.feedback[chosen].astype(dtype).reshape(b, horizon * columns, -1)
        rows = np.empty((b, horizon * columns, size + columns * width), dtype)
        # d o_s / d V_jk = (d o_s / d sum_j) x_k, each output a block of rows.
        slopes = predictor.units.slopes(inputs[..., :own], learnable.readout[:own])
        direct = slopes[..., None] * windows[:, :, None, None, :]
        rows[..., :size] = through @ direct.reshape(b, horizon * columns, size)
        for output in range(columns):
            place = size + output * width
            rows[..., place : place + width] = through[..., output::columns] @ inputs
        yield rows.reshape(b, horizon, columns, -1)


def _at_predicted(
    predictor: FeedbackModel, plain: Learnable, tick: PredictedTick, seen: int
) -> Array:
    """Return a tick's derivatives (B, d_o, seen, d_o) by the observations ``seen`` ticks back."""
    structure, (count, columns) = predictor.structure, tick.value.shape
    n, m = structure.arx_past, structure.narx_past
    at_window = np.zeros((count, columns, seen, columns), predictor.precision)
    own, near = predictor.own(plain), min(seen, n)
    linear = plain.readout[own + (n - near) * columns : own + n * columns]
    at_window[:, :, seen - near :] = linear.T.reshape(columns, near, columns)
    near = min(seen, m)
    directions = plain.units[:, (m - near) * columns : m * columns].astype(predictor.precision)
    slopes = _slopes(predictor, plain, tick.inputs)
    at_held = slopes.reshape(count * columns, -1) @ directions
    at_held = at_held.reshape(count, columns, near, columns)
    at_window[:, :, seen - near :] += at_held * tick.free[:, None, m - near :]
    return at_window


def _slopes(predictor: FeedbackModel, learnable: Learnable, inputs: Array) -> Array:
    """Return the derivatives (..., d_o, D) of predictions from inputs (..., K) by units' sums."""
    own = predictor.own(learnable)
    values = inputs[..., :own].astype(predictor.precision)
    return predictor.units.slopes(values, learnable.readout[:own])


def _at_state(predictor: FeedbackModel, plain: Learnable, action: Array) -> Array:
    """Return a tick's derivatives (B, d_o, p) by the state."""
    first = predictor.own(plain) + len(predictor.arx_map)
    by_joined = plain.readout[first:].reshape(-1, action.shape[1], plain.readout.shape[1])
    return np.asarray(np.einsum("pao,ba->bop", by_joined, action))


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
