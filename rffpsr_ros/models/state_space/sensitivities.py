"""The error of simulations of a nonlinear system, and its exact dependence on all weights.

With S_t the derivative of x_t by the weights w, and J the step's by the state,

    S_{t+1} = J_x S_t + d x_{t+1} / d w,    d o_t / d w = J_o S_t + (d o_t / d w at fixed x_t)

while the state is corrected, x_{t+1} has K (o_t - its forecast) besides, and S follows. The
derivatives are carried along in single precision, the simulation itself in double.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from rffpsr_ros.models.state_space.dynamics import (
    StateSpace,
    SystemStep,
    advance,
    placed,
    step_jacobians,
)
from rffpsr_ros.models.state_space.stretches import Stretches
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.gauss_newton import NormalEquations

TOGETHER = 4096
"""Rows of derivatives that are multiplied at once, about."""


def learned_weights(system: StateSpace) -> Array:
    """Return all that is learned of a system as one vector (P,): X, Y, W, K and the start."""
    return np.concatenate([part.ravel() for part in system[:5]])


def with_weights(system: StateSpace, weights: Array) -> StateSpace:
    """Return the system of weights (P,), in arrays of their own.

    Some products round differently where an array begins amid another: as it was saved and loaded.
    """
    ends = np.cumsum([part.size for part in system[:5]])
    transition, output, directions, gain, start = (
        piece.reshape(part.shape).copy()
        for piece, part in zip(np.split(weights, ends[:-1]), system[:5], strict=True)
    )
    return system._replace(
        transition=transition, output=output, directions=directions, gain=gain, start=start
    )


def gain_weights(system: StateSpace) -> Array:
    """Return which weights (P,) are those of the gain."""
    parts = [np.full(part.size, part is system.gain) for part in system[:5]]
    return np.concatenate(parts)


class SimulatedSystem(NamedTuple):
    """The mean squared error of simulations, by those weights of a system that are free."""

    system: StateSpace
    free: Array  # (P,)
    stretches: Stretches

    def start(self) -> Array:
        """Return the free weights of the system as it is (Q,)."""
        return learned_weights(self.system)[self.free]

    def with_free(self, weights: Array) -> StateSpace:
        """Return the system with free weights (Q,)."""
        every = learned_weights(self.system)
        every[self.free] = weights
        return with_weights(self.system, every)

    def error(self, weights: Array) -> float:
        """Return the error; infinite where it is no number."""
        return simulation_error(self.with_free(weights), self.stretches)

    def equations(self, weights: Array) -> NormalEquations:
        """Return error, gradient and J^T J by the free weights."""
        found = normal_equations(self.with_free(weights), self.stretches)
        among = np.ix_(self.free, self.free)
        return NormalEquations(found.error, found.gradient[self.free], found.curvature[among])


def simulation_error(system: StateSpace, stretches: Stretches) -> float:
    """Return the mean squared error of the simulations; infinite where it is no number."""
    state, total = _starts(system, stretches), 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(len(stretches.actions)):
            ahead = advance(system, state, stretches.actions[t])
            missed = system.bounds(ahead.expected) - stretches.observations[t]
            total += float(np.sum(missed[stretches.counted[t]] ** 2))
            state = _next_state(system, ahead, missed, stretches.corrected[t])
    error = total / max(int(stretches.counted.sum()), 1)
    return error if np.isfinite(error) else float("inf")


def normal_equations(system: StateSpace, stretches: Stretches) -> NormalEquations:
    """Return error, gradient and J^T J by all weights (P,), see `learned_weights`."""
    states, observed = system.states, len(system.output)
    size = learned_weights(system).size
    count = stretches.actions.shape[1]
    state = _starts(system, stretches)
    carried = _start_sensitivities(system, stretches, size)
    gathered = _Gathered(size)
    for t in range(len(stretches.actions)):
        ahead = advance(system, state, stretches.actions[t])
        moves = _moves(system, ahead, carried)
        expected = system.bounds(ahead.expected)
        by_weight = moves[:, states:]
        by_weight *= system.bounds.strictly_inside(expected)[:, :, None]
        missed = expected - stretches.observations[t]
        counted = stretches.counted[t]
        if counted.any():
            gathered.add(by_weight[counted], missed[counted])
        carried = moves[:, :states]
        if stretches.corrected[t].any():
            seen = np.isfinite(missed) & stretches.corrected[t][:, None]
            weighted = np.where(seen[:, None], system.gain, 0.0).astype(np.float32)
            carried = carried - weighted @ by_weight
            start = size - states - states * observed
            by_gain = carried[:, :, start : size - states]
            by_gain = by_gain.reshape(count, states, states, observed)
            each = np.arange(states)
            by_gain[:, each, each] -= np.where(seen, missed, 0.0)[:, None]
            carried[:, :, start : size - states] = by_gain.reshape(count, states, -1)
        state = _next_state(system, ahead, missed, stretches.corrected[t])
    return gathered.equations(max(int(stretches.counted.sum()), 1))


class _Gathered:
    """Sums over rows of derivatives (., P), a few thousand at a time."""

    def __init__(self, size: int) -> None:
        self._gradient, self._curvature = np.zeros(size), np.zeros((size, size))
        self._rows: list[Array] = []
        self._missed: list[Array] = []
        self._waiting, self._total = 0, 0.0

    def add(self, rows: Array, missed: Array) -> None:
        """Take derivatives (m, P) and what was missed (m,)."""
        self._rows.append(rows)
        self._missed.append(missed)
        self._waiting += len(rows)
        if self._waiting >= TOGETHER:
            self._sum_up()

    def equations(self, number: int) -> NormalEquations:
        """Return the means over a number of observations."""
        self._sum_up()
        return NormalEquations(
            self._total / number, self._gradient / number, self._curvature / number
        )

    def _sum_up(self) -> None:
        if self._waiting:
            rows, missed = np.concatenate(self._rows), np.concatenate(self._missed)
            self._curvature += rows.T @ rows
            self._gradient += missed.astype(np.float32) @ rows
            self._total += float(missed @ missed)
        self._rows, self._missed, self._waiting = [], [], 0


def _starts(system: StateSpace, stretches: Stretches) -> Array:
    """Return the states (N, n) that stretches begin with."""
    start = np.tile(system.start, (stretches.actions.shape[1], 1))
    first = stretches.observations[0]
    return placed(system, start, first, np.zeros_like(first, bool))


def _start_sensitivities(system: StateSpace, stretches: Stretches, size: int) -> Array:
    """Return how those depend on the start, the last of the weights (N, n, P)."""
    count, states = stretches.actions.shape[1], system.states
    carried = np.zeros((count, states, size), np.float32)
    each = np.arange(states)
    carried[:, each, size - states + each] = 1.0
    if system.integrators.any():
        told = np.isfinite(stretches.observations[0])
        carried[:, states - told.shape[1] :] *= ~told[:, :, None]
    return carried


def _next_state(system: StateSpace, ahead: SystemStep, missed: Array, corrected: Array) -> Array:
    """Return the next states (N, n), given forecasts minus observations (N, d_o)."""
    if not corrected.any():
        return ahead.following
    error = np.where(np.isfinite(missed) & corrected[:, None], missed, 0.0)
    return np.asarray(ahead.following - error @ system.gain.T)


def _moves(system: StateSpace, ahead: SystemStep, carried: Array) -> Array:
    """Return derivatives of next states and forecasts (N, n + d_o, P), without a correction."""
    count, states, _ = carried.shape
    rows, columns = states + len(system.output), ahead.inputs.shape[1]
    by_direction, by_input = step_jacobians(system, ahead.slopes)
    moves = by_input[..., :states].astype(np.float32) @ carried
    # Row i of X and Y has the inputs as derivative of number i: a diagonal of blocks.
    stretch, row, item = moves.strides
    blocks = as_strided(moves, (count, rows, columns), (stretch, row + columns * item, item))
    blocks += ahead.inputs[:, None].astype(np.float32)
    linear = ahead.inputs[:, : system.directions.shape[1]].astype(np.float32)
    start = rows * columns
    by_w = moves[:, :, start : start + system.directions.size]
    outer = by_direction.astype(np.float32)[..., None] * linear[:, None, None]
    by_w += outer.reshape(count, rows, -1)
    return moves
