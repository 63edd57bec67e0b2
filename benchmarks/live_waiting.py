"""Waiting for messages and taking them, by rclpy's executors and by `message_wait`.

Part of `benchmarks.live_parts`; run as a program, it is what sends the messages.
"""

from __future__ import annotations

import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.experimental.events_executor import EventsExecutor
from rclpy.lifecycle import LifecycleNode
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from rffpsr_ros.nodes.filter.forecast_publisher import ForecastPublisher
from rffpsr_ros.nodes.filter.interface import FILTER
from rffpsr_ros.nodes.shared.message_wait import DirectExecutor
from rffpsr_ros.nodes.shared.parameters import DeclaredParameters
from rffpsr_ros.nodes.shared.rclpy_internals import leave_executor
from rffpsr_ros.nodes.shared.topic_inputs import sensor_profile
from rffpsr_ros.nodes.shared.trigger_services import offer

RATE = 1000
TOPIC = "/joint_states"
QUEUE = 100_000
JOINTS = [f"joint_{index}" for index in range(6)]
NUMBER = slice(4, 8)
"""Where a message says which one it is: in the seconds of its stamp."""


class Receiver:
    """A node with all that the filter has, and a topic whose messages it counts."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._node: Any = LifecycleNode("receiver")
        DeclaredParameters(self._node, FILTER.parameters)
        self._outputs = ForecastPublisher(self._node, lambda origin_ns: None)
        self._outputs.promise(0.1, {"deadline": 1.0, "publish_every": 1}.__getitem__)
        for seconds in (0.1, 0.4):
            self._node.create_timer(seconds, lambda: None)
        offer(self._node, {"reset": str, "reload": str})
        self._node.create_subscription(
            JointState, TOPIC, self._note, sensor_profile(QUEUE), raw=True
        )

    def _note(self, data: bytes) -> None:
        self.numbers.append(int.from_bytes(data[NUMBER], "little"))

    def take(self, executor: Any, limit: float | None, count: int) -> int:
        """Take so many messages at least by an executor; return how many it took."""
        executor.add_node(self._node)
        before = len(self.numbers)
        while len(self.numbers) < before + count:
            executor.spin_once(timeout_sec=limit)
        leave_executor(self._node)
        return len(self.numbers) - before

    def close(self) -> None:
        """Check that every message was taken once and in order, and leave.

        Raises
        ------
        SystemExit
            If one was lost: the machine is too busy to tell anything.
        """
        self._node.destroy_node()
        first = self.numbers[0]
        if self.numbers != list(range(first, first + len(self.numbers))):
            raise SystemExit("messages were lost or taken out of order")


def waiting(count: int) -> Iterator[tuple[str, Mapping[str, Callable[[], int]]]]:
    """Yield the ways of taking messages as they arrive, and of taking those that have waited."""
    rclpy.init()
    receiver = Receiver()
    executors: Mapping[str, tuple[Any, float | None]] = {
        "rclpy, single-threaded executor": (SingleThreadedExecutor(), None),
        "rclpy, events executor": (EventsExecutor(), 0.1),
        "`message_wait`": (DirectExecutor(), None),
    }
    with _talker():
        yield (
            f"waiting for and taking messages, {RATE} Hz",
            {way: partial(receiver.take, *one, count) for way, one in executors.items()},
        )
        yield (
            "taking messages that have been waiting",
            {way: partial(_take_late, receiver, *one, count) for way, one in executors.items()},
        )
    for executor, _ in executors.values():
        executor.shutdown()
    receiver.close()
    rclpy.shutdown()


def _take_late(receiver: Receiver, executor: Any, limit: float | None, count: int) -> int:
    time.sleep(1.2 * count / RATE)
    return receiver.take(executor, limit, count)


@contextmanager
def _talker() -> Iterator[None]:
    process = subprocess.Popen([sys.executable, "-m", __name__], stdin=subprocess.PIPE)
    try:
        yield
    finally:
        process.communicate()


def talk() -> None:
    """Publish numbered joint states until standard input ends."""
    rclpy.init()
    node = Node("talker")
    publisher: Any = node.create_publisher(JointState, TOPIC, QUEUE)
    message = JointState(name=JOINTS, position=[0.0] * 6, effort=[0.0] * 6)
    while not publisher.get_subscription_count():
        time.sleep(0.01)
    time.sleep(0.5)  # until they hear each other
    began, number = time.perf_counter(), 0
    while not select.select([sys.stdin], [], [], 0)[0]:
        message.header.stamp.sec = number
        publisher.publish(bytes(serialize_message(message)))
        number += 1
        time.sleep(max(0.0, began + number / RATE - time.perf_counter()))
    node.destroy_node()
    rclpy.shutdown()


if __name__ == "__main__":
    talk()
