"""The true equations of the simulated robots, as a model that a controller can plan with.

Those of pendulum and arm are derived by hand from what their SDF files say, but for joint limits; a
test holds them to Drake. The swimmer's are its simulation's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from benchmarks.control.courses import World
from rffpsr_ros.models.contract import PredictiveModel, TrainingRecord
from rffpsr_ros.models.input_gate import TrainedRange
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.swimmer import Swimmer
from rffpsr_ros.simulation.system import runge_kutta

GRAVITY = 9.81
STEPS = 5
"""Runge-Kutta steps of a tick."""
STEP = 1e-4
"""Of finite differences, in the units of actions."""


def pendulum(state: Array, action: Array) -> Array:
    """Return the time derivative (..., 2) of angle and speed under a torque (..., 1)."""
    angle, speed = state[..., 0], state[..., 1]
    torque = action[..., 0] - 0.1 * speed - 0.3 * GRAVITY * np.sin(angle)
    return np.stack([speed, torque / (0.0301 + 0.3**2)], axis=-1)


def arm(state: Array, action: Array) -> Array:
    """Return the time derivative (..., 4) of angles and speeds under torques (..., 2)."""
    upper, elbow, first, second = np.moveaxis(state, -1, 0)
    link, half, rest = 0.5, 0.25, 0.2
    mass, fore = 1.0, 0.6
    cross = fore * link * rest
    m22 = 0.00806 + fore * rest**2
    m12 = m22 + cross * np.cos(elbow)
    m11 = 0.02099 + mass * half**2 + fore * link**2 + m22 + 2 * cross * np.cos(elbow)
    turn = cross * np.sin(elbow)
    hanging = fore * rest * GRAVITY * np.sin(upper + elbow)
    pull = (mass * half + fore * link) * GRAVITY * np.sin(upper) + hanging
    one = action[..., 0] - 0.3 * first - pull + turn * (2 * first * second + second**2)
    two = action[..., 1] - 0.1 * second - hanging - turn * first**2
    size = m11 * m22 - m12**2
    return np.stack(
        [first, second, (m22 * one - m12 * two) / size, (m11 * two - m12 * one) / size], axis=-1
    )


EQUATIONS: dict[str, Callable[[Array, Array], Array]] = {
    "pendulum": pendulum,
    "arm": arm,
    "swimmer": Swimmer().derivative,
}


class EquationParts(NamedTuple):
    """Time derivative, the state at rest, what is seen, and the range that costs are scaled by.

    ``observe`` is None where the whole state is seen.
    """

    derivative: Any
    rest: Any
    observe: Any
    known: Any


class MotionState(NamedTuple):
    """The state (..., d_x) of the equations."""

    motion: Array


class TrueEquations(PredictiveModel[MotionState]):
    """Forecasts by the true equations, from the true state: the one seen, or the one computed."""

    kind = "true_equations"
    parts_class = EquationParts

    @classmethod
    def of(cls, world: World, like: PredictiveModel[Any]) -> TrueEquations:
        """Return the model of a world with the columns, ranges and scales of a learned one."""
        observe = Swimmer().observe if world.swims else None
        parts = EquationParts(
            EQUATIONS[world.name], np.array(world.rest), observe, like.trained_range
        )
        return cls(like.signature, TrainingRecord(), parts)

    @property
    def trained_range(self) -> TrainedRange:
        """Return the range of the other model."""
        known: TrainedRange = self.parts.known
        return known

    def initial_state(self) -> MotionState:
        """Return the state at rest."""
        return MotionState(self.parts.rest)

    def advance(self, state: MotionState, action: Array, observation: Array) -> MotionState:
        """Return what was seen; where nothing was, or not everything is, what follows."""
        expected = self._step(state.motion, action)
        if self.parts.observe is not None:
            return MotionState(expected)
        return MotionState(np.where(np.isfinite(observation), observation, expected))

    def forecast(self, state: MotionState, actions: Array) -> Array:
        """Return the forecast (..., H, d_o)."""
        motion = np.broadcast_to(state.motion, (*actions.shape[:-2], len(state.motion)))
        rows = []
        for tick in range(actions.shape[-2]):
            motion = self._step(motion, actions[..., tick, :])
            rows.append(motion)
        motions = np.stack(rows, axis=-2)
        return motions if self.parts.observe is None else np.asarray(self.parts.observe(motions))

    def jacobian(self, state: MotionState, actions: Array) -> Array:
        """Return central differences (H, d_o, H, d_a)."""
        moves = STEP * np.eye(actions.size).reshape(-1, *actions.shape)
        both = self.forecast(state, np.concatenate([actions + moves, actions - moves]))
        slopes = (both[: actions.size] - both[actions.size :]) / (2 * STEP)
        return np.asarray(np.moveaxis(slopes, 0, -1).reshape(*slopes.shape[1:], *actions.shape))

    def _step(self, motion: Array, action: Array) -> Array:
        return runge_kutta(self.parts.derivative, motion, action, self.signature.period, STEPS)
