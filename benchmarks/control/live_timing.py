"""How soon the controller node answers: six joints at 50 Hz, single model and default ensemble.

    python -m benchmarks.control.live_timing                  both, 60 s each
    python -m benchmarks.control.live_timing --single --seconds 20

Over DDS, in real time: from just before a joint state is published to the receipt of the command
that answers it, in another process. Six pendulums move as they are commanded to; what they are
asked for is the course of recordings, plans have 10 ticks.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.control.courses import on_channels
from benchmarks.realtime import DOMAIN, LOOK_NS, node, usage
from benchmarks.six_joints import JOINT_STATE, JOINTS, Pendulums, in_motion, run_of
from rffpsr_ros import RFFPSR
from rffpsr_ros.models.contract import Learner
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.signals.channels import ChannelConfiguration

RATE = 50.0
EPISODES, LONG = 8, 500
HORIZON = 10
WITHIN = 10.0
"""Milliseconds within which a command is to answer an observation."""
WARM_UP_SECONDS = 4.0
PATIENCE = 120.0
NODE = "/rffpsr_controller"
ARRAY = "std_msgs/msg/Float64MultiArray"
HEAD = """\
| model | ticks | answered % | p50 ms | p99 ms | within 10 ms % | processor % |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |"""


class Figures(NamedTuple):
    """What one run gave."""

    ticks: int
    milliseconds: Array
    """Of the commands that came, in order."""
    processor_percent: float

    def row(self, name: str) -> str:
        """Return a row of the table."""
        p50, p99 = np.percentile(self.milliseconds, [50, 99])
        answered = 100 * len(self.milliseconds) / self.ticks
        within = 100 * np.sum(self.milliseconds <= WITHIN) / self.ticks
        return (
            f"| {name} | {self.ticks} | {answered:.1f} | {p50:.2f} | {p99:.2f} | {within:.1f}"
            f" | {self.processor_percent:.0f} |"
        )


def channels() -> ChannelConfiguration:
    """Return joint states as observations and an array of efforts as actions."""
    places = [f"data[{place}]" for place in range(len(JOINTS))]
    seen = [f"position.{joint}" for joint in JOINTS]
    told = {"topic": "/joint_commands", "type": ARRAY, "fields": places, "initial": 0.0}
    return ChannelConfiguration.from_mapping(
        {
            "rate": RATE,
            "observation": {
                "inputs": ["joints"],
                "joints": {"topic": "/joint_states", "type": JOINT_STATE, "fields": seen},
            },
            "action": {"inputs": ["told"], "told": told},
        }
    )


class Robot:
    """Six pendulums in real time, which take note of when their commands come."""

    def __init__(self) -> None:
        import rclpy
        from rclpy.node import Node
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray
        from trajectory_msgs.msg import JointTrajectory

        from rffpsr_ros.nodes.shared.rclpy_internals import take

        self._take = take
        rclpy.init(domain_id=DOMAIN)
        self._node = Node("robot")
        self._states = self._node.create_publisher(JointState, "/joint_states", 10)
        self._reference = self._node.create_publisher(Float64MultiArray, f"{NODE}/reference", 10)
        self._commands: Any = self._node.create_subscription(
            Float64MultiArray, "/joint_commands", _ignore, 100
        )
        self._plans: Any = self._node.create_subscription(
            JointTrajectory, f"{NODE}/trajectory", _ignore, 100
        )
        self._message = JointState(name=JOINTS)
        self._joints, self._effort = Pendulums(RATE), np.zeros(len(JOINTS))
        self._arrived: list[int] = []
        self._answered: list[int] = []

    def close(self) -> None:
        """Leave ROS."""
        import rclpy

        self._node.destroy_node()
        rclpy.shutdown()

    def run(self, course: Array, pid: int, ticks: int) -> Figures:
        """Be controlled along a course (n, 6); what is measured are its last ticks."""
        self._connect()
        self._ask(course)
        began, sent = time.perf_counter_ns(), dict[int, int]()
        period_ns = round(1e9 / RATE)
        start_ns, first = time.time_ns(), len(course) - ticks
        spent = 0.0
        for tick in range(len(course)):
            self._take_until(began + tick * period_ns)
            if tick == first:
                spent = usage(pid)[0]
                self._arrived.clear()
                self._answered.clear()
            stamp_ns = start_ns + tick * period_ns
            sent[stamp_ns] = time.perf_counter_ns()
            self._show(stamp_ns)
        self._take_until(time.perf_counter_ns() + period_ns)
        spent = usage(pid)[0] - spent
        took = [
            1e-6 * (arrived - sent[stamp])
            for arrived, stamp in zip(self._arrived, self._answered, strict=True)
        ]
        return Figures(ticks, np.array(took), 100 * spent * RATE / ticks)

    def _connect(self) -> None:
        """Wait until node and robot hear each other."""
        deadline = time.monotonic() + PATIENCE
        while not (
            self._states.get_subscription_count()
            and self._reference.get_subscription_count()
            and self._commands.get_publisher_count()
            and self._plans.get_publisher_count()
        ):
            assert time.monotonic() < deadline, "the node does not answer"
            time.sleep(0.05)

    def _ask(self, course: Array) -> None:
        """Enable the controller, and say what is asked for from now on."""
        import rclpy
        from std_srvs.srv import Trigger

        from rffpsr_ros.nodes.shared.message_classes import make
        from rffpsr_ros.recordings.forecast_messages import prediction_message

        self._reference.publish(prediction_message(make, course))
        client: Any = self._node.create_client(Trigger, f"{NODE}/enable")
        assert client.wait_for_service(timeout_sec=PATIENCE)
        future = client.call_async(Trigger.Request())
        rclpy.spin_until_future_complete(self._node, future, timeout_sec=PATIENCE)
        answer = future.result()
        assert answer is not None
        assert answer.success, answer.message

    def _show(self, stamp_ns: int) -> None:
        """Publish where the joints are after one more tick."""
        stamp = self._message.header.stamp
        stamp.sec, stamp.nanosec = divmod(stamp_ns, 10**9)
        self._message.position = self._joints.step(self._effort).tolist()
        self._states.publish(self._message)

    def _take_until(self, moment: int) -> None:
        while (left := moment - time.perf_counter_ns()) > 0:
            if (command := self._take(self._commands)) is not None:
                self._arrived.append(time.perf_counter_ns())
                self._effort = np.array(command[0].data)
            elif (plan := self._take(self._plans)) is not None:
                stamp = plan[0].header.stamp  # of the observation that is answered
                self._answered.append(stamp.sec * 10**9 + stamp.nanosec)
            elif left > LOOK_NS:
                time.sleep(LOOK_NS / 1e9)


def _ignore(message: Any) -> None:
    """Take a message; what waits is taken by looking, not by an executor."""


def measure(model: Path, folder: Path, ticks: int) -> Figures:
    """Return what the node gave with a model."""
    options = {"horizon": HORIZON, "budget": WITHIN, "range_margin": 0.0, "error_limit": 0.0}
    given = {"model_path": model, "resume_after": 0.1, "limits.low": [-1.0], "limits.high": [1.0]}
    command = ["executables/controller_node", "--ros-args"]
    for name, value in {**options, **given}.items():
        command += ["-p", f"{name}:={value}"]
    course = in_motion(RATE, round(WARM_UP_SECONDS * RATE) + ticks, 99).observations
    with node(command, folder, "compiled code is ready:") as pid, closing(Robot()) as robot:
        return robot.run(course, pid, ticks)


def main(words: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of each model (60)")
    parser.add_argument("--single", action="store_true", help="no ensemble")
    options = parser.parse_args(words)
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    learners: dict[str, Learner] = {"single RFF-PSR": SingleRFFPSR()}
    if not options.single:
        learners["RFFPSR()"] = RFFPSR()
    runs = [run_of(RATE, LONG, seed) for seed in range(EPISODES)]
    print(HEAD, flush=True)
    with tempfile.TemporaryDirectory() as place:
        for name, learner in learners.items():
            model = Path(place) / f"{len(name)}.psr"
            on_channels(learner.fit(runs[1:], runs[:1]), channels()).save(model)
            figures = measure(model, Path(place), round(options.seconds * RATE))
            print(figures.row(name), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
