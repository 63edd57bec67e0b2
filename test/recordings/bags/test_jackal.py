"""A real recording, as it is and rewritten in the formats of ROS 2."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.highlevel import AnyReader
from rosbags.typesys import Stores, get_typestore

from rffpsr_ros.recordings import BagWriter, Trajectory, read_bags, split
from rffpsr_ros.signals import load_channels


@pytest.fixture(scope="module")
def bag(shared: Path) -> Path:
    return shared / "data" / "jackal" / "jackal.bag"


@pytest.fixture(scope="module")
def trajectory(bag: Path, checkout: Path) -> Trajectory:
    (found,) = read_bags(bag, load_channels(checkout / "config" / "jackal.yaml"))
    return found


def recorded(bag: Path, topic: str, *fields: str) -> tuple[np.ndarray[Any, Any], ...]:
    """Return stamps (ns) and values of a topic, read by other means."""
    stamps, values = [], []
    with AnyReader([bag]) as reader:
        chosen = [c for c in reader.connections if c.topic == topic]
        for connection, _, raw in reader.messages(chosen):
            message: Any = reader.deserialize(raw, connection.msgtype)
            stamp = message.header.stamp
            stamps.append(stamp.sec * 10**9 + stamp.nanosec)
            row = []
            for field in fields:
                value = message
                for name in field.split("."):
                    value = getattr(value, name)
                row.append(value)
            values.append(row)
    return np.array(stamps), np.array(values)


def test_every_imu_sample_is_a_tick_with_the_twist_before_it(
    bag: Path, trajectory: Trajectory
) -> None:
    imu_stamps, imu = recorded(
        bag,
        "/imu/data",
        *("angular_velocity.z", "linear_acceleration.x", "linear_acceleration.y"),
    )
    odometry_stamps, twist = recorded(
        bag,
        "/jackal_velocity_controller/odom",
        *("twist.twist.linear.x", "twist.twist.angular.z"),
    )
    # The first sample starts the grid once there is a twist, so it is no observation.
    first = int(np.searchsorted(imu_stamps, odometry_stamps[0])) + 1
    np.testing.assert_array_equal(trajectory.observations, imu[first:])
    before = np.searchsorted(odometry_stamps, imu_stamps[first - 1 : -1], side="right") - 1
    np.testing.assert_array_equal(trajectory.actions, twist[before])
    assert trajectory.period == 0.02
    assert trajectory.action_names[0] == "wheels.twist.twist.linear.x"


def test_the_split_is_in_time(trajectory: Trajectory) -> None:
    parts = split([trajectory], (0.7, 0.1, 0.2))
    assert [sum(map(len, part)) for part in parts] == [2141, 306, 612]


@pytest.mark.parametrize("storage", ["mcap", "sqlite3"])
def test_rewritten_for_ros2_it_gives_the_same_trajectory(
    tmp_path: Path, bag: Path, checkout: Path, trajectory: Trajectory, storage: str
) -> None:
    store = get_typestore(Stores.ROS2_JAZZY)
    path = tmp_path / "jackal"
    with (
        AnyReader([bag]) as reader,
        BagWriter(path, storage, typestore=store) as writer,  # type: ignore[arg-type]
    ):
        for connection in reader.connections:
            writer.add_topic(connection.topic, connection.msgtype)
        for connection, time, raw in reader.messages():
            message: Any = reader.deserialize(raw, connection.msgtype)
            writer.write(connection.topic, time, message)
    (again,) = read_bags(path, load_channels(checkout / "config" / "jackal.yaml"))
    np.testing.assert_array_equal(again.observations, trajectory.observations)
    np.testing.assert_array_equal(again.actions, trajectory.actions)
    assert again.observation_names == trajectory.observation_names
