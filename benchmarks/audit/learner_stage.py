"""A running learner, what it is to record, and whether it keeps it and tells the truth."""

from __future__ import annotations

import shutil
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from benchmarks.audit.case import Broken, lost_data, untrue_state
from benchmarks.live_nodes import NodeProcess, Ros
from benchmarks.live_robot import CHANNELS, PERIOD_NS, QUICK, START_NS, TOPICS
from rffpsr_ros.recordings.bags.opening import open_bag
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import simulate

NODE = "/rffpsr_learner"
TICKS = 25


class LearnerStage:
    """A learner that has a folder of episodes, and folders where models may be written."""

    def __init__(self, ros: Ros) -> None:
        from diagnostic_msgs.msg import DiagnosticStatus
        from rclpy.qos import DurabilityPolicy, QoSProfile
        from sensor_msgs.msg import JointState

        self.ros, self.peer = ros, ros.peer
        self.message = JointState
        self.episodes = ros.folder / "episodes"
        self.models = ros.folder / "models"
        self.models.mkdir()
        self.known: dict[Path, int] = {}
        self.now_ns = START_NS
        qos = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.statuses: list[Any] = []
        ros.peer.node.create_subscription(
            DiagnosticStatus, f"{NODE}/status", self.statuses.append, qos
        )
        self.channels = ros.folder / "channels.yaml"
        self.channels.write_text(yaml.safe_dump({**CHANNELS, "learning": QUICK}), encoding="utf-8")
        self.connect()
        self.node = self.start()
        self.recovers()

    def start(self) -> NodeProcess:
        """Start a learner, and wait until it listens."""
        node = self.ros.start(
            "learner_node",
            channels_file=self.channels,
            dataset_directory=self.episodes,
            model_path=self.models / "first.psr",
            minimum_free_disk=1.0,
        )
        node.wait_for("listening to")
        self.peer.matched(*TOPICS)
        return node

    def start_again(self) -> None:
        """Start another learner after the one there was has ended, by whatever."""
        self.node.process.kill()
        self.node.process.wait()
        self.ros.renew_peer()
        self.__dict__.update({"peer": self.ros.peer})
        self._listen_again()
        self.connect()
        self.node = self.start()

    def _listen_again(self) -> None:
        from diagnostic_msgs.msg import DiagnosticStatus
        from rclpy.qos import DurabilityPolicy, QoSProfile

        qos = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.peer.node.create_subscription(
            DiagnosticStatus, f"{NODE}/status", self.statuses.append, qos
        )

    def connect(self) -> None:
        """Create the publishers."""
        for topic in TOPICS:
            self.peer.publisher(topic, self.message)

    def call(self, service: str) -> Any:
        """Call a service of the learner."""
        return self.peer.call(f"{NODE}/{service}")

    def set(self, name: str, value: Any) -> bool:
        """Set a parameter of the learner; return whether it took it."""
        return self.peer.set_parameter(NODE, name, value)

    def send(self, topic: str, stamp_ns: int, **values: Any) -> None:
        """Send a message."""
        message = self.message(**values)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, 10**9)
        self.peer.publish(topic, message)
        self.peer.wait(0.002)

    def play(self, ticks: int = TICKS) -> None:
        """Send a run of the synthetic system, each later than the one before."""
        actions = np.random.default_rng(ticks).uniform(-0.5, 0.5, (ticks, 1))
        run = simulate(SyntheticSystem(), actions, seed=ticks)
        for tick in range(ticks):
            self.send("/command", self.now_ns, name=["a"], effort=[float(actions[tick, 0])])
            seen = [float(run.observations[tick, 0])]
            self.send("/joint_states", self.now_ns + PERIOD_NS - 1, name=["o"], position=seen)
            self.now_ns += PERIOD_NS

    def kept(self) -> list[Path]:
        """Return the bags that there are."""
        if not self.episodes.is_dir():
            return []
        return sorted(one for one in self.episodes.iterdir() if one.is_dir() and one.name[0] != ".")

    def status(self, text: str) -> Any:
        """Wait until the newest status says something, and return it."""

        def said() -> Any:
            newest = self.statuses[-1] if self.statuses else None
            return newest if newest is not None and text in newest.message else None

        return self.peer.until(said, f"'{text}' in the status")

    def forget_episodes(self) -> None:
        """Remove the folder of the episodes, as a disk is removed; that these are gone is right."""
        shutil.rmtree(self.episodes)
        self.known.clear()

    def record(self) -> Path:
        """Record an episode and hold it whole."""
        self.call("discard_episode")
        before = set(self.kept())
        if not (answer := self.call("start_episode")).success:
            raise untrue_state(f"no episode can be recorded any more: {answer.message}")
        self.peer.matched(*TOPICS)
        self.play()
        self.peer.settle()
        self.peer.taken_by(NODE)
        if not (answer := self.call("end_episode")).success:
            raise lost_data(f"an episode is not kept: {answer.message}")
        new = [bag for bag in self.kept() if bag not in before]
        if len(new) != 1 or count(new[0]) != 2 * TICKS:
            raise lost_data(f"{[(bag.name, count(bag)) for bag in new]} of {2 * TICKS} messages")
        self.known[new[0]] = 2 * TICKS
        return new[0]

    def recovers(self) -> None:
        """Hold that an episode is recorded whole, all before it are there, and the status true."""
        if not self.node.alive:
            return
        self.record()
        gone = [bag.name for bag, size in self.known.items() if count(bag) != size]
        if gone:
            raise lost_data(f"{gone[:3]} of earlier cases")
        kept = len(self.kept())
        self.peer.until(lambda: self._values().get("kept episodes") == str(kept), "the true count")
        newest = self.statuses[-1]
        if "failed: " in newest.message and "training" not in newest.message:
            raise Broken("traceback", f"a callback failed: {newest.message}")
        if newest.level == b"\x02" and "training" not in newest.message:
            raise untrue_state(f"it records, and says: {newest.message}")
        if self._values()["recording"]:
            raise untrue_state("it records nothing, and says that it does")

    def _values(self) -> dict[str, str]:
        return {pair.key: pair.value for pair in self.statuses[-1].values} if self.statuses else {}

    def children(self) -> list[int]:
        """Return the processes that the learner has started."""
        found: list[int] = []
        for task in Path(f"/proc/{self.node.process.pid}/task").iterdir():
            found += [int(one) for one in (task / "children").read_text().split()]
        return found

    def train(self) -> None:
        """Start a training and wait until it has a process."""
        if not (answer := self.call("train")).success:
            raise untrue_state(f"no training: {answer.message}")
        deadline = time.monotonic() + 30
        while not self.children() and time.monotonic() < deadline:
            self.peer.spin()


def count(bag: Path) -> int:
    """Return how many messages a bag holds; 0 if there is none."""
    if not bag.is_dir():
        return 0
    with closing(open_bag(bag)) as source:
        return sum(1 for _ in source.messages(source.topics))
