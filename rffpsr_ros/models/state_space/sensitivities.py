"""The error of simulations of a nonlinear system, and how a step depends on its weights.

With S_t the derivative of x_t by the weights w, and J the step's by the state,

    S_{t+1} = J_x S_t + d x_{t+1} / d w,    d o_t / d w = J_o S_t + (d o_t / d w at fixed x_t)

The derivatives are carried along in single precision, the simulation itself in double.
"""

from __future__ import annotations

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


def moving_weights(system: StateSpace) -> Array:
    """Return all that makes a system move and be seen as one vector (P,): X, Y and W."""
    return np.concatenate([part.ravel() for part in system[:3]])


def with_moving_weights(system: StateSpace, weights: Array) -> StateSpace:
    """Return the system of weights (P,), in arrays of their own.

    Some products round differently where an array begins amid another: as it was saved and loaded.
    """
    parts = system[:3]
    ends = np.cumsum([part.size for part in parts])
    transition, output, directions = (
        piece.reshape(part.shape).copy()
        for piece, part in zip(np.split(weights, ends[:-1]), parts, strict=True)
    )
    return system._replace(transition=transition, output=output, directions=directions)


def simulation_error(
    system: StateSpace, stretches: Stretches, starts: Array | None = None
) -> float:
    """Return the mean squared error of the simulations; infinite where it is no number.

    They begin with states ``starts`` (N, n), or as an episode does.
    """
    total = float(_summed_by_stretch(system, stretches, starts).sum())
    error = total / max(int(stretches.counted.sum()), 1)
    return error if np.isfinite(error) else float("inf")


def errors_by_stretch(system: StateSpace, stretches: Stretches) -> Array:
    """Return the mean squared error of each simulation (N,); infinite where it is no number."""
    errors = _summed_by_stretch(system, stretches)
    errors /= np.maximum(stretches.counted.sum(axis=(0, 2)), 1)
    return np.nan_to_num(errors, nan=np.inf)


def _summed_by_stretch(
    system: StateSpace, stretches: Stretches, starts: Array | None = None
) -> Array:
    """Return the sum of squared errors of each simulation (N,)."""
    state = first_states(system, stretches) if starts is None else starts
    total = np.zeros(len(state))
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(len(stretches.actions)):
            ahead = advance(system, state, stretches.actions[t])
            missed = system.bounds(ahead.expected) - stretches.observations[t]
            total += np.sum(missed**2, axis=1, where=stretches.counted[t])
            state = next_states(system, ahead, missed, stretches.corrected[t])
    return total


def first_states(system: StateSpace, stretches: Stretches) -> Array:
    """Return the states (N, n) that stretches begin with, as an episode does."""
    start = np.tile(system.start, (stretches.actions.shape[1], 1))
    if not len(stretches.actions):
        return start
    first = stretches.observations[0]
    return placed(system, start, first, np.zeros_like(first, bool))


def next_states(system: StateSpace, ahead: SystemStep, missed: Array, corrected: Array) -> Array:
    """Return the next states (N, n), given forecasts minus observations (N, d_o)."""
    if not corrected.any():
        return ahead.following
    error = np.where(np.isfinite(missed) & corrected[:, None], missed, 0.0)
    return np.asarray(ahead.following - error @ system.gain.T)


def state_sensitivities(system: StateSpace, ahead: SystemStep, carried: Array) -> Array:
    """Return derivatives of next states and forecasts (N, n + d_o, .), given those of states."""
    by_input = step_jacobians(system, ahead.slopes)[1]
    return np.asarray(by_input[..., : system.states].astype(np.float32) @ carried)


def step_sensitivities(system: StateSpace, ahead: SystemStep, carried: Array) -> Array:
    """Return derivatives of next states and forecasts (N, n + d_o, .), without a correction.

    Those of states are ``carried`` (N, n, .), by `moving_weights` and by whatever follows them.
    """
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
