"""An SDF world as a simulated robot, on the topics that ros_gz_bridge would offer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.shared.message_classes import make
from rffpsr_ros.nodes.shared.package_files import package_folder
from rffpsr_ros.nodes.simulator.topics import (
    JOINT_STATES,
    CommandTopic,
    ObservationTopic,
    SimulatedRobot,
)
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.signals.yaml_text import LONGEST, load_yaml
from rffpsr_ros.simulation.arm_camera import SIZE, render
from rffpsr_ros.simulation.sdf_world import SdfWorld

FLOAT, IMAGE = "std_msgs/msg/Float64", "sensor_msgs/msg/Image"
CAMERA_RATE = 20.0
CAMERA_WORLD = "arm_camera"

_FORCE = re.compile(r"/model/\w+/joint/(\w+)/cmd_force\Z")


def world_file(given: str) -> Path:
    """Return a world file: a path, or the name of one that this package brings, such as arm.

    Raises
    ------
    InputError
        If there is no such file.
    """
    path = Path(given).expanduser()
    if path.is_file():
        return path
    worlds = {one.stem: one for one in package_folder("worlds").glob("*.sdf")}
    if path.stem in worlds and path.name in (path.stem, f"{path.stem}.sdf"):
        return worlds[path.stem]
    raise InputError(
        f"there is no world '{given}'; give a path, or one of {', '.join(sorted(worlds))}"
    )


def bridge_file(world: Path) -> Path:
    """Return the bridge's configuration of a world: beside it, or among this package's.

    Raises
    ------
    InputError
        If there is none.
    """
    name = f"gazebo_bridge_{world.stem}.yaml"
    for folder in (world.parent, package_folder("config")):
        if (folder / name).is_file():
            return folder / name
    raise InputError(f"world '{world}' has no {name} beside it, which names its topics")


def simulated_world(given: str, rate: float = 0.0) -> SimulatedRobot:
    """Return the robot of a world, on the ROS topics of its bridge configuration.

    It is shown, and takes commands, ``rate`` times per second; 0: at every step of physics.

    Raises
    ------
    InputError
        If the world, its bridge configuration, or Drake is missing, or one does not fit another;
        or if the rate does not give ticks of whole milliseconds.
    """
    path = world_file(given)
    bridge = bridge_file(path)
    system = SdfWorld(path, _period(rate)) if rate else SdfWorld(path)
    observations, commands = [], {}
    for entry in read_bridge(bridge):
        topic, kind = entry["ros_topic_name"], entry["ros_type_name"]
        if kind == JOINT_STATES:
            observations.append(_joint_states(topic, system.action_names))
        elif kind == IMAGE and path.stem == CAMERA_WORLD:
            observations.append(ObservationTopic(topic, IMAGE, _image, CAMERA_RATE))
        elif match := _FORCE.match(entry["gz_topic_name"]):
            commands[match[1]] = topic
    missing = [joint for joint in system.action_names if joint not in commands]
    if missing or not observations:
        raise InputError(
            f"{bridge} has no entry for"
            f" {'the torque of ' + ', '.join(missing) if missing else 'the joint states'}"
        )
    return SimulatedRobot(
        system,
        tuple(observations),
        tuple(
            CommandTopic(commands[joint], FLOAT, slice(i, i + 1), lambda message: [message.data])
            for i, joint in enumerate(system.action_names)
        ),
    )


def whole_milliseconds(rate: float) -> bool:
    """Tell whether a world can be simulated at so many ticks per second."""
    return rate > 0 and abs(1000.0 / rate - round(1000.0 / rate)) < 1e-6


def _period(rate: float) -> float:
    if not whole_milliseconds(rate):
        raise InputError(
            f"rate is {rate:g} Hz; the ticks of a world are whole milliseconds, as at 20 or 250 Hz"
        )
    return round(1000.0 / rate) / 1000.0


def read_bridge(path: Path) -> Sequence[Mapping[str, str]]:
    """Return the entries of a configuration of ros_gz_bridge.

    Raises
    ------
    InputError
        If it is no list of entries that name topics and types on both sides.
    """
    keys = ("ros_topic_name", "gz_topic_name", "ros_type_name", "gz_type_name", "direction")
    try:
        with path.open("rb") as file:
            entries = load_yaml(file.read(4 * LONGEST + 4).decode())
    except InputError as problem:
        raise InputError(f"{path} {problem}") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as problem:
        raise InputError(f"{path} cannot be read: {' '.join(str(problem).split())}") from None
    if not isinstance(entries, list) or not all(
        isinstance(entry, Mapping) and all(isinstance(entry.get(key), str) for key in keys)
        for entry in entries
    ):
        raise InputError(f"{path} must be a list of entries with {', '.join(keys)}")
    return entries


def _joint_states(topic: str, joints: tuple[str, ...]) -> ObservationTopic:
    def message(header: Any, row: Array) -> Any:
        count = len(joints)
        return make(
            JOINT_STATES,
            header=header,
            name=list(joints),
            position=row[:count],
            velocity=row[count:],
            effort=[0.0] * count,  # as Gazebo reports it
        )

    return ObservationTopic(topic, JOINT_STATES, message)


def _image(header: Any, row: Array) -> Any:
    header.frame_id = "camera"
    picture = render(row)
    return make(
        IMAGE,
        header=header,
        height=SIZE,
        width=SIZE,
        encoding="rgb8",
        is_bigendian=0,
        step=3 * SIZE,
        data=picture.tobytes(),
    )
