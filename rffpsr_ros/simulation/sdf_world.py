"""The robot of an SDF world, simulated by Drake (extra ``sdf``) instead of Gazebo.

Drake reads the same file: links, joints with damping and limits, torque limits. It leaves out what
has no bearing on the motion here (plugins, lights, sensors) and, of joints, ``<friction>``.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.numerics.arrays import Array

STEP = 0.001
"""Seconds of an integration step; joint limits are held to about 1e-6 rad."""


class SdfWorld:
    """The moving joints of a world as a system: torques in, positions and velocities out.

    The state is (positions, velocities), one each per joint that moves; it is that of the file to
    begin with, at rest.

    Parameters
    ----------
    path
        The SDF file.
    period
        Seconds per tick; a multiple of 1 ms. Worlds step 4 ms.

    Raises
    ------
    InputError
        If Drake is not installed, or cannot make a robot with torque-driven joints of the file.
    """

    def __init__(self, path: str | Path, period: float = 0.004) -> None:
        self.period = period
        self._plant = load_plant(path, STEP)
        self._context = self._plant.CreateDefaultContext()
        self._next = self._plant.AllocateDiscreteVariables()
        self._torques = self._plant.get_actuation_input_port()
        actuators = [
            self._plant.get_joint_actuator(index) for index in self._plant.GetJointActuatorIndices()
        ]
        if not actuators or len(actuators) != self._plant.num_positions():
            raise InputError(
                f"world '{path}' has {len(actuators)} torque-driven joints of"
                f" {self._plant.num_positions()} that move; every joint needs an <effort> limit"
                " above 0"
            )
        self.action_names = tuple(actuator.joint().name() for actuator in actuators)
        self.observation_names = tuple(
            f"{quantity}.{name}"
            for quantity in ("position", "velocity")
            for name in self.action_names
        )
        self._effort = np.array([actuator.effort_limit() for actuator in actuators])

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return the torque limits of the file."""
        return -self._effort, self._effort

    def initial_state(self, generator: np.random.Generator) -> Array:
        """Return the pose of the file, at rest."""
        context = self._plant.CreateDefaultContext()
        return np.array(self._plant.GetPositionsAndVelocities(context))

    def step(self, state: Array, action: Array) -> Array:
        """Return the states (..., 2 joints) one tick later under torques (..., joints)."""
        if state.ndim == 1:
            return self._step(state, action)
        acted = np.broadcast_to(action, (*state.shape[:-1], len(self.action_names)))
        places = np.ndindex(state.shape[:-1])
        rows = [self._step(state[place], acted[place]) for place in places]
        return np.stack(rows).reshape(state.shape)

    def observe(self, state: Array) -> Array:
        """Return positions and velocities, (..., 2 joints)."""
        return state

    def _step(self, state: Array, action: Array) -> Array:
        plant, context = self._plant, self._context
        plant.SetPositionsAndVelocities(context, state)
        self._torques.FixValue(context, action)
        for _ in range(round(self.period / STEP)):
            plant.CalcForcedDiscreteVariableUpdate(context, self._next)
            context.SetDiscreteState(self._next)
        return np.array(plant.GetPositionsAndVelocities(context))


def load_plant(path: str | Path, step: float) -> Any:
    """Return Drake's ``MultibodyPlant`` of a world; ``step`` 0 makes it continuous.

    Raises
    ------
    InputError
        If Drake is not installed, or cannot read the file.
    """
    try:
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant
    except ImportError as fault:
        raise InputError(
            "simulating an SDF world without Gazebo needs Drake, which is not installed:"
            " pip install drake"
        ) from fault
    # It warns of every plugin and light, which it leaves out as it should.
    logging.getLogger("drake").setLevel(logging.ERROR)
    plant = MultibodyPlant(step)
    if hasattr(plant, "SetUseSampledOutputPorts"):
        plant.SetUseSampledOutputPorts(False)
    try:
        Parser(plant).AddModels(Path(path))
    except RuntimeError as fault:
        raise InputError(f"world '{path}' cannot be read: {_first_line(fault)}") from None
    plant.Finalize()
    return plant


def _first_line(fault: Exception) -> str:
    return str(fault).strip().splitlines()[0]
