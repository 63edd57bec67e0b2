"""A simulated robot on topics, in its own time, that can be made to misbehave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.live_nodes import Peer
from rffpsr_ros.simulation.synthetic import SyntheticSystem

PERIOD_NS = 50_000_000
START_NS = 1_700_000_000 * 10**9
SYSTEM = SyntheticSystem()
TOPICS = ("/joint_states", "/command")
CHANNELS: dict[str, Any] = {
    "rate": 20.0,
    "observation": {
        "inputs": ["joints"],
        "joints": {"topic": "/joint_states", "fields": ["position.o"]},
    },
    "action": {
        "inputs": ["command"],
        "command": {"topic": "/command", "fields": ["effort.a"]},
    },
}
"""What a learner records of it; it finds the types where they are published."""
QUICK = {"iterations": 2, "features": 20, "past": 5, "future": 3, "arx_past": 5}
"""What it learns with where only its going through matters."""


class Robot:
    """The paper's synthetic system as a robot with one joint."""

    def __init__(self, peer: Peer) -> None:
        from sensor_msgs.msg import JointState

        self.peer = peer
        self.message = JointState
        self.now_ns = START_NS
        self.state = np.zeros(2)
        self.draw = np.random.default_rng(0)
        self.between: Callable[[], Any] = lambda: self.peer.wait(0.004)
        self.connect()

    def connect(self) -> None:
        """Create the publishers."""
        for topic in ("/joint_states", "/command"):
            self.peer.publisher(topic, self.message)

    def tick(self, **changes: Any) -> None:
        """Send a command and what is seen a tick later, with parts of it changed."""
        action = self.draw.uniform(-0.5, 0.5, 1)
        self.state = SYSTEM.step(self.state, action)
        self.command(effort=action.tolist())
        self.now_ns += PERIOD_NS
        self.see(**changes)

    def command(self, **values: Any) -> None:
        """Send a command."""
        self.send("/command", name=["a"], **values)

    def see(self, late_ns: int = 0, **changes: Any) -> None:
        """Send an observation."""
        values = {"name": ["o"], "position": [float(self.state[0])], **changes}
        self.send("/joint_states", self.now_ns - late_ns, **values)

    def send(self, topic: str, stamp_ns: int | None = None, **values: Any) -> None:
        """Send a message, and give it time to be taken before the next."""
        message = self.message(**values)
        stamp = message.header.stamp
        stamp.sec, stamp.nanosec = divmod(self.now_ns if stamp_ns is None else stamp_ns, 10**9)
        self.peer.publish(topic, message)
        self.between()

    def run(self, ticks: int) -> None:
        """Behave for some ticks."""
        for _ in range(ticks):
            self.tick()
