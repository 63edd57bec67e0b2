"""Simulated time as it was when a message arrived that waited for its turn."""

from __future__ import annotations

import struct
from typing import Any

from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock

from rffpsr_ros.nodes.shared.executors import DIRECT, executor_name

DEPTH = 1000
"""A second of the fastest simulators' clock."""
HEADER = 4
"""Bytes before the values of a message."""
_STAMP = struct.Struct("<iI"), struct.Struct(">iI")
_LITTLE = 1


class ArrivedClock:
    """Follows /clock message by message, among all others in the order of their arrival.

    rclpy's own subscription keeps the newest one only, which is ahead of messages that waited. Only
    the direct executor hands messages out in that order; where another runs the node, and as long
    as time is real, there is no subscription.
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._now_ns = 0
        self._asked = False

    def now_ns(self) -> int:
        """Return the time (ns) at which what is handed out arrived; 0 if that is not known."""
        if not self._asked:
            self._asked = True
            if executor_name(self._node) == DIRECT:
                profile = QoSProfile(depth=DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT)
                self._node.create_subscription(Clock, "/clock", self._take, profile, raw=True)
        return self._now_ns

    def _take(self, data: bytes) -> None:
        if len(data) < HEADER + _STAMP[0].size:  # of damage, rclpy's own subscription tells
            return
        seconds, nanoseconds = _STAMP[data[1] != _LITTLE].unpack_from(data, HEADER)
        if seconds >= 0:
            self._now_ns = seconds * 10**9 + nanoseconds
