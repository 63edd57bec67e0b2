"""How rolled-out predictions depend on units and readout: exact, by adjoints.

Weights at predictions are carried back, tick by tick, through all that was fed back: the windows,
and the filter. What arrives are weights at what each tick computes with everything fed back held
fixed; and there a prediction depends on the parameters in one line. One pass backwards carries the
gradient, and with it any number of the Jacobian's rows: of predictions, or of mixtures of them.
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
"""Rollouts whose rows of the Jacobian are held at a time."""


class Rolled(NamedTuple):
    """What B rollouts predicted, and what of it a pass backwards needs."""

    values: Array  # (B, H, d_o)
    windows: Array  # of the NARX term, as they are (B, H, d_x)
    inputs: Array  # [z, w, u], w as it is (B, H, inputs)
    plain: Learnable  # units and readout of windows as they are
    ticks: tuple[tuple[PredictedTick, Array, StepCache | None], ...]


class Adjoints(NamedTuple):
    """R weights at what each tick computes, of each of B rollouts."""

    at_values: Array  # at predictions (B, H, R, d_o)
    at_sums: Array  # at the units' sums V x (B, H, R, D)

    def of(self, chosen: slice) -> Adjoints:
        """Return some of the weights."""
        return Adjoints(self.at_values[:, :, chosen], self.at_sums[:, :, chosen])


def rolled(predictor: FeedbackModel, learnable: Learnable, rollouts: Rollouts) -> Rolled:
    """Return rolled-out predictions and what `adjoints` needs."""
    plain = predictor.of_windows(learnable)
    ticks = tuple(roll(predictor, plain, rollouts))
    return Rolled(
        np.stack([tick.value for tick, _, _ in ticks], axis=1),
        np.stack([tick.window for tick, _, _ in ticks], axis=1),
        np.stack([tick.inputs for tick, _, _ in ticks], axis=1),
        plain,
        ticks,
    )


def adjoints(predictor: FeedbackModel, found: Rolled, at_predictions: Array) -> Adjoints:
    """Return weights at what each tick computes, given R at predictions (B, H, R, d_o)."""
    plain = found.plain
    at_values = at_predictions.astype(predictor.precision)
    count, horizon, weights, _ = at_values.shape
    at_sums = np.empty((count, horizon, weights, len(plain.units)), predictor.precision)
    at_state = np.zeros((count, weights, 0))
    for h in reversed(range(horizon)):
        tick, action, cache = found.ticks[h]
        at_joined = np.zeros((count, weights, 0))
        if cache is not None:
            at_joined, at_fed_back = _through_filter(predictor, cache, tick, at_state)
            at_values[:, h] += at_fed_back
        row = at_values[:, h]
        row *= tick.inside[:, None]
        at_sums[:, h] = _at_sums(predictor, plain, tick, row)
        _add_through_windows(predictor, plain, tick, at_sums[:, h], at_values[:, : h + 1])
        at_state = _at_state(predictor, plain, action, row, at_joined)
    return Adjoints(at_values, at_sums)


def gradient(predictor: FeedbackModel, found: Rolled, back: Adjoints) -> Array:
    """Return the gradient (P,) at the parameters, of rollouts and weights together."""
    at_values, at_sums = (part.sum(axis=2) for part in back)
    by_units = _flat(at_sums).T @ _flat(found.windows)
    by_readout = _flat(found.inputs).T @ _flat(at_values)
    return predictor.pulled_back(Learnable(by_units, by_readout)).flat()


def jacobian(
    predictor: FeedbackModel,
    learnable: Learnable,
    found: Rolled,
    back: Adjoints,
    together: int = TOGETHER,
) -> Iterator[Array]:
    """Yield derivatives (b, R, P) of what the weights make of predictions, some rollouts' a time.

    They are in the adjoints' precision.
    """
    count, horizon, weights, columns = back.at_values.shape
    size, width = learnable.units.size, len(learnable.readout)
    for first in range(0, count, together):
        chosen = slice(first, first + together)
        inputs = predictor.inputs(learnable, found.inputs[chosen]).astype(back.at_values.dtype)
        windows = predictor.windows(found.windows[chosen]).astype(back.at_sums.dtype)
        b = len(inputs)
        rows = np.empty((b, weights, size + columns * width), back.at_sums.dtype)
        # d o / d V_j = (d o / d sum_j) x,  d o / d R_k = z_k: sums over a rollout's ticks.
        for place, at, of in (
            (slice(None, size), back.at_sums, windows),
            (slice(size, None), back.at_values, inputs),
        ):
            by_tick = at[chosen].reshape(b, horizon, -1).swapaxes(1, 2)
            rows[..., place] = (by_tick @ of).reshape(b, weights, -1)
        yield rows


def _at_sums(predictor: FeedbackModel, plain: Learnable, tick: PredictedTick, row: Array) -> Array:
    """Return weights (B, R, D) at a tick's sums, given those at its predictions (B, R, d_o)."""
    own = predictor.own(plain)
    values = tick.inputs[:, None, :own].astype(predictor.precision)
    readout = plain.readout[:own].astype(predictor.precision)
    return predictor.units.pullback(values, row @ readout.T)


def _add_through_windows(
    predictor: FeedbackModel,
    plain: Learnable,
    tick: PredictedTick,
    at_sums: Array,
    at_values: Array,
) -> None:
    """Add weights at a tick's sums, and at its predictions, to those of what it had seen.

    Takes weights (B, h + 1, R, d_o) at predictions, this tick's the last.
    """
    structure, precision = predictor.structure, predictor.precision
    count, ticks, weights, columns = at_values.shape
    row, own = at_values[:, -1].reshape(-1, columns), predictor.own(plain)
    n, m = structure.arx_past, structure.narx_past
    near = min(ticks - 1, n)
    linear = plain.readout[own + (n - near) * columns : own + n * columns].astype(precision)
    at_window = (row @ linear.T).reshape(count, weights, near, columns)
    at_values[:, ticks - 1 - near : ticks - 1] += at_window.swapaxes(1, 2)
    near = min(ticks - 1, m)
    directions = plain.units[:, (m - near) * columns : m * columns].astype(precision)
    at_held = (at_sums.reshape(count * weights, -1) @ directions).reshape(
        count, weights, near, columns
    )
    free = tick.free[:, m - near :, None]
    at_values[:, ticks - 1 - near : ticks - 1] += at_held.swapaxes(1, 2) * free


def _at_state(
    predictor: FeedbackModel, plain: Learnable, action: Array, row: Array, at_joined: Array
) -> Array:
    """Return weights (B, R, p) at the state before a tick, given what its filter step adds."""
    first = predictor.own(plain) + len(predictor.arx_map)
    if first == len(plain.readout):
        return at_joined
    joined = row @ plain.readout[first:].T
    if at_joined.size:
        joined += at_joined
    parts = [state_part(joined[:, place], action) for place in range(joined.shape[1])]
    return np.stack(parts, axis=1)


def _through_filter(
    predictor: FeedbackModel, cache: StepCache, tick: PredictedTick, at_state: Array
) -> tuple[Array, Array]:
    """Return weights at u (B, R, p r_a) and at a prediction (B, R, d_o), given those after it."""
    observation = predictor.structure.observation
    _, raw = observation.with_pullback(tick.value)
    at_joined, at_value = [], []
    for place in range(at_state.shape[1]):
        through = filter_step_gradient(predictor.tensors, cache, at_state[:, place])
        at_joined.append(through.joined)
        at_value.append(observation.pullback(raw, through.observation))
    return np.stack(at_joined, axis=1), np.stack(at_value, axis=1)


def _flat(ticks: Array) -> Array:
    """Return one row for each rollout's tick."""
    return ticks.reshape(-1, ticks.shape[-1])
