"""Simulated robots that recordings of odd shapes are made of: joints, a cart, a line camera."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.system import runge_kutta

_STEP = 0.02
"""Seconds per integration step, at the most."""


@dataclass(frozen=True)
class Joints:
    """A row of damped pendulums, each with a motor and springs to its neighbours.

    The state is (angles, velocities); angles are observed, velocities where asked for.
    """

    count: int = 1
    period: float = 0.05
    velocities: bool = False

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Return a name for every angle and velocity observed."""
        angles = tuple(f"angle[{i}]" for i in range(self.count))
        return angles + tuple(f"velocity[{i}]" for i in range(self.count if self.velocities else 0))

    @property
    def action_names(self) -> tuple[str, ...]:
        """Return a name for every torque."""
        return tuple(f"torque[{i}]" for i in range(self.count))

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return limits that swing every pendulum through about a radian."""
        return np.full(self.count, -40.0), np.full(self.count, 40.0)

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return a state at rest, not far from hanging down."""
        return np.concatenate([generator.uniform(-0.3, 0.3, self.count), np.zeros(self.count)])

    def step(self, state: Array, action: Array) -> Array:
        """Return the state (..., 2 count) one tick later."""
        return runge_kutta(self._derivative, state, action, self.period, _steps(self.period))

    def _derivative(self, state: Array, action: Array) -> Array:
        angle, velocity = np.split(state, 2, axis=-1)
        pulled = np.zeros_like(angle)
        stretched = np.diff(angle, axis=-1)
        pulled[..., :-1] += stretched
        pulled[..., 1:] -= stretched
        return np.concatenate(
            [velocity, action - 30 * np.sin(angle) + 15 * pulled - 1.5 * velocity], axis=-1
        )

    def observe(self, state: Array) -> Array:
        """Return what is seen of the state."""
        return state if self.velocities else state[..., : self.count]


@dataclass(frozen=True)
class Cart:
    """A cart with a slow motor; actions: speed and turning rate, observed: position and heading.

    Positions are integrals: they leave any range seen in training. The state is
    (x, y, heading, speed, turning rate), and (x, y, cos heading, sin heading) is observed.
    """

    period: float = 0.1
    observation_names: tuple[str, ...] = ("x", "y", "cos", "sin")
    action_names: tuple[str, ...] = ("speed", "turning")

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return limits between which the cart mostly drives forward."""
        return np.array([-0.2, -1.0]), np.array([1.0, 1.0])

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return the origin, with any heading."""
        return np.array([0.0, 0.0, generator.uniform(-np.pi, np.pi), 0.0, 0.0])

    def step(self, state: Array, action: Array) -> Array:
        """Return the state (..., 5) one tick later."""
        return runge_kutta(_driven, state, action, self.period, _steps(self.period))

    def observe(self, state: Array) -> Array:
        """Return position and heading (..., 4)."""
        heading = state[..., 2:3]
        return np.concatenate([state[..., :2], np.cos(heading), np.sin(heading)], axis=-1)


def _driven(state: Array, action: Array) -> Array:
    heading, speed, turning = state[..., 2], state[..., 3], state[..., 4]
    return np.stack(
        [
            speed * np.cos(heading),
            speed * np.sin(heading),
            turning,
            (action[..., 0] - speed) / 0.4,
            (action[..., 1] - turning) / 0.2,
        ],
        axis=-1,
    )


@dataclass(frozen=True)
class LineCamera:
    """A driven pendulum before a camera of one row of pixels, which sees a soft dark spot."""

    pixels: int = 200
    period: float = 0.05
    action_names: tuple[str, ...] = ("torque",)

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Return a name for every pixel."""
        return tuple(f"pixel[{i}]" for i in range(self.pixels))

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return those of the pendulum."""
        return Joints().action_limits

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return one of the pendulum."""
        return Joints().initial_state(generator)

    def step(self, state: Array, action: Array) -> Array:
        """Return the pendulum's state (..., 2) one tick later."""
        return Joints(period=self.period).step(state, action)

    def observe(self, state: Array) -> Array:
        """Return the brightness (..., pixels)."""
        places = np.linspace(-2.5, 2.5, self.pixels)
        spot: Array = np.exp(-0.5 * ((places - state[..., :1]) / 0.4) ** 2)
        return spot


def _steps(period: float) -> int:
    return max(1, int(np.ceil(period / _STEP)))
