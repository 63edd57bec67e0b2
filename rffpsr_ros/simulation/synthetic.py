"""The paper's synthetic system (its section "Synthetic Data"): a driven nonlinear oscillator.

dx1/dt = x2 - 0.1 cos(x1) (5 x1 - 4 x1^3 + x1^5) - 0.5 cos(x1) a,
dx2/dt = -65 x1 + 50 x1^3 - 15 x1^5 - x2 - 100 a, and x1 is observed, at 20 Hz. The action is held
throughout a tick and the observation is recorded at its end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.system import runge_kutta

_STEPS = 8
"""Integration steps per tick; more of them change an observation by less than 1e-5."""


@dataclass(frozen=True)
class SyntheticSystem:
    """The synthetic system; its state is (x1, x2)."""

    period: float = 0.05
    observation_names: tuple[str, ...] = ("o",)
    action_names: tuple[str, ...] = ("a",)

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return the limits of the paper's white noise, -0.5 and 0.5."""
        return np.array([-0.5]), np.array([0.5])

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return a state near rest, as where the authors' recordings begin."""
        return np.array([generator.uniform(-0.2, 0.2), 0.0])

    def step(self, state: Array, action: Array) -> Array:
        """Return the state (..., 2) one tick later under ``action`` (..., 1)."""
        return runge_kutta(derivative, state, action, self.period, _STEPS)

    def observe(self, state: Array) -> Array:
        """Return x1 as (..., 1)."""
        return state[..., :1]


def derivative(state: Array, action: Array) -> Array:
    """Return the time derivative (..., 2) of the state under ``action`` (..., 1)."""
    x1, x2, a = state[..., 0], state[..., 1], action[..., 0]
    damping = 0.1 * np.cos(x1) * (5 * x1 - 4 * x1**3 + x1**5)
    return np.stack(
        [
            x2 - damping - 0.5 * np.cos(x1) * a,
            -65 * x1 + 50 * x1**3 - 15 * x1**5 - x2 - 100 * a,
        ],
        axis=-1,
    )
