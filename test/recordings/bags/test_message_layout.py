"""Fields read off bytes are those that a library decodes, whatever was laid out before."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rosbags.interfaces import Nodetype
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from rffpsr_ros.recordings.bags import message_layout
from rffpsr_ros.recordings.bags.message_layout import NUMBERS, LazyMessage, QuickDecode, layout_of
from rffpsr_ros.signals.fields.places import fields_of
from rffpsr_ros.signals.fields.places import type_name as message_type_name

ODD = "odd_msgs/msg/Odd"
TYPES = (
    "sensor_msgs/msg/JointState",
    "sensor_msgs/msg/Imu",
    "sensor_msgs/msg/Image",
    "sensor_msgs/msg/PointCloud2",
    "nav_msgs/msg/Odometry",
    "trajectory_msgs/msg/JointTrajectory",
    "std_msgs/msg/Float64MultiArray",
    "diagnostic_msgs/msg/KeyValue",
    "std_msgs/msg/Empty",
    "tf2_msgs/msg/TFMessage",
    ODD,
)


def store_of_types() -> Typestore:
    store = get_typestore(Stores.ROS2_JAZZY)
    fields = "int8 a", "float64[] b", "bool c", "int64[2] d", "string[2] e", "bool[] f"
    more = "std_msgs/Header[2] g", "int16 h"
    store.register(get_types_from_msg("\n".join(fields + more), ODD))
    return store


STORE = store_of_types()


def random_message(store: Typestore, type_name: str, lengths: Any, numbers: Any) -> Any:
    """Return a message: texts and lengths of arrays from one generator, numbers from another."""

    def value(node: Nodetype, detail: Any) -> Any:
        if node == Nodetype.NAME:
            return random_message(store, detail, lengths, numbers)
        if node == Nodetype.BASE and detail[0] == "string":
            return "".join(lengths.choice(list("abc_ü€"), lengths.integers(0, 7)))
        if node == Nodetype.BASE:
            return some(detail[0], 1)[0].item()
        (inner_node, inner), count = detail
        count = count if node == Nodetype.ARRAY else int(lengths.integers(0, 4))
        if inner_node == Nodetype.BASE and inner[0] != "string":
            return some(inner[0], count)
        return [value(inner_node, inner) for _ in range(count)]

    def some(kind: str, count: int) -> Any:
        number = np.dtype(NUMBERS[kind])
        if number.kind == "b":
            return numbers.random(count) < 0.5
        if number.kind == "f":
            return numbers.normal(size=count).astype(number)
        limits = np.iinfo(number)
        return numbers.integers(limits.min, limits.max, count, dtype=number, endpoint=True)

    fields = store.fielddefs[type_name][1]
    return store.types[type_name](**{name: value(*kind) for name, kind in fields})


def field_names(message: Any) -> list[str]:
    return [name for name, _ in STORE.fielddefs[message.__msgtype__][1]]


def assert_same(read: Any, expected: Any) -> None:
    if dataclasses.is_dataclass(expected):
        for name in ("__msgtype__", *field_names(expected)):
            assert_same(getattr(read, name), getattr(expected, name))
    elif isinstance(expected, list):
        assert len(read) == len(expected)
        for one, other in zip(read, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(read, expected)
        assert read.dtype == expected.dtype
    else:
        assert read == expected
        assert type(read) is type(expected)


def serialised(message: Any, type_name: str) -> bytes:
    return bytes(STORE.serialize_cdr(message, type_name))


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layouts even of messages that a library decodes as soon."""
    monkeypatch.setattr(message_layout, "FEWEST_TEXTS", 0)


def decoder(type_name: str) -> QuickDecode:
    return QuickDecode(lambda data: STORE.deserialize_cdr(data, type_name), STORE, type_name)


def seeded(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(st.sampled_from(TYPES), st.lists(st.integers(0, 2), min_size=2, max_size=8))
def test_every_field_is_what_a_library_decodes(type_name: str, layouts: list[int]) -> None:
    decode = decoder(type_name)
    for number, layout in enumerate(layouts):
        message = random_message(STORE, type_name, seeded(layout), seeded(100 + number))
        assert_same(decode(serialised(message, type_name)), message)


@pytest.mark.parametrize("type_name", TYPES)
def test_messages_laid_out_alike_are_not_decoded_again(type_name: str) -> None:
    decode = decoder(type_name)
    for number in range(3):
        message = random_message(STORE, type_name, seeded(1), seeded(number))
        decoded = decode(serialised(message, type_name))
    assert isinstance(decoded, LazyMessage)
    assert fields_of(decoded) == field_names(message)
    assert message_type_name(decoded) == type_name
    with pytest.raises(AttributeError, match="nothing"):
        _ = decoded.nothing


@given(st.integers(0, 2**32 - 1), st.data())
def test_changed_bytes_are_decoded_as_a_library_does(seed: int, data: st.DataObject) -> None:
    """A byte that is no number's makes another layout, or none."""
    type_name = "sensor_msgs/msg/JointState"

    def library(raw: bytes) -> Any:
        try:
            return STORE.deserialize_cdr(raw, type_name)
        except Exception:
            return None

    decode = QuickDecode(library, STORE, type_name)
    whole = serialised(random_message(STORE, type_name, seeded(seed), seeded(seed)), type_name)
    decode(whole)
    place = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[place] ^= data.draw(st.integers(1, 255))
    raw = bytes(changed[: data.draw(st.sampled_from([len(whole), place]))])
    expected, read = library(raw), decode(raw)
    if expected is None:
        assert read is None
    else:
        assert repr(read_whole(read, expected)) == repr(expected)


def read_whole(read: Any, like: Any) -> Any:
    """Return a message of the library's with the fields of another one."""
    if not dataclasses.is_dataclass(like):
        return read
    parts = {
        name: read_whole(getattr(read, name), getattr(like, name)) for name in field_names(like)
    }
    kind: Any = STORE.types[like.__msgtype__]  # type: ignore[union-attr]
    return kind(**parts)


def test_what_is_not_read_here_has_no_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    type_name = "sensor_msgs/msg/JointState"
    message = random_message(STORE, type_name, seeded(1), seeded(2))
    little = serialised(message, type_name)
    assert layout_of(little, STORE, type_name) is not None
    big = bytes(STORE.serialize_cdr(message, type_name, little_endian=False))
    assert layout_of(big, STORE, type_name) is None
    assert layout_of(little[:-1], STORE, type_name) is None
    assert layout_of(little[:30], STORE, type_name) is None
    assert layout_of(b"\0\1\0\0\0\0\0\0", STORE, "diagnostic_msgs/msg/DiagnosticStatus") is None
    monkeypatch.setattr(message_layout, "MOST_TEXTS", 2)
    assert layout_of(little, STORE, type_name) is None
    monkeypatch.undo()
    point = serialised(
        STORE.types["geometry_msgs/msg/Vector3"](1.0, 2.0, 3.0), "geometry_msgs/msg/Vector3"
    )
    assert layout_of(point, STORE, "geometry_msgs/msg/Vector3") is None


def test_a_topic_of_ever_new_layouts_is_left_to_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(message_layout, "MOST_MISSES", 3)
    decode, type_name = decoder("std_msgs/msg/String"), "std_msgs/msg/String"
    kind: Any = STORE.types[type_name]
    for number in range(4):
        decode(serialised(kind("a" * number), type_name))
    for _ in range(2):
        again = decode(serialised(kind("another"), type_name))
    assert isinstance(again, kind)
