"""Reading messages and making them, by rclpy, and by `message_layout` and `prepared_message`.

Part of `benchmarks.live_parts`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import rclpy
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Imu, JointState

from rffpsr_ros.nodes.filter.prepared_message import PreparedMessage
from rffpsr_ros.nodes.shared.message_classes import decoder, make, message_class, typestore_of
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.forecast_messages import (
    PREDICTED_TYPE,
    PREDICTION_TYPE,
    predicted_message,
    prediction_message,
)
from rffpsr_ros.signals.fields.resolver import FieldResolver

JOINTS = [f"joint_{index}" for index in range(6)]
HORIZON = 10
ASSUMES = "hold"

Ways = Mapping[str, Callable[[], int]]


def _joint_state(draw: np.random.Generator) -> Any:
    kinds = "position", "velocity", "effort"
    return JointState(name=JOINTS, **{kind: draw.normal(size=6).tolist() for kind in kinds})


def _imu(draw: np.random.Generator) -> Any:
    message: Any = Imu()
    for vector in (message.angular_velocity, message.linear_acceleration):
        vector.x, vector.y, vector.z = draw.normal(size=3).tolist()
    return message


READ: Mapping[str, tuple[str, Sequence[str], Callable[[np.random.Generator], Any]]] = {
    "reading 12 fields of a JointState of six joints": (
        "sensor_msgs/msg/JointState",
        [f"{kind}.{joint}" for kind in ("position", "effort") for joint in JOINTS],
        _joint_state,
    ),
    "reading 6 fields of an Imu": (
        "sensor_msgs/msg/Imu",
        [f"{of}.{axis}" for of in ("angular_velocity", "linear_acceleration") for axis in "xyz"],
        _imu,
    ),
}


class Reader:
    """Reads the fields of a channel off messages in one way."""

    def __init__(
        self, decode: Callable[[bytes], Any], fields: Sequence[str], raw: Sequence[bytes]
    ) -> None:
        self._decode, self._raw = decode, raw
        self._resolve = FieldResolver(fields).resolve

    def values(self) -> Array:
        """Return what is read (messages, fields)."""
        return np.array([self._resolve(self._decode(data)) for data in self._raw])

    def read(self) -> int:
        """Read every message."""
        for data in self._raw:
            self._resolve(self._decode(data))
        return len(self._raw)


def decoding(count: int) -> Iterator[tuple[str, Ways]]:
    """Yield the ways of reading fields off the bytes of messages."""
    for what, (kind, fields, draw) in READ.items():
        generator = np.random.default_rng(0)
        raw = [bytes(serialize_message(draw(generator))) for _ in range(count)]
        decoders: Mapping[str, Callable[[bytes], Any]] = {
            "rclpy, deserialize_message": decoder(kind, direct=False),
            "rosbags, deserialize_cdr": partial(
                typestore_of([kind]).deserialize_cdr, typename=kind
            ),
            "`message_layout`": decoder(kind, direct=True),
        }
        readers = {way: Reader(decode, fields, raw) for way, decode in decoders.items()}
        _check_same(what, [reader.values().tolist() for reader in readers.values()])
        yield what, {way: reader.read for way, reader in readers.items()}


class Draft(NamedTuple):
    """A message that numbers are published in, made of them or kept and given other ones."""

    type: str
    shape: tuple[int, ...]
    has_stamp: bool
    make: Callable[[Array, int], Any]
    replace: Callable[[Any, Any, int], None]


def _replace_array(message: Any, numbers: Any, stamp_ns: int) -> None:
    message.data = numbers


def _replace_joints(message: Any, numbers: Any, stamp_ns: int) -> None:
    message.position = numbers
    stamp = message.header.stamp
    stamp.sec, stamp.nanosec = divmod(stamp_ns, 10**9)


DRAFTS: Mapping[str, Draft] = {
    f"publishing {HORIZON} x 6 numbers in a Float64MultiArray": Draft(
        PREDICTION_TYPE,
        (HORIZON, 6),
        False,
        lambda numbers, stamp_ns: prediction_message(make, numbers, ASSUMES),
        _replace_array,
    ),
    "publishing 6 numbers in a JointState": Draft(
        PREDICTED_TYPE,
        (6,),
        True,
        lambda numbers, stamp_ns: predicted_message(make, numbers, JOINTS, stamp_ns),
        _replace_joints,
    ),
}


class Sender:
    """Publishes numbers in messages of one draft, in several ways; nobody listens."""

    def __init__(self, node: Any, draft: Draft, count: int) -> None:
        self._draft = draft
        self._class = message_class(draft.type)
        self._rows = np.random.default_rng(0).normal(size=(count, *draft.shape))
        self._kept = draft.make(self._rows[0], 0)
        self._prepared = PreparedMessage(lambda marks: draft.make(marks, 0), draft.shape)
        self._publisher = node.create_publisher(self._class, "~/numbers", 10)

    @property
    def ways(self) -> Mapping[str, Callable[[Array, int], Any]]:
        """What is published of numbers and a stamp, in each way: a message, or its bytes."""
        return {
            "rclpy, a message made each time": self._draft.make,
            "rclpy, a message kept, its numbers replaced": self._replaced,
            "`prepared_message`": self._filled,
        }

    def _replaced(self, numbers: Array, stamp_ns: int) -> Any:
        self._draft.replace(self._kept, array("d", numbers.tobytes()), stamp_ns)
        return self._kept

    def _filled(self, numbers: Array, stamp_ns: int) -> bytes:
        return self._prepared.filled(numbers, stamp_ns if self._draft.has_stamp else None)

    def messages(self, way: Callable[[Array, int], Any]) -> list[Any]:
        """Return the messages that arrive where someone listens."""
        given = (way(numbers, stamp_ns) for stamp_ns, numbers in enumerate(self._rows))
        raw = (one if isinstance(one, bytes) else bytes(serialize_message(one)) for one in given)
        return [deserialize_message(one, self._class) for one in raw]

    def publish(self, way: Callable[[Array, int], Any]) -> int:
        """Publish all numbers."""
        for stamp_ns, numbers in enumerate(self._rows):
            self._publisher.publish(way(numbers, stamp_ns))
        return len(self._rows)


def publishing(count: int) -> Iterator[tuple[str, Ways]]:
    """Yield the ways of publishing numbers."""
    rclpy.init()
    for number, (what, draft) in enumerate(DRAFTS.items()):
        node = Node(f"sender_{number}")
        sender = Sender(node, draft, count)
        _check_same(what, [sender.messages(way) for way in sender.ways.values()])
        yield what, {name: partial(sender.publish, way) for name, way in sender.ways.items()}
        node.destroy_node()
    rclpy.shutdown()


def _check_same(what: str, given: Sequence[Any]) -> None:
    if any(one != given[0] for one in given):
        raise SystemExit(f"{what}: the ways do not give the same")
