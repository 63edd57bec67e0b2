"""The topics of simulated robots: what is seen as messages, commands as vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.nodes.shared.message_classes import make
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.swimmer import Swimmer
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import System

JOINT_STATES = "sensor_msgs/msg/JointState"
COMMANDS = "std_msgs/msg/Float64MultiArray"


class ObservationTopic(NamedTuple):
    """A topic with what is seen; ``message`` makes one of a header and a row (d_o,).

    ``rate`` is in Hz; None: at every tick of the system.
    """

    topic: str
    type: str
    message: Callable[[Any, Array], Any]
    rate: float | None = None

    def due(self, tick: int, period: float) -> bool:
        """Tell whether there is a message at the end of a tick."""
        if self.rate is None:
            return True
        messages = period * self.rate  # a tick; whole numbers must not be missed by rounding
        return int(tick * messages + 1e-6) > int((tick - 1) * messages + 1e-6)


class CommandTopic(NamedTuple):
    """A topic with commands; ``values`` gives what one holds for the actions in ``columns``."""

    topic: str
    type: str
    columns: slice
    values: Callable[[Any], Any]


class SimulatedRobot(NamedTuple):
    """A system with the topics of a robot."""

    system: System
    observations: tuple[ObservationTopic, ...]
    commands: tuple[CommandTopic, ...]


def synthetic() -> SimulatedRobot:
    """Return the paper's synthetic system as a robot with one joint."""
    system = SyntheticSystem()
    return SimulatedRobot(
        system, (_joint_states(system.observation_names),), (_all_commands(system),)
    )


def swimmer() -> SimulatedRobot:
    """Return the swimmer: its joints, and the goal seen from its nose as a point."""
    system = Swimmer()
    point = ObservationTopic("goal", "geometry_msgs/msg/PointStamped", _goal)
    return SimulatedRobot(
        system, (_joint_states(system.observation_names[:2]), point), (_all_commands(system),)
    )


ROBOTS: dict[str, Callable[[], SimulatedRobot]] = {"synthetic": synthetic, "swimmer": swimmer}
"""The robots of this package's own equations, by the value of the parameter ``system``."""


def _joint_states(names: tuple[str, ...]) -> ObservationTopic:
    """Return a topic with the first observations as positions of joints."""

    def message(header: Any, row: Array) -> Any:
        return make(JOINT_STATES, header=header, name=list(names), position=row[: len(names)])

    return ObservationTopic("joint_states", JOINT_STATES, message)


def _goal(header: Any, row: Array) -> Any:
    header.frame_id = "nose"
    point = make("geometry_msgs/msg/Point", x=float(row[2]), y=float(row[3]), z=0.0)
    return make("geometry_msgs/msg/PointStamped", header=header, point=point)


def _all_commands(system: System) -> CommandTopic:
    """Return a topic with all actions in one array, as ros2_control's effort controllers take."""
    columns = slice(0, len(system.action_names))
    return CommandTopic("joint_commands", COMMANDS, columns, lambda message: np.array(message.data))
