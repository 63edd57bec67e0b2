"""How simulations of a nonlinear system depend on its weights.

With S_t the derivative of x_t by the weights w, and J the step's by the state,

    S_{t+1} = J_x S_t + d x_{t+1} / d w,    d o_t / d w = J_o S_t + (d o_t / d w at fixed x_t)

The derivatives are carried along in single precision, the simulation itself in double.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import as_strided

from rffpsr_ros.models.state_space.dynamics import StateSpace, feature_slopes, step_jacobians
from rffpsr_ros.models.state_space.simulation import Simulation
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


def jacobians(system: StateSpace, simulation: Simulation, ticks: slice) -> tuple[Array, Array]:
    """Return the derivatives (t, N, n + d_o, .) of `step_jacobians` in some ticks."""
    seen, features = simulation.seen[ticks], simulation.features[ticks]
    return step_jacobians(system, feature_slopes(system, seen, features))


def sensitivities(
    system: StateSpace,
    simulation: Simulation,
    actions: Array,
    some: bool,
    together: int,
) -> Iterator[tuple[slice, Array]]:
    """Yield derivatives (N, t, d_o, Q) of what is expected, by some ticks ``together``.

    Columns are those by the weights, in the order of `moving_weights`, if ``some`` are free, and by
    the state that each of N simulations begins with. Takes actions (T, N, d_a); nothing is
    corrected.
    """
    ticks, count, _ = actions.shape
    states = system.states
    size = moving_weights(system).size if some else 0
    carried = np.zeros((count, states, size + states), np.float32)
    carried[:, :, size:] = np.eye(states)
    for first in range(0, ticks, together):
        chosen = slice(first, min(first + together, ticks))
        by_direction, by_input = jacobians(system, simulation, chosen)
        by_state = by_input[..., :states].astype(np.float32)
        shape = (count, len(by_state), by_state.shape[2], carried.shape[2])
        moves = np.zeros(shape, np.float32)
        if some:
            _add_direct(system, simulation, actions, chosen, by_direction, moves)
        for t, along in enumerate(by_state):
            moves[:, t] += along @ carried
            carried = moves[:, t, :states]
            if system.integrators.any():
                carried[:, -len(system.output) :] = moves[:, t, states:]
        carried = carried.copy()
        yield chosen, moves[:, :, states:]


def _add_direct(
    system: StateSpace,
    simulation: Simulation,
    actions: Array,
    ticks: slice,
    by_direction: Array,
    moves: Array,
) -> None:
    """Add how next states and forecasts (N, t, n + d_o, .) depend on weights at a fixed state."""
    before = simulation.states[:-1][ticks], actions[ticks]
    ones = np.ones((*before[0].shape[:2], 1))
    linear = np.concatenate([*before, ones], axis=2).swapaxes(0, 1).astype(np.float32)
    features = simulation.features[ticks].swapaxes(0, 1).astype(np.float32)
    inputs = np.concatenate([linear, features], axis=2)
    rows, columns = moves.shape[2], inputs.shape[2]
    # Row i of X and Y has the inputs as derivative of number i: a diagonal of blocks.
    stretch, tick, row, item = moves.strides
    diagonal = (stretch, tick, row + columns * item, item)
    blocks = as_strided(moves, (*moves.shape[:2], rows, columns), diagonal)
    blocks += inputs[:, :, None]
    start = rows * columns
    by_w = moves[..., start : start + system.directions.size]
    outer = by_direction.swapaxes(0, 1).astype(np.float32)[..., None] * linear[:, :, None, None]
    by_w += outer.reshape(by_w.shape)
