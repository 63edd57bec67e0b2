"""Serialised messages with other bytes in them, through the quick decoder and the library's."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np

from benchmarks.audit.bags.small_bags import STORE, command, joints
from benchmarks.audit.case import Broken, Case
from benchmarks.audit.mutations import damaged
from benchmarks.audit.runner import Group
from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.bags.message_layout import LazyMessage
from rffpsr_ros.recordings.bags.message_types import decoder, stamp_reader
from rffpsr_ros.signals.fields.resolver import FieldResolver

EACH = 200
"""Mutations that a case tries."""

FIELDS = {
    "sensor_msgs/msg/JointState": ("position.b", "velocity", "effort[0]", "unwrap(position.a)"),
    "std_msgs/msg/Float64MultiArray": ("data", "data[0]", "layout.data_offset"),
    "sensor_msgs/msg/Imu": ("yaw(orientation)", "angular_velocity.z", "orientation_covariance"),
    "nav_msgs/msg/Odometry": ("pose.pose.position.x", "pose.covariance[0:6]"),
    "sensor_msgs/msg/Image": ("image(2x2)",),
    "trajectory_msgs/msg/JointTrajectory": ("points[0].positions", "joint_names"),
    "diagnostic_msgs/msg/DiagnosticArray": ("status[0].level",),
}
SPECIAL = (0, 1, 2, 7, 255, 2**16, 2**31 - 1, 2**31, 2**32 - 4, 2**32 - 1)
"""Lengths that overflow, are negative, or reach behind the end."""


@lru_cache(maxsize=1)
def _wholes() -> dict[str, bytes]:
    """Return a message of each type."""
    types = STORE.types
    stamp = types["builtin_interfaces/msg/Time"](sec=5, nanosec=7)
    header = types["std_msgs/msg/Header"](stamp=stamp, frame_id="base")
    made = {
        "sensor_msgs/msg/JointState": joints(5 * 10**9, [*"abcdefghij"]),
        "std_msgs/msg/Float64MultiArray": command(1.0, 2.0, 3.0),
    }
    made.update({name: _filled(name, header) for name in FIELDS if name not in made})
    return made


def _filled(name: str, header: Any) -> bytes:
    message = _value(name, header)
    return bytes(STORE.serialize_cdr(message, name))


def _value(name: str, header: Any) -> Any:
    """Return a message with something in every field."""
    if name == "std_msgs/msg/Header":
        return header
    fields = STORE.fielddefs[name][1]
    return STORE.types[name](**{field: _field(kind, header) for field, kind in fields})


def _field(kind: Any, header: Any) -> Any:
    node, detail = int(kind[0]), kind[1]
    if node == 1:
        return "mono8" if detail[0] == "string" else 2
    if node == 2:
        return _value(detail, header)
    (inner, what), count = detail
    count = count if node == 3 else 4
    if int(inner) == 1 and what[0] != "string":
        codes = {"bool": "bool", "byte": "uint8", "char": "uint8", "octet": "uint8"}
        return np.full(count, 1, dtype=codes.get(what[0], what[0]))
    return [_field((inner, what), header) for _ in range(count)]


def cases(seed: int) -> Iterator[Case]:
    """Yield cases of `EACH` mutations of one type without end."""
    for number in range(10**9):
        for kind in FIELDS:
            yield Case(f"{kind} {number}", partial(_mutate, kind, (seed, number)))


def _mutate(kind: str, seed: tuple[int, int]) -> None:
    rng = np.random.default_rng([*seed, len(kind)])
    whole = _wholes()[kind]
    decode = decoder(STORE, kind, "cdr")
    stamp = stamp_reader(STORE, kind, "cdr", "header")
    resolver = FieldResolver(FIELDS[kind][:1])
    for _ in range(EACH):
        data = _changed(whole, rng)
        if stamp is not None and not isinstance(stamp(data, 1), int):
            raise Broken("untrue state", "a stamp is no number")
        decode(whole)  # of which the quick decoder takes the layout
        message = decode(data)
        _resolve(resolver, message)
        for field in FIELDS[kind]:
            _resolve(FieldResolver([field]), message)
        if isinstance(message, LazyMessage):
            _compare(message, STORE.deserialize_cdr(data, kind), FIELDS[kind])


def _changed(whole: bytes, rng: np.random.Generator) -> bytes:
    if rng.integers(2):
        return damaged(whole, rng)
    data = bytearray(whole)
    at = 4 * int(rng.integers(len(data) // 4))
    data[at : at + 4] = struct.pack("<I", SPECIAL[int(rng.integers(len(SPECIAL)))])
    return bytes(data)


def _resolve(resolver: FieldResolver, message: Any) -> Any:
    try:
        return resolver.resolve(message)
    except InputError as refusal:
        if "\n" in str(refusal):
            raise Broken("no sentence", str(refusal)) from None
        return None


def _compare(quick: Any, slow: Any, fields: tuple[str, ...]) -> None:
    """Check that a message read by its layout says what the library reads."""
    for field in fields:
        one, other = (_resolve(FieldResolver([field]), message) for message in (quick, slow))
        if (one is None) != (other is None) or (
            one is not None and not np.array_equal(one, other, equal_nan=True)
        ):
            raise Broken("untrue state", f"{field} is {one} and {other}")


GROUP = Group("cdr", cases, size=700, seconds=20.0)
