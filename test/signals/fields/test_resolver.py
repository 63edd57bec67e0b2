"""The field resolver on messages as rclpy makes them and as rosbags makes them."""

import array
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rosbags.typesys import Stores, get_typestore

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals.fields.resolver import FieldResolver

STORE = get_typestore(Stores.ROS2_JAZZY)
nan = float("nan")


class LikeRclpy(SimpleNamespace):
    """A message with what rclpy's have: attributes, `array.array`s and a table of fields."""

    def get_fields_and_field_types(self) -> dict[str, str]:
        return dict.fromkeys(vars(self), "")


def make(type_name: str, **fields: Any) -> Any:
    return STORE.types[type_name](**fields)


def header() -> Any:
    stamp = make("builtin_interfaces/msg/Time", sec=0, nanosec=0)
    return make("std_msgs/msg/Header", stamp=stamp, frame_id="")


def joints(names: list[str], values: list[float], rclpy: bool = False) -> Any:
    if rclpy:
        data: Any = array.array("d", values)
        return LikeRclpy(name=names, position=data, velocity=array.array("d"), effort=data)
    return make(
        "sensor_msgs/msg/JointState",
        header=header(),
        name=names,
        position=np.array(values),
        velocity=np.empty(0),
        effort=np.array(values),
    )


def imu(x: float, y: float, z: float, rclpy: bool = False) -> Any:
    if rclpy:
        return LikeRclpy(angular_velocity=LikeRclpy(x=x, y=y, z=z), frame="imu")
    vector = make("geometry_msgs/msg/Vector3", x=x, y=y, z=z)
    covariance = np.zeros(9)
    return make(
        "sensor_msgs/msg/Imu",
        header=header(),
        orientation=make("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.0, w=0.0),
        orientation_covariance=covariance,
        angular_velocity=vector,
        angular_velocity_covariance=covariance,
        linear_acceleration=vector,
        linear_acceleration_covariance=covariance,
    )


def values(message: Any, *fields: str) -> list[float]:
    resolved = FieldResolver(fields).resolve(message)
    assert resolved is not None
    assert resolved.dtype == np.float64
    return list(resolved)


either = pytest.mark.parametrize("rclpy", [False, True], ids=["rosbags", "rclpy"])


@either
def test_numbers_inside_messages(rclpy: bool) -> None:
    message = imu(1.0, 2.0, 3.0, rclpy)
    assert values(message, "angular_velocity.z") == [3.0]
    assert values(message, "angular_velocity.z", "angular_velocity.x") == [3.0, 1.0]


@either
def test_elements_ranges_and_whole_arrays(rclpy: bool) -> None:
    message = joints(["a", "b", "c"], [10.0, 20.0, 30.0], rclpy)
    assert values(message, "position[0]", "position[-1]") == [10.0, 30.0]
    assert values(message, "position[0:2]") == [10.0, 20.0]
    assert values(message, "position[1:]", "effort[-2:-1]") == [20.0, 30.0, 20.0]
    resolver = FieldResolver(["position", "effort[0]"])
    np.testing.assert_array_equal(resolver.resolve(message), [10, 20, 30, 10])
    assert resolver.column_names == ("position[0]", "position[1]", "position[2]", "effort[0]")
    assert resolver.columns_per_field == (3, 1)


@either
def test_joints_are_found_by_name_in_every_message(rclpy: bool) -> None:
    resolver = FieldResolver(["position.elbow", "position.wrist", "effort.elbow"])
    first = joints(["elbow", "wrist"], [1.0, 2.0], rclpy)
    reordered = joints(["shoulder", "wrist", "elbow"], [7.0, 8.0, 9.0], rclpy)
    without = joints(["wrist"], [5.0], rclpy)
    np.testing.assert_array_equal(resolver.resolve(first), [1, 2, 1])
    np.testing.assert_array_equal(resolver.resolve(reordered), [9, 8, 9])
    np.testing.assert_array_equal(resolver.resolve(without), [nan, 5, nan])
    np.testing.assert_array_equal(resolver.resolve(first), [1, 2, 1])
    assert resolver.names_never_found == ()


def test_an_empty_array_beside_the_names_is_missing() -> None:
    resolver = FieldResolver(["velocity.elbow", "position.elbow"])
    np.testing.assert_array_equal(resolver.resolve(joints(["elbow"], [1.0])), [nan, 1])


def test_names_never_found_are_known() -> None:
    resolver = FieldResolver(["position.elbwo", "position.wrist"])
    resolver.resolve(joints(["elbow", "wrist"], [1.0, 2.0]))
    (missing,) = resolver.names_never_found
    assert (missing.name, list(missing.seen)) == ("elbwo", ["elbow", "wrist"])


def test_names_serve_arrays_deeper_inside_and_arrays_of_messages() -> None:
    point = LikeRclpy(positions=array.array("d", [1.0, 2.0]))
    trajectory = LikeRclpy(joint_names=["a", "b"], points=[point])
    assert values(trajectory, "points[0].positions.b") == [2.0]
    poses = [LikeRclpy(position=LikeRclpy(x=float(i))) for i in range(2)]
    states = LikeRclpy(name=["table", "robot"], pose=poses)
    assert values(states, "pose.robot.position.x", "pose['table'].position.x") == [1.0, 0.0]
    interface = LikeRclpy(interface_names=["position", "effort"], values=array.array("d", [3, 4]))
    dynamic = LikeRclpy(joint_names=["elbow"], interface_values=[interface])
    assert values(dynamic, "interface_values.elbow.values.effort") == [4.0]


def test_values_missing_in_a_message_are_nan() -> None:
    resolver = FieldResolver(["data[3]", "data[0:2]", "data"])
    np.testing.assert_array_equal(
        resolver.resolve(LikeRclpy(data=[1.0, 2.0, 3.0, 4.0])), [4, 1, 2, 1, 2, 3, 4]
    )
    np.testing.assert_array_equal(
        resolver.resolve(LikeRclpy(data=[1.0, 2.0])), [nan, 1, 2, nan, nan, nan, nan]
    )
    np.testing.assert_array_equal(resolver.resolve(LikeRclpy(data=[1.0])), [nan] * 7)
    np.testing.assert_array_equal(resolver.resolve(None), [nan] * 7)


def test_the_width_is_open_until_a_message_shows_it() -> None:
    resolver = FieldResolver(["data"])
    assert resolver.resolve(None) is None
    assert resolver.resolve(LikeRclpy(data=[])) is None
    assert (resolver.width, resolver.column_names) == (None, ())
    np.testing.assert_array_equal(resolver.resolve(LikeRclpy(data=[1.0, 2.0])), [1, 2])
    assert resolver.width == 2


def test_functions() -> None:
    message = LikeRclpy(data=array.array("d", [0.0, math.pi / 2]), flag=True, ranges=[1, math.inf])
    np.testing.assert_allclose(values(message, "sin(data)", "cos(data[0])"), [0, 1, 1])
    assert values(message, "flag") == [1.0]
    assert values(message, "equals(flag, 1)", "equals(data, 0)") == [1.0, 1.0, 0.0]
    assert math.isnan(values(LikeRclpy(mode=nan), "equals(mode, 0)")[0])
    assert values(message, "clip(ranges, 0, 10)", "clip(ranges[1], 0, 9)") == [1, 10, 9]
    np.testing.assert_array_equal(values(message, "sin(ranges[1])", "cos(ranges)")[::2], [nan, nan])


@given(st.floats(-math.pi, math.pi), st.floats(0.1, 3.0))
def test_yaw_of_a_turn_about_z(angle: float, length: float) -> None:
    quaternion = LikeRclpy(
        x=0.0, y=0.0, z=length * math.sin(angle / 2), w=length * math.cos(angle / 2)
    )
    (yaw,) = values(LikeRclpy(orientation=quaternion), "yaw(orientation)")
    assert math.isclose(math.cos(yaw - angle), 1.0, abs_tol=1e-12)


def test_yaw_against_the_rotation_matrix() -> None:
    """For a turned and tilted body: the heading of its x axis in the ground plane."""
    x, y, z, w = np.array([0.1, -0.3, 0.5, 0.8]) / np.linalg.norm([0.1, -0.3, 0.5, 0.8])
    ahead = np.array([1 - 2 * (y * y + z * z), 2 * (x * y + w * z)])
    (yaw,) = values(LikeRclpy(q=LikeRclpy(x=x, y=y, z=z, w=w)), "yaw(q)")
    assert math.isclose(yaw, math.atan2(ahead[1], ahead[0]))


def test_an_orientation_of_all_zeros_is_missing() -> None:
    assert math.isnan(values(imu(0.0, 0.0, 0.0), "yaw(orientation)")[0])


@given(st.lists(st.floats(-3.0, 3.0), min_size=1, max_size=30), st.floats(-math.pi, math.pi))
def test_unwrap_restores_a_continuous_angle(turns: list[float], start: float) -> None:
    angles = np.cumsum([start, *turns])
    wrapped = np.arctan2(np.sin(angles), np.cos(angles))
    resolver = FieldResolver(["unwrap(data)", "unwrap(data[0])"])
    assert resolver.stateful
    seen = np.array([resolver.resolve(LikeRclpy(data=[angle])) for angle in wrapped])
    np.testing.assert_allclose(np.diff(seen, axis=0), np.column_stack([turns, turns]), atol=1e-9)
    resolver.reset()
    anew = resolver.resolve(LikeRclpy(data=[wrapped[-1]]))
    assert anew is not None
    assert anew.tolist() == [wrapped[-1]] * 2


def test_unwrap_bridges_missing_values() -> None:
    resolver = FieldResolver(["unwrap(data[0])"])
    seen = [resolver.resolve(LikeRclpy(data=data)) for data in ([3.0], [], [nan], [-3.0])]
    np.testing.assert_allclose(np.ravel(seen), [3.0, nan, nan, 2 * math.pi - 3.0])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("field", "sentence"),
    [
        ("angular_velocty.z", "no field 'angular_velocty'; did you mean 'angular_velocity'?"),
        ("angular_velocity.w", "Vector3 has no field 'w' in 'angular_velocity'"),
        ("angular_velocity", "pick a field of it: angular_velocity.x"),
        ("angular_velocity.x.y", "'angular_velocity.x' is no message and has no 'y'"),
        ("angular_velocity.x[0]", "'angular_velocity.x' is a number, not an array"),
        ("header.frame_id", "'header.frame_id' is a text, not a number"),
        ("angular_velocity[0]", "is a message (geometry_msgs/msg/Vector3), not an array"),
        ("yaw(angular_velocity)", "yaw takes a quaternion"),
        ("orientation_covariance.x", "is an array and the message has no list of names"),
        ("image(4x4)", "image(4x4) needs sensor_msgs/msg/Image or CompressedImage"),
    ],
)
def test_a_field_that_is_not_there_gets_one_sentence(field: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        FieldResolver([field], "channel 'imu'").resolve(imu(0.0, 0.0, 0.0))
    assert sentence in str(caught.value)
    assert str(caught.value).startswith("channel 'imu': ")


def test_arrays_of_texts_and_of_messages_are_no_numbers() -> None:
    with pytest.raises(InputError, match="'name' is an array of texts"):
        FieldResolver(["name"]).resolve(joints(["a"], [1.0]))
    with pytest.raises(InputError, match=r"array of messages; .* as in poses\[0\].x"):
        FieldResolver(["poses"]).resolve(LikeRclpy(poses=[LikeRclpy(x=1.0)]))


def test_a_message_of_another_type_is_refused() -> None:
    resolver = FieldResolver(["angular_velocity.z"])
    resolver.resolve(imu(0.0, 0.0, 0.0))
    with pytest.raises(InputError, match="a message of another type than the first"):
        resolver.resolve(joints(["a"], [1.0]))


def test_results_are_not_shared_between_messages() -> None:
    for fields in (["data"], ["data[0]"], ["position.a", "position.b"], ["data", "position.a"]):
        message = LikeRclpy(data=[1.0, 2.0], name=["a", "b"], position=[1.0, 2.0])
        resolver = FieldResolver(fields)
        first = resolver.resolve(message)
        second = resolver.resolve(message)
        assert first is not None
        assert second is not None
        first[:] = -1.0
        assert (second > 0).all()
        assert message.data == [1.0, 2.0]
