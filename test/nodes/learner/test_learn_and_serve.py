"""Rounds of learning and serving: the learner trains by itself, the filter follows on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import yaml

from benchmarks.live_robot import CHANNELS, PERIOD_NS, START_NS
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.recipe.more.kept_file import kept_path, read_kept
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import simulate

ROUNDS = 5
EPISODES = 2
"""New ones in a round."""
TICKS = 60
BEGIN = 3
"""Ticks after each change of model that begin a new segment, at the most."""
LEARNING = {
    "iterations": 2,
    "features": 20,
    "past": 5,
    "future": 3,
    "arx_past": 5,
    "narx_features": 10,
    "narx_affine": "off",
    "narx_learning": "off",
}


class Runner:
    """A robot that is driven at random without an end, faster than time."""

    def __init__(self, ros: Any) -> None:
        from sensor_msgs.msg import JointState

        self.ros, self.ticks = ros, 0
        self._message = JointState
        self._actions = np.random.default_rng(0).uniform(-0.5, 0.5, (20_000, 1))
        self._seen = simulate(SyntheticSystem(), self._actions, seed=0).observations

    def episode(self) -> None:
        """Run while the learner records."""
        assert self.ros.peer.call("/rffpsr_learner/start_episode").success
        self.run(TICKS)
        self.ros.peer.settle()
        assert self.ros.peer.call("/rffpsr_learner/end_episode").success

    def run_until(self, condition: Callable[[], bool], what: str) -> None:
        """Run until something is so."""

        def so() -> bool:
            self.run(5)
            return condition()

        self.ros.peer.until(so, what, patience=180)

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            now = START_NS + self.ticks * PERIOD_NS
            self._publish("/command", now, ["a"], effort=[self._actions[self.ticks, 0]])
            seen = [self._seen[self.ticks, 0]]
            self._publish("/joint_states", now + PERIOD_NS - 10**6, ["o"], position=seen)
            self.ticks += 1
            self.ros.peer.wait(0.004)

    def _publish(self, topic: str, stamp_ns: int, name: list[str], **values: Any) -> None:
        message = self._message(name=name, **values)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
        self.ros.peer.publish(topic, message)


def decisions(ros: Any) -> list[dict[str, str]]:
    """Return a list of what the learner decides, as it does."""
    from diagnostic_msgs.msg import DiagnosticStatus
    from rclpy.qos import DurabilityPolicy, QoSProfile

    qos = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    found: list[dict[str, str]] = []

    def note(message: Any) -> None:
        values = {pair.key: pair.value for pair in message.values}
        if "decision" in values and values["decision"] not in [one["decision"] for one in found]:
            found.append({**values, "": message.message})

    ros.peer.node.create_subscription(DiagnosticStatus, "/rffpsr_learner/status", note, qos)
    return found


class Pair:
    """A learner that trains by itself, and a filter that serves its model."""

    def __init__(self, ros: Any) -> None:
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray

        channels = ros.folder / "channels.yaml"
        channels.write_text(yaml.safe_dump({**CHANNELS, "learning": LEARNING}), encoding="utf-8")
        self.model = ros.folder / "models" / "robot.psr"
        self.model.parent.mkdir()
        self.learner = ros.start(
            "learner_node",
            channels_file=channels,
            minimum_free_disk=1.0,
            model_path=self.model,
            retrain_after=EPISODES,
        )
        self.filter = ros.start("filter_node", model_path=self.model, reload_when_newer=True)
        for topic in ("/joint_states", "/command"):
            ros.peer.publisher(topic, JointState)
        ros.peer.matched("/joint_states", "/command")
        self.decided = decisions(ros)
        self.forecasts = ros.peer.collect("/rffpsr_filter/prediction", Float64MultiArray)
        self.written = 0

    def round(self, robot: Runner) -> None:
        """Record episodes, wait for what the learner makes of them, and for that to be served."""
        before = len(self.decided)
        for _ in range(EPISODES):
            robot.episode()
        robot.run_until(lambda: len(self.decided) > before, "a decision")
        self.written += self.decided[-1][""].startswith("model written")
        robot.run_until(lambda: self.filter.count("serving ") == self.written, "it served")


def test_rounds_of_learning_and_serving_lose_no_message(ros: Any) -> None:
    pair, robot = Pair(ros), Runner(ros)
    pair.round(robot)
    ros.peer.matched("/joint_states", "/command", listeners=2)
    ros.peer.heard("/rffpsr_filter/prediction")
    robot.run_until(lambda: len(pair.forecasts) > 0, "forecasts")
    ros.peer.settle()
    pair.forecasts.clear()
    first = robot.ticks
    for _ in range(ROUNDS - 1):
        pair.round(robot)
    assert ros.peer.call("/rffpsr_learner/train").success  # which is served, better or not
    robot.run_until(lambda: len(pair.decided) > ROUNDS, "a model that was asked for")
    pair.written += 1
    robot.run_until(lambda: pair.filter.count("serving ") == pair.written, "it served")
    robot.run(20)
    ros.peer.settle()
    asked = robot.ticks - first
    least = asked - BEGIN * (pair.written - 1)
    ros.peer.until(lambda: len(pair.forecasts) >= least, "every forecast", patience=20)
    assert len(pair.forecasts) <= asked
    assert pair.decided[-1][""].startswith("model written")
    assert pair.decided[0]["decision"] == "trained on all 2 episodes"
    for one in pair.decided[1:ROUNDS]:
        goes_on = "went on from robot.psr with" in one["decision"]
        assert goes_on or "more than 2 times what robot.psr was decided by" in one["decision"]
        better = "the new model is better: error" in one["decision"]
        assert one[""].startswith("model written" if better else "the model stays")
    known = read_kept(kept_path(pair.model), load_model(pair.model)).bags
    assert len(known) >= EPISODES + pair.written - 1
    assert pair.learner.end() == 0
    assert pair.filter.end() == 0
