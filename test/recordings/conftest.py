"""A recording written in every format that bags come in."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from rosbags import rosbag1, rosbag2
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.typesys import Stores, get_typestore

ROS1 = get_typestore(Stores.ROS1_NOETIC)
ROS2 = get_typestore(Stores.ROS2_JAZZY)
MS = 1_000_000

JOINTS = "sensor_msgs/msg/JointState"
COMMANDS = "std_msgs/msg/Float64MultiArray"


class Recorded(NamedTuple):
    """A message as it is recorded: ``make`` builds it in the classes of a typestore."""

    topic: str
    type: str
    time_ns: int
    make: Callable[[Any], Any]


def joint_state(stamp_ns: int, **positions: float) -> Callable[[Any], Any]:
    """Return a maker of JointStates with a header."""

    def make(store: Any) -> Any:
        types = store.types
        seconds, nanoseconds = divmod(stamp_ns, 1_000_000_000)
        stamp = types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=nanoseconds)
        sequence = {"seq": 0} if store is ROS1 else {}
        header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="", **sequence)
        return types[JOINTS](
            header=header,
            name=list(positions),
            position=np.array(list(positions.values())),
            velocity=np.empty(0),
            effort=np.empty(0),
        )

    return make


def command(*values: float) -> Callable[[Any], Any]:
    """Return a maker of commands without a header."""

    def make(store: Any) -> Any:
        types = store.types
        layout = types["std_msgs/msg/MultiArrayLayout"](dim=[], data_offset=0)
        return types[COMMANDS](layout=layout, data=np.array(values, dtype=np.float64))

    return make


def arm_recording(
    start_ns: int = 1_000_000_000, ticks: int = 40, padding: int = 0
) -> list[Recorded]:
    """Return joint states and commands at 20 Hz; commands come 10 ms before the joint states.

    Joint states are logged 3 ms after their stamp. Sample i has elbow = i and wrist = -i, command
    i is i / 10. ``padding`` makes commands longer, so that files have many parts.
    """
    random = np.random.default_rng(0)
    messages = []
    for i in range(ticks + 1):
        stamp = start_ns + 50 * MS * i
        noise = random.uniform(size=padding)
        messages.append(Recorded("/command", COMMANDS, stamp - 10 * MS, command(i / 10, *noise)))
        make = joint_state(stamp, wrist=-float(i), elbow=float(i))
        messages.append(Recorded("/joints", JOINTS, stamp + 3 * MS, make))
    return messages


def write_ros1(path: Path, messages: list[Recorded], compression: str = "none") -> Path:
    """Write a ROS 1 bag."""
    writer = rosbag1.Writer(path)
    if compression != "none":
        writer.set_compression(rosbag1.Writer.CompressionFormat[compression.upper()])
    connections: dict[str, Any] = {}
    with writer:
        for message in messages:
            if message.topic not in connections:
                connections[message.topic] = writer.add_connection(
                    message.topic, message.type, typestore=ROS1
                )
            raw = ROS1.serialize_ros1(message.make(ROS1), message.type)
            writer.write(connections[message.topic], message.time_ns, raw)
    return path


def write_ros2(
    path: Path, messages: list[Recorded], storage: str = "mcap", compression: str = "none"
) -> Path:
    """Write a rosbag2 folder."""
    writer = rosbag2.Writer(path, version=9, storage_plugin=StoragePlugin[storage.upper()])
    writer.set_compression(CompressionMode[compression.upper()], CompressionFormat.ZSTD)
    connections: dict[str, Any] = {}
    with writer:
        for message in messages:
            if message.topic not in connections:
                connections[message.topic] = writer.add_connection(
                    message.topic, message.type, typestore=ROS2
                )
            raw = ROS2.serialize_cdr(message.make(ROS2), message.type)
            writer.write(connections[message.topic], message.time_ns, raw)
    return path


class Bags(NamedTuple):
    """Tools of the tests: how to make messages and to write them."""

    recording: Callable[..., list[Recorded]] = arm_recording
    ros1: Callable[..., Path] = write_ros1
    ros2: Callable[..., Path] = write_ros2
    recorded: type[Recorded] = Recorded
    joint_state: Callable[..., Callable[[Any], Any]] = joint_state
    command: Callable[..., Callable[[Any], Any]] = command


@pytest.fixture
def bags() -> Bags:
    """Return the tools to write bags."""
    return Bags()


@pytest.fixture
def arm() -> dict[str, Any]:
    """Return a channel configuration (as a mapping) for the recording of an arm."""
    return {
        "rate": 20.0,
        "observation": {
            "inputs": ["arm"],
            "arm": {
                "topic": "/joints",
                "type": JOINTS,
                "fields": ["position.elbow", "position.wrist"],
            },
        },
        "action": {
            "inputs": ["motor"],
            "motor": {"topic": "/command", "type": COMMANDS, "fields": ["data[0]"]},
        },
    }
