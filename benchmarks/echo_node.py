"""The least a node can do: answer every joint state with messages as large as a forecast.

What it costs is what ROS costs; `benchmarks.realtime` runs it beside the filter node.
"""

from __future__ import annotations

import array
import sys
from typing import Any

from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from rffpsr_ros.nodes.shared.parameters import EXECUTOR, declare
from rffpsr_ros.nodes.shared.running import run
from rffpsr_ros.nodes.shared.topic_inputs import sensor_profile

HORIZON = 10


class EchoNode(Node):
    """Publishes on the topics of a filter node."""

    def __init__(self) -> None:
        super().__init__("rffpsr_filter")
        declare(self, [EXECUTOR])
        self._prediction = self.create_publisher(Float64MultiArray, "~/prediction", 10)
        self._predicted = self.create_publisher(JointState, "~/predicted", 10)
        self._message = Float64MultiArray()
        self._message.layout.dim = [MultiArrayDimension(label=name) for name in ("h", "o")]
        self.create_subscription(JointState, "/joint_states", self._answer, sensor_profile(100))

    def begin(self) -> None:
        """Say that it runs."""
        self.get_logger().info("serving nothing")

    def close(self) -> None:
        """Do nothing."""

    def _answer(self, message: Any) -> None:
        self._message.data = array.array("d", message.position * HORIZON)
        self._prediction.publish(self._message)
        answer = JointState(name=message.name, position=message.position)
        answer.header.stamp = message.header.stamp
        self._predicted.publish(answer)


if __name__ == "__main__":
    sys.exit(run(EchoNode, "rffpsr_filter"))
