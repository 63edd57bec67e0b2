"""Simulations whose first states are free: they are learned with the weights, stretch by stretch.

How a state is found while a robot is followed does not matter here, so what the system does is
learned by itself. The first states are as many as there are stretches, and each matters to its own
stretch alone: steps eliminate them, see `BlockEquations`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.models.state_space.dynamics import StateSpace
from rffpsr_ros.models.state_space.sensitivities import (
    moving_weights,
    sensitivities,
    with_moving_weights,
)
from rffpsr_ros.models.state_space.simulation import first_states, simulate, simulation_error
from rffpsr_ros.models.state_space.stretches import FreeStretches, Stretches
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.block_equations import BlockEquations

TOGETHER = 4096
"""Observations whose derivatives are held at once, about."""


def found_starts(system: StateSpace, stretches: FreeStretches) -> Array:
    """Return first states (N, n) as following the ticks before finds them."""
    begun = first_states(system, stretches.simulated)
    before = stretches.before
    followed = simulate(system, before, first_states(system, before)).states[-1]
    return np.where(stretches.first[:, None], begun, followed)


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
        system, starts = self.split(point)
        stretches, some = self.stretches, bool(self.free.any())
        simulation = simulate(system, stretches, starts)
        inside = stretches.counted & system.bounds.strictly_inside(simulation.expected)
        missed = np.where(stretches.counted, simulation.expected - stretches.observations, 0.0)
        sums = _Sums(len(self.free) if some else 0, starts.shape)
        together = max(1, TOGETHER // missed[0].size)
        found = sensitivities(system, simulation, stretches.actions, some, together)
        for ticks, rows in found:
            sums.add(rows * inside[ticks].swapaxes(0, 1)[..., None], missed[ticks].swapaxes(0, 1))
        return sums.equations(self.free[: sums.size], max(int(stretches.counted.sum()), 1))


class _Sums:
    """Sums over rows of derivatives by P weights and n numbers of a start, some ticks at a time."""

    def __init__(self, size: int, starts: tuple[int, ...]) -> None:
        count, states = starts
        self.size, every = size, size + states
        self._shared = np.zeros((every, every))
        self._gradient = np.zeros(size)
        self._own_gradient = np.zeros(starts)
        self._own = np.zeros((count, states, every))
        self._total = 0.0

    def add(self, rows: Array, missed: Array) -> None:
        """Take derivatives (N, t, d_o, P + n) and what was missed (N, t, d_o), 0 if not counted."""
        flat, short = rows.reshape(-1, rows.shape[-1]), missed.astype(np.float32)
        self._shared += flat.T @ flat
        self._gradient += short.ravel() @ flat[:, : self.size]
        rows = rows.reshape(len(rows), -1, rows.shape[-1])
        own = rows[:, :, self.size :].swapaxes(1, 2)  # (N, n, rows)
        self._own += own @ rows
        self._own_gradient += (own @ short.reshape(len(rows), -1, 1))[..., 0]
        self._total += float((missed**2).sum())

    def equations(self, free: Array, number: int) -> BlockEquations:
        """Return the means over a number of observations, by the weights that are free (P,)."""
        states = self._own_gradient.shape[1]
        among = np.concatenate([free, np.zeros(states, bool)])
        return BlockEquations(
            self._total / number,
            self._gradient[free] / number,
            self._shared[np.ix_(among, among)] / number,
            self._own_gradient / number,
            self._own[:, :, self.size :] / number,
            self._own[:, :, among].swapaxes(1, 2) / number,
        )
