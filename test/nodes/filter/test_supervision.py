"""Whoever asks is told when forecasts stop, and has them again when the node is back."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.nodes.filter.promise import deadline_seconds

PERIOD_NS = 50_000_000
START_NS = 1_000_000_000_000
TOPIC = "/rffpsr_filter/prediction"


def test_the_deadline_follows_the_time_between_forecasts_unless_it_is_given() -> None:
    assert deadline_seconds(0.0, 0.05, 1) == pytest.approx(0.5)
    assert deadline_seconds(0.0, 0.05, 4) == pytest.approx(2.0)
    assert deadline_seconds(0.2, 0.05, 4) == 0.2


class Robot:
    """Sends a tick whenever it is asked to."""

    def __init__(self, peer: Any) -> None:
        from sensor_msgs.msg import JointState

        self._peer, self._kind, self._tick = peer, JointState, 0
        for topic in ("/command", "/joint_states"):
            peer.publisher(topic, JointState)

    def move(self) -> None:
        stamp = START_NS + self._tick * PERIOD_NS
        self._send("/command", stamp, name=["a"], effort=[0.1])
        position = [float(np.sin(0.3 * self._tick))]
        self._send("/joint_states", stamp + 1000, name=["o"], position=position)
        self._tick += 1
        self._peer.spin()

    def _send(self, topic: str, stamp_ns: int, **values: Any) -> None:
        message = self._kind(**values)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
        self._peer.publish(topic, message)

    def move_until(self, condition: Any, what: str) -> None:
        def done() -> Any:
            self.move()
            return condition()

        self._peer.until(done, what)


def test_a_killed_node_is_noticed_and_forecasts_come_back(ros: Any, synthetic_model: Path) -> None:
    from rclpy.duration import Duration
    from rclpy.event_handler import SubscriptionEventCallbacks
    from rclpy.qos import LivelinessPolicy, QoSProfile
    from std_msgs.msg import Float64MultiArray

    peer = ros.peer
    missed: list[Any] = []
    alive: list[int] = []
    unheard: list[Any] = []
    node = ros.start("filter_node", model_path=synthetic_model, deadline=0.5)
    plain = peer.collect(TOPIC, Float64MultiArray)
    asked: list[Any] = []
    quality = QoSProfile(
        depth=10,
        deadline=Duration(seconds=0.5),
        liveliness=LivelinessPolicy.AUTOMATIC,
        liveliness_lease_duration=Duration(seconds=1),
    )
    told = SubscriptionEventCallbacks(
        deadline=missed.append,
        liveliness=lambda event: alive.append(event.alive_count),
        incompatible_qos=unheard.append,
    )
    subscription = peer.node.create_subscription(
        Float64MultiArray, TOPIC, asked.append, quality, event_callbacks=told
    )
    robot = Robot(peer)
    peer.matched("/joint_states", "/command")
    node.wait_for("serving")
    robot.move_until(lambda: len(asked) > 5 and len(plain) > 5, "forecasts, asked for or not")
    assert node.end(signal.SIGKILL) == -signal.SIGKILL
    before = len(missed)
    robot.move_until(lambda: len(missed) > before, "the deadline to be missed")
    robot.move_until(lambda: alive and alive[-1] == 0, "the publisher to be gone")
    had = len(asked), len(plain)
    again = ros.start("filter_node", model_path=synthetic_model, deadline=0.5)
    again.wait_for("serving")
    robot.move_until(
        lambda: len(asked) > had[0] + 5 and len(plain) > had[1] + 5, "forecasts of the new node"
    )
    assert alive[-1] == 1
    assert unheard == []  # nobody ever saw an offer that is too weak
    assert again.end() == 0
    peer.node.destroy_subscription(subscription)


def test_one_who_asks_for_more_than_is_offered_is_told_so(ros: Any, synthetic_model: Path) -> None:
    from rclpy.duration import Duration
    from rclpy.event_handler import SubscriptionEventCallbacks
    from rclpy.qos import QoSProfile
    from std_msgs.msg import Float64MultiArray

    peer = ros.peer
    unheard: list[Any] = []
    node = ros.start("filter_node", model_path=synthetic_model)
    quality = QoSProfile(depth=10, deadline=Duration(nanoseconds=400_000_000))
    told = SubscriptionEventCallbacks(incompatible_qos=unheard.append)
    subscription = peer.node.create_subscription(
        Float64MultiArray, TOPIC, print, quality, event_callbacks=told
    )
    node.wait_for("serving")
    peer.until(lambda: unheard, "the default, ten ticks of 50 ms, to be too weak")
    assert peer.set_parameter("/rffpsr_filter", "publish_every", 2)
    peer.until(
        lambda: (
            {
                one.qos_profile.deadline.nanoseconds
                for one in peer.node.get_publishers_info_by_topic(TOPIC)
            }
            == {1_000_000_000}
        ),
        "twice as long a deadline with half the forecasts",
    )
    assert node.end() == 0
    peer.node.destroy_subscription(subscription)


def test_a_node_without_a_model_shows_that_it_lives(ros: Any, tmp_path: Path) -> None:
    from diagnostic_msgs.msg import DiagnosticArray

    node = ros.start("filter_node", model_path=tmp_path / "nothing.psr")
    beats = ros.peer.collect("/diagnostics", DiagnosticArray)
    ros.peer.until(lambda: len(beats) > 2, "heartbeats")
    status, *_ = beats[-1].status
    assert status.name == "rffpsr_filter: model"
    assert "no model is served" in status.message
    assert node.end() == 0
