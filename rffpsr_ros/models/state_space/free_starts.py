"""Simulations whose first states are free: they are learned with the weights, stretch by stretch.

How a state is found while a robot is followed does not matter here, so what the system does is
learned by itself. The first states are as many as there are stretches, and each matters to its own
stretch alone: steps eliminate them, see `BlockEquations`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.models.state_space.dynamics import StateSpace, advance
from rffpsr_ros.models.state_space.sensitivities import (
    first_states,
    moving_weights,
    next_states,
    simulation_error,
    state_sensitivities,
    step_sensitivities,
    with_moving_weights,
)
from rffpsr_ros.models.state_space.stretches import FreeStretches, Stretches
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.block_equations import BlockEquations

TOGETHER = 4096
"""Rows of derivatives that are multiplied at once, about."""


def found_starts(system: StateSpace, stretches: FreeStretches) -> Array:
    """Return first states (N, n) as following the ticks before finds them."""
    begun = first_states(system, stretches.simulated)
    state = first_states(system, stretches.before)
    before = stretches.before
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(len(before.actions)):
            ahead = advance(system, state, before.actions[t])
            missed = system.bounds(ahead.expected) - before.observations[t]
            state = next_states(system, ahead, missed, before.corrected[t])
    return np.where(stretches.first[:, None], begun, state)


class FreeStarts(NamedTuple):
    """The mean squared error of simulations, by weights that are free (Q,) and first states.

    A point is the one after the other (Q + N * n,). Where the system integrates, the last rows of X
    are those of Y, whatever they were.
    """

    system: StateSpace
    free: Array  # (P,), of `moving_weights`
    stretches: Stretches  # N of them

    def point(self, starts: Array) -> Array:
        """Return the point of the system as it is, and of first states (N, n)."""
        return np.concatenate([moving_weights(self.system)[self.free], starts.ravel()])

    def split(self, point: Array) -> tuple[StateSpace, Array]:
        """Return the system and the first states (N, n) of a point."""
        every, size = moving_weights(self.system), int(self.free.sum())
        every[self.free] = point[:size]
        system = with_moving_weights(self.system, every)
        if system.integrators.any():
            system.transition[-len(system.output) :] = system.output
        return system, point[size:].reshape(-1, system.states)

    def error(self, point: Array) -> float:
        """Return the error; infinite where it is no number."""
        system, starts = self.split(point)
        return simulation_error(system, self.stretches, starts)

    def equations(self, point: Array) -> BlockEquations:
        """Return error, gradient and J^T J by the free weights, and by each stretch's start."""
        system, state = self.split(point)
        stretches, some = self.stretches, bool(self.free.any())
        size = len(self.free) if some else 0
        sums = _Sums(size, state.shape)
        carried = np.zeros((*state.shape, size + system.states), np.float32)
        carried[:, :, size:] = np.eye(system.states)
        for t in range(len(stretches.actions)):
            ahead = advance(system, state, stretches.actions[t])
            along = step_sensitivities if some else state_sensitivities
            moves = along(system, ahead, carried)
            carried, rows = moves[:, : system.states], moves[:, system.states :]
            if system.integrators.any():
                carried[:, -len(system.output) :] = rows
            expected = system.bounds(ahead.expected)
            counted = stretches.counted[t]
            rows *= (counted & system.bounds.strictly_inside(expected))[:, :, None]
            missed = np.where(counted, expected - stretches.observations[t], 0.0)
            sums.add(rows, missed)
            state = ahead.following
        return sums.equations(self.free[:size], max(int(stretches.counted.sum()), 1))


class _Sums:
    """Sums over rows of derivatives by P weights and n numbers of a start, some ticks at a time."""

    def __init__(self, size: int, starts: tuple[int, ...]) -> None:
        count, states = starts
        self._size, every = size, size + states
        self._shared = np.zeros((every, every))
        self._gradient = np.zeros(size)
        self._own_gradient = np.zeros(starts)
        self._own = np.zeros((count, states, every))
        self._rows: list[Array] = []
        self._missed: list[Array] = []
        self._total = 0.0

    def add(self, rows: Array, missed: Array) -> None:
        """Take derivatives (N, d_o, P + n) and what was missed (N, d_o), 0 if not counted."""
        self._rows.append(rows)
        self._missed.append(missed)
        if len(self._rows) * missed.size >= TOGETHER:
            self._sum_up()

    def equations(self, free: Array, number: int) -> BlockEquations:
        """Return the means over a number of observations, by the weights that are free (P,)."""
        self._sum_up()
        states = self._own_gradient.shape[1]
        among = np.concatenate([free, np.zeros(states, bool)])
        return BlockEquations(
            self._total / number,
            self._gradient[free] / number,
            self._shared[np.ix_(among, among)] / number,
            self._own_gradient / number,
            self._own[:, :, self._size :] / number,
            self._own[:, :, among].swapaxes(1, 2) / number,
        )

    def _sum_up(self) -> None:
        if not self._rows:
            return
        rows, missed = np.concatenate(self._rows, axis=1), np.concatenate(self._missed, axis=1)
        short = missed.astype(np.float32)
        flat = rows.reshape(-1, rows.shape[-1])
        self._shared += flat.T @ flat
        self._gradient += short.ravel() @ flat[:, : self._size]
        own = rows[:, :, self._size :].swapaxes(1, 2)  # (N, n, rows)
        self._own += own @ rows
        self._own_gradient += (own @ short[:, :, None])[..., 0]
        self._total += float((missed**2).sum())
        self._rows, self._missed = [], []
