"""Two drives on a flexible belt, whose speed is seen without its sign.

In the manner of the laboratory rig of Wigren and Schoukens 2017 ("Coupled electric drives data set
and reference models"), where a pulse counter tells how fast the belt's pulley turns, but not which
way. The figures are those of no rig.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rffpsr_ros.numerics.arrays import Array

_STEPS = 10
"""Integration steps per tick."""


@dataclass(frozen=True)
class CoupledDrives:
    """Two drives and a pulley. State (speeds of both, twist of the belt, speed of the pulley).

    The first one is driven; observed is the size of the pulley's speed.
    """

    period: float = 0.02
    observation_names: tuple[str, ...] = ("speed",)
    action_names: tuple[str, ...] = ("voltage",)

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return the range of voltages."""
        return np.array([-2.0]), np.array([2.0])

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return drives at rest."""
        return np.zeros(4)

    def step(self, state: Array, action: Array) -> Array:
        """Return the state (..., 4) one tick later."""
        first, second, twist, pulley = np.moveaxis(state, -1, 0)
        h = self.period / _STEPS
        for _ in range(_STEPS):
            pulled = 8 * action[..., 0] - 6 * first - 20 * twist
            follows = 25 * twist - 3 * second
            twist = twist + h * (12 * (first - second) - twist)
            pulley = pulley + h * (4 * (first + second) - 8 * pulley)
            first, second = first + h * pulled, second + h * follows
        return np.stack([first, second, twist, pulley], axis=-1)

    def observe(self, state: Array) -> Array:
        """Return the size of the pulley's speed (..., 1)."""
        return np.abs(state[..., 3:])
