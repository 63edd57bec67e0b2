"""Message classes of the running ROS, and their definitions as bags hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.bags.message_layout import LazyMessage

TYPES = (
    "sensor_msgs/msg/JointState",
    "sensor_msgs/msg/Imu",
    "nav_msgs/msg/Odometry",
    "trajectory_msgs/msg/JointTrajectory",
    "std_msgs/msg/Float64MultiArray",
    "geometry_msgs/msg/TwistStamped",
    "diagnostic_msgs/msg/DiagnosticArray",
    "sensor_msgs/msg/Image",
)


@pytest.mark.parametrize("name", TYPES)
def test_definitions_have_the_hashes_of_the_distribution(ros_environment: None, name: str) -> None:
    from rffpsr_ros.nodes.shared.message_classes import typestore_of

    ours, theirs = typestore_of([name]), get_typestore(Stores.ROS2_JAZZY)
    assert ours.hash_rihs01(name) == theirs.hash_rihs01(name)


def test_made_messages_hold_what_numpy_arrays_held(ros_environment: None) -> None:
    from rffpsr_ros.nodes.shared.message_classes import make

    message: Any = make("sensor_msgs/msg/JointState", name=["a"], position=np.array([1.5]))
    assert list(message.position) == [1.5]


def test_an_unknown_type_is_one_sentence(ros_environment: None) -> None:
    from rffpsr_ros.nodes.shared.message_classes import message_class

    with pytest.raises(InputError, match=r"'my_msgs/msg/Thing' is not installed .* my_msgs"):
        message_class("my_msgs/msg/Thing")
    with pytest.raises(InputError, match="not installed"):
        message_class("sensor_msgs/msg/JoinState")


def test_where_the_header_stands(ros_environment: None) -> None:
    from rffpsr_ros.nodes.shared.message_classes import has_header_first

    assert has_header_first("sensor_msgs/msg/JointState")
    assert has_header_first("std_msgs/msg/Float64") is None


@pytest.mark.parametrize("direct", [True, False])
def test_fields_read_off_bytes_are_those_of_ros(ros_environment: None, direct: bool) -> None:
    from rclpy.serialization import serialize_message

    from rffpsr_ros.nodes.shared.message_classes import decoder, message_class

    name = "sensor_msgs/msg/JointState"
    decode, kind = decoder(name, direct), message_class(name)
    for number in range(3):
        message = kind(name=["left elbow", "wrist"], position=[0.5, float(number)], effort=[-1.0])
        message.header.stamp.sec = number
        message.header.frame_id = "base"
        decoded = decode(serialize_message(message))
        assert list(decoded.name) == message.name
        assert list(decoded.position) == list(message.position)
        assert list(decoded.velocity) == []
        assert list(decoded.effort) == [-1.0]
        assert decoded.header.stamp.sec == number
        assert decoded.header.frame_id == "base"
    assert isinstance(decoded, LazyMessage) == direct
    assert decode(b"\0\1\0\0\1") is None


def test_wide_texts_are_left_to_ros(ros_environment: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from rclpy.serialization import serialize_message

    from rffpsr_ros.nodes.shared import message_classes

    name = "std_msgs/msg/Float64"
    # No message that is installed everywhere has any; to rosbags they are of an unknown type.
    with_wide = get_typestore(Stores.EMPTY)
    with_wide.register(get_types_from_msg("float64 data\nwstring text", name))
    monkeypatch.setattr(message_classes, "typestore_of", lambda types: with_wide)
    decode, kind = message_classes.decoder(name, True), message_classes.message_class(name)
    assert decode(serialize_message(kind(data=2.5))).data == 2.5
    assert decode(b"\0\1") is None
