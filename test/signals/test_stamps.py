"""Stamps from messages and from their bytes."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

from rffpsr_ros.signals.stamps import receive_time, stamp_of, stamp_of_cdr, stamp_of_ros1

TYPE = "sensor_msgs/msg/JointState"
times = pytest.mark.parametrize(
    ("seconds", "nanoseconds", "expected"),
    [(1_700_000_000, 123_456_789, 1_700_000_000_123_456_789), (0, 5, 5), (0, 0, 77)],
)


def joint_state(store: Any, seconds: int, nanoseconds: int, **more: Any) -> Any:
    types = store.types
    stamp = types["builtin_interfaces/msg/Time"](sec=seconds, nanosec=nanoseconds)
    header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="base", **more)
    empty = np.empty(0)
    return types[TYPE](header=header, name=["a"], position=empty, velocity=empty, effort=empty)


@times
def test_a_header_gives_the_stamp(seconds: int, nanoseconds: int, expected: int) -> None:
    store = get_typestore(Stores.ROS2_JAZZY)
    message = joint_state(store, seconds, nanoseconds)
    assert stamp_of(message, 77) == expected
    for little in (True, False):
        raw = store.serialize_cdr(message, TYPE, little_endian=little)
        assert stamp_of_cdr(raw, 77) == expected
        assert stamp_of_cdr(bytes(raw), 77) == expected


@times
def test_a_ros1_header_gives_the_stamp(seconds: int, nanoseconds: int, expected: int) -> None:
    store = get_typestore(Stores.ROS1_NOETIC)
    message = joint_state(store, seconds, nanoseconds, seq=3)
    assert stamp_of(message, 77) == expected
    assert stamp_of_ros1(bytes(store.serialize_ros1(message, TYPE)), 77) == expected


def test_without_a_header_it_is_the_time_of_receipt() -> None:
    assert stamp_of(SimpleNamespace(data=1.0), 77) == 77
    assert stamp_of(SimpleNamespace(header="text"), 77) == 77
    assert receive_time(SimpleNamespace(), 77) == 77


@pytest.mark.parametrize("raw", [b"", b"\x00\x01\x00\x00\x01", b"\x00\x07" + bytes(20)])
def test_bytes_too_short_or_strange_give_the_time_of_receipt(raw: bytes) -> None:
    assert stamp_of_cdr(raw, 77) == 77
    assert stamp_of_ros1(raw[:7], 77) == 77
