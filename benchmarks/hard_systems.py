"""Simulated robots that are hard to learn: contact, dead time, heat, friction, play, feedback.

Each is a `rffpsr_ros.simulation.system.System`: pure functions on arrays of states. Motion is
integrated by small semi-implicit Euler steps, which take impacts and dry friction as they come.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.system import Policy

_STEPS = 20
"""Integration steps per tick."""

_SLIDING = 0.02
"""Speed (rad/s) at which dry friction has nearly reached its full size."""


@dataclass(frozen=True)
class WalledPendulum:
    """A driven pendulum that bounces off a wall. State (angle, speed); the angle is observed."""

    wall: float = 0.9
    restitution: float = 0.7
    period: float = 0.05
    observation_names: tuple[str, ...] = ("angle",)
    action_names: tuple[str, ...] = ("torque",)

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return the range of torques."""
        return np.array([-6.0]), np.array([6.0])

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return a pendulum near its rest."""
        return np.array([generator.uniform(-0.3, 0.3), 0.0])

    def step(self, state: Array, action: Array) -> Array:
        """Return the state (..., 2) one tick later."""
        angle, speed = state[..., 0], state[..., 1]
        h = self.period / _STEPS
        for _ in range(_STEPS):
            speed = speed + h * (action[..., 0] - 9.81 * np.sin(angle) - 0.3 * speed)
            angle = angle + h * speed
            hit = (angle > self.wall) & (speed > 0)
            speed = np.where(hit, -self.restitution * speed, speed)
            angle = np.where(hit, 2 * self.wall - angle, angle)
        return np.stack([angle, speed], axis=-1)

    def observe(self, state: Array) -> Array:
        """Return the angle (..., 1)."""
        return state[..., :1]


@dataclass(frozen=True)
class Rover:
    """A rover on a plane, the same everywhere. State (x, y, heading, speed, yaw rate).

    Its wheels slip the more, the harder they drive. Observed are x and y, and cosine and sine of
    the heading, as odometry tells them. ``home`` is where it starts.
    """

    home: tuple[float, float] = (0.0, 0.0)
    period: float = 0.1
    observation_names: tuple[str, ...] = ("x", "y", "cos", "sin")
    action_names: tuple[str, ...] = ("drive", "steer")

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return the range of commands."""
        return np.array([-1.0, -1.0]), np.array([2.0, 1.0])

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return a rover at rest near its home, looking anywhere."""
        place = np.array(self.home) + generator.uniform(-0.5, 0.5, 2)
        return np.array([*place, generator.uniform(-np.pi, np.pi), 0.0, 0.0])

    def step(self, state: Array, action: Array) -> Array:
        """Return the state (..., 5) one tick later."""
        x, y, heading, speed, rate = np.moveaxis(state, -1, 0)
        h = self.period / _STEPS
        for _ in range(_STEPS):
            force = 3 * np.tanh(action[..., 0]) - speed - 0.4 * speed * abs(speed)
            speed = speed + h * force
            rate = rate + h * (1.5 * action[..., 1] * np.tanh(2 * speed) - rate) / 0.3
            heading = heading + h * rate
            x = x + h * speed * np.cos(heading)
            y = y + h * speed * np.sin(heading)
        return np.stack([x, y, heading, speed, rate], axis=-1)

    def observe(self, state: Array) -> Array:
        """Return place and direction (..., 4)."""
        heading = state[..., 2:3]
        return np.concatenate([state[..., :2], np.cos(heading), np.sin(heading)], axis=-1)


@dataclass(frozen=True)
class HeatingMotor:
    """A motor whose voltage acts ticks later, with dry friction and a winding that heats up.

    The state is (speed, excess temperature, voltages on their way); the speed is observed. A hot
    winding has more resistance, so the same voltage gives less torque for minutes.
    """

    delay: int = 3
    period: float = 0.05
    observation_names: tuple[str, ...] = ("speed",)
    action_names: tuple[str, ...] = ("voltage",)

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return the range of voltages."""
        return np.array([-10.0]), np.array([10.0])

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return a cold motor at rest, with nothing on its way."""
        return np.zeros(2 + self.delay)

    def step(self, state: Array, action: Array) -> Array:
        """Return the state (..., 2 + delay) one tick later."""
        speed, heat, waiting = state[..., 0], state[..., 1], state[..., 2:]
        voltage, h = waiting[..., 0], self.period / _STEPS
        for _ in range(_STEPS):
            current = (voltage - 0.5 * speed) / (1 + heat)
            speed = speed + h * (2.0 * current - 0.4 * speed - 2.0 * np.tanh(speed / 0.2))
            heat = heat + h * (0.01 * current**2 - 0.1 * heat)
        later = np.concatenate([waiting[..., 1:], action], axis=-1)
        return np.concatenate([np.stack([speed, heat], axis=-1), later], axis=-1)

    def observe(self, state: Array) -> Array:
        """Return the speed (..., 1)."""
        return state[..., :1]


@dataclass(frozen=True)
class WornArm:
    """Joints in a row with dry friction, and play between each joint and its encoder.

    The state is (angles, speeds, encoders). An encoder stays where it is until its joint has moved
    through the play; only encoders are observed.
    """

    joints: int = 2
    play: float = 0.03
    period: float = 0.05

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Return a name for every encoder."""
        return tuple(f"encoder[{i}]" for i in range(self.joints))

    @property
    def action_names(self) -> tuple[str, ...]:
        """Return a name for every motor."""
        return tuple(f"torque[{i}]" for i in range(self.joints))

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return the range of torques, smaller towards the tip."""
        most = 4.0 / (1 + np.arange(self.joints))
        return -most, most

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return an arm at rest near its lowest position."""
        angles = generator.uniform(-0.3, 0.3, self.joints)
        return np.concatenate([angles, np.zeros(self.joints), angles])

    def step(self, state: Array, action: Array) -> Array:
        """Return the state (..., 3 joints) one tick later."""
        angles, speeds, encoders = np.split(state, 3, axis=-1)
        inertia = 0.5 / (1 + np.arange(self.joints))
        h = self.period / _STEPS
        for _ in range(_STEPS):
            apart = np.diff(angles, axis=-1)
            spring = 4.0 * np.sin(apart) + 0.2 * np.diff(speeds, axis=-1)
            shared = np.zeros_like(angles)
            shared[..., :-1] += spring
            shared[..., 1:] -= spring
            dry = 0.5 * inertia * np.tanh(speeds / _SLIDING)
            torque = action + shared - 10.0 * inertia * np.sin(angles) - inertia * speeds - dry
            speeds = speeds + h * torque / inertia
            angles = angles + h * speeds
            encoders = np.clip(encoders, angles - self.play, angles + self.play)
        return np.concatenate([angles, speeds, encoders], axis=-1)

    def observe(self, state: Array) -> Array:
        """Return what the encoders show (..., joints)."""
        return state[..., 2 * self.joints :]


@dataclass(frozen=True)
class Levitation:
    """A magnet above a coil: unstable by itself, so it is only ever recorded in closed loop.

    The state is (gap, speed, current); the gap is observed, the action is the coil's voltage.
    """

    period: float = 0.01
    observation_names: tuple[str, ...] = ("gap",)
    action_names: tuple[str, ...] = ("voltage",)

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return the range of voltages."""
        return np.array([0.0]), np.array([6.0])

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return the magnet at rest near the middle of its range."""
        return np.array([1 + generator.uniform(-0.05, 0.05), 0.0, 1.0])

    def step(self, state: Array, action: Array) -> Array:
        """Return the state (..., 3) one tick later."""
        gap, speed, current = state[..., 0], state[..., 1], state[..., 2]
        h = self.period / _STEPS
        for _ in range(_STEPS):
            current = current + h * (action[..., 0] - current) / 0.01
            speed = speed + h * (30.0 * (1 - (current / gap) ** 2) - 1.0 * speed)
            gap = np.clip(gap + h * speed, 0.3, 2.0)
            speed = np.where((gap <= 0.3) | (gap >= 2.0), 0.0, speed)
        return np.stack([gap, speed, current], axis=-1)

    def observe(self, state: Array) -> Array:
        """Return the gap (..., 1)."""
        return state[..., :1]


def levitating(
    generator: np.random.Generator, period: float, reference: Callable[[float], float]
) -> Policy:
    """Return a controller that holds the magnet at a moving reference, with a little dither."""
    before: list[float] = []

    def act(time: float, observation: Array) -> Array:
        gap = float(observation[0])
        speed = (gap - before[-1]) / period if before else 0.0
        before[:] = [gap]
        wanted = reference(time)
        voltage = wanted + 6.0 * (gap - wanted) + 0.35 * speed + 0.05 * generator.standard_normal()
        return np.asarray(np.clip(np.array([voltage]), 0.0, 6.0))

    return act


@dataclass(frozen=True)
class StiffeningBeam:
    """A lightly damped mass on a stiffening spring; state (position, speed), position observed."""

    swing: float = 1.0
    period: float = 0.05
    observation_names: tuple[str, ...] = ("position",)
    action_names: tuple[str, ...] = ("force",)

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return the range of forces."""
        return np.array([-2.0]), np.array([2.0])

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return the mass let go at about its swing."""
        return np.array([self.swing * generator.uniform(0.8, 1.2), 0.0])

    def step(self, state: Array, action: Array) -> Array:
        """Return the state (..., 2) one tick later."""
        position, speed = state[..., 0], state[..., 1]
        h = self.period / _STEPS
        for _ in range(_STEPS):
            force = action[..., 0] - 16.0 * position - 8.0 * position**3 - 0.15 * speed
            speed = speed + h * force
            position = position + h * speed
        return np.stack([position, speed], axis=-1)

    def observe(self, state: Array) -> Array:
        """Return the position (..., 1)."""
        return state[..., :1]


@dataclass(frozen=True)
class HeatedStream:
    """A slow process: a valve that saturates heats a stream, whose sensor sits down the pipe.

    The state is (temperature of the body, of the outlet, and what is on its way); the action is the
    valve's command.
    """

    delay: int = 2
    period: float = 1.0
    observation_names: tuple[str, ...] = ("temperature",)
    action_names: tuple[str, ...] = ("valve",)

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return the range of commands."""
        return np.array([-1.0]), np.array([1.0])

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return the process at rest."""
        return np.zeros(2 + self.delay)

    def step(self, state: Array, action: Array) -> Array:
        """Return the state (..., 2 + delay) one tick later."""
        body, outlet, waiting = state[..., 0], state[..., 1], state[..., 2:]
        heating = np.tanh(1.5 * action[..., 0] + 0.3)
        body = body + 0.15 * (heating - body)
        outlet = outlet + 0.3 * (body + 0.15 * body**2 - outlet)
        later = np.concatenate([waiting[..., 1:], outlet[..., None]], axis=-1)
        return np.concatenate([np.stack([body, outlet], axis=-1), later], axis=-1)

    def observe(self, state: Array) -> Array:
        """Return the temperature at the sensor (..., 1)."""
        return state[..., 2:3]
