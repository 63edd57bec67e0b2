"""Commands are written where the field resolver reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.signals.fields.resolver import FieldResolver

if TYPE_CHECKING:
    from rffpsr_ros.nodes.shared.command_writer import CommandWriter

pytest.importorskip("std_msgs", reason="needs ROS 2: its messages are not installed")

READABLE = {
    "geometry_msgs/msg/Twist": ("linear.x", "angular.z"),
    "geometry_msgs/msg/TwistStamped": ("twist.angular.z",),
    "std_msgs/msg/Float64": ("data",),
    "std_msgs/msg/Float64MultiArray": ("data[0:3]", "data[4]"),
    "std_msgs/msg/Float32MultiArray": ("data[0]", "data[1]"),
    "sensor_msgs/msg/JointState": ("effort.elbow", "effort['left wrist']", "effort.hand"),
    "nav_msgs/msg/Odometry": ("pose.covariance[35]", "twist.twist.linear.x"),
}


def writer_of(type_name: str, fields: tuple[str, ...]) -> CommandWriter:
    from rffpsr_ros.nodes.shared.command_writer import CommandWriter

    return CommandWriter(Channel("command", "/command", type_name, fields))


@pytest.mark.parametrize("type_name", READABLE)
def test_what_is_written_is_read_again(type_name: str) -> None:
    fields = READABLE[type_name]
    writer = writer_of(type_name, fields)
    resolver = FieldResolver(fields)
    for seed in range(2):
        values = np.random.default_rng(seed).integers(-9, 9, writer.width) / 4
        found = resolver.resolve(writer.write(values.tolist()))
        assert found is not None
        np.testing.assert_array_equal(found, values)


def test_what_is_not_named_stays_at_zero() -> None:
    message = writer_of("std_msgs/msg/Float64MultiArray", ("data[2]",)).write([5.0])
    assert list(message.data) == [0.0, 0.0, 5.0]
    message = writer_of("geometry_msgs/msg/Twist", ("linear.x",)).write([5.0])
    assert (message.linear.y, message.angular.z) == (0.0, 0.0)


def test_whole_numbers_stay_whole() -> None:
    assert writer_of("std_msgs/msg/Int16", ("data",)).write([2.6]).data == 3


@pytest.mark.parametrize(
    ("type_name", "field", "problem"),
    [
        ("geometry_msgs/msg/Twist", "linear.w", "does not exist; known are x, y, z"),
        ("geometry_msgs/msg/Twist", "linear", "cannot be commanded"),
        ("geometry_msgs/msg/Twist", "sin(linear.x)", "only plain fields"),
        ("geometry_msgs/msg/PoseArray", "poses[0].position.x", "cannot be commanded"),
        ("std_msgs/msg/Float64MultiArray", "data", "cannot be commanded"),
        ("std_msgs/msg/Float64MultiArray", "data[0:]", "indices from 0"),
        ("std_msgs/msg/Float64MultiArray", "data[-1]", "indices from 0"),
        ("std_msgs/msg/Float64MultiArray", "data.elbow", "indices from 0"),
        ("std_msgs/msg/String", "data", "cannot be commanded"),
        ("", "data", "has no type"),
    ],
)
def test_what_cannot_be_written_is_refused(type_name: str, field: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        writer_of(type_name, (field,))
