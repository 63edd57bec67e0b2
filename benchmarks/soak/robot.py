"""Publishes the joint states of `six_joints` in real time, and what the faults make of them.

A process of its own: ``python -m benchmarks.soak.robot OUT``, where OUT/robot.json says how, until
its standard input ends. Then OUT/sent.npz holds what was sent, and OUT/robot_events.json when each
fault began and ended.
"""

from __future__ import annotations

import itertools
import json
import os
import select
import sys
import time
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from benchmarks.six_joints import JOINTS, NOISE, Pendulums, ticks_held
from benchmarks.soak.faults import OF_ROBOT, Alter, Fault, Plan, Sample
from rffpsr_ros.numerics.arrays import Array

PATIENCE = 60.0
LOOK_TICKS = 50
BLOCK = 1000
"""Efforts and noise are drawn for so many ticks at once."""


class Robot:
    """The sender, and what it has sent."""

    def __init__(self) -> None:
        self._node = Node("robot")
        self._joints = self._node.create_publisher(JointState, "/joint_states", 10)
        topic = "/rffpsr_filter/planned_actions"
        self._plans = self._node.create_publisher(Float64MultiArray, topic, 10)
        self._message = JointState(name=JOINTS)
        self.stamps, self.moments, self.good = array("q"), array("q"), array("b")
        self.late = array("q")

    def connect(self) -> None:
        """Wait until somebody listens."""
        deadline = time.monotonic() + PATIENCE
        while not self._joints.get_subscription_count():
            assert time.monotonic() < deadline, "nobody listens to the robot"
            time.sleep(0.02)

    def send(self, sample: Sample, due: int, good: bool) -> None:
        """Publish a joint state, which was due at some time, and take note of it."""
        stamp = self._message.header.stamp
        stamp.sec, stamp.nanosec = divmod(sample.stamp_ns, 10**9)
        self._message.position = sample.position.tolist()
        self._message.effort = sample.effort.tolist()
        self.stamps.append(sample.stamp_ns)
        now = time.monotonic_ns()
        self.moments.append(now)
        self.late.append(now - due)
        self.good.append(good)
        self._joints.publish(self._message)

    def announce(self, plan: Plan) -> None:
        """Publish a plan."""
        message = Float64MultiArray(data=array("d", plan.values))
        message.layout.dim = [MultiArrayDimension(size=size % 2**32) for size in plan.sizes]
        self._plans.publish(message)


def motion(rate: float, seed: int) -> Iterator[tuple[Array, Array]]:
    """Yield measured positions, and the efforts that act from then on, without end."""
    generator, pendulums, hold = np.random.default_rng(seed), Pendulums(rate), ticks_held(rate)
    effort = np.zeros(6)
    tick = 0
    while True:
        for noise in NOISE * generator.normal(size=(BLOCK, 6)):
            position = pendulums.step(effort) + noise
            if tick % hold == 0:
                effort = generator.uniform(-1, 1, 6)
            tick += 1
            yield position, effort


def run(out: Path, rate: float, seed: int, faults: list[Fault]) -> None:
    """Drive, and write down what was sent."""
    robot = Robot()
    robot.connect()
    # What listens began a moment ago; so long nothing is sent.
    time.sleep(1.0)
    events = _drive(robot, rate, seed, faults)
    (out / "robot_events.json").write_text(json.dumps(events), encoding="utf-8")
    noted = {name: getattr(robot, name) for name in ("stamps", "moments", "good", "late")}
    np.savez(out / "sent.npz", **noted)


def _drive(robot: Robot, rate: float, seed: int, faults: list[Fault]) -> list[dict[str, Any]]:
    period_ns = round(1e9 / rate)
    base_ns, began = time.time_ns(), time.monotonic_ns()
    print(began, flush=True)
    waiting = sorted(faults, key=lambda fault: fault.at, reverse=True)
    events: list[dict[str, Any]] = []
    alter: Alter | None = None
    first, last, shift_ns = 0, -1, 0
    moving = motion(rate, seed)
    for tick in itertools.count():
        if tick % LOOK_TICKS == 0 and select.select([sys.stdin], [], [], 0)[0]:
            return events
        due = began + tick * period_ns
        if (left := due - time.monotonic_ns()) > 0:
            time.sleep(left / 1e9)
        if alter is not None and tick > last:
            alter, events[-1]["end"] = None, time.monotonic_ns()
        if alter is None and waiting and waiting[-1].at * rate <= tick:
            fault = waiting.pop()
            kind = OF_ROBOT[fault.kind]
            first, last = tick, tick + max(0, round(kind.seconds * rate) - 1)
            alter = kind.make(np.random.default_rng(fault.seed), last - first + 1)
            if kind.jump_seconds:
                # A nanosecond more each time: no stamp is sent twice.
                shift_ns += round(kind.jump_seconds * 1e9) + 1
            events.append({"kind": fault.kind, "begin": time.monotonic_ns(), "end": 0})
        sample = Sample(base_ns + tick * period_ns + shift_ns, *next(moving))
        if alter is None:
            robot.send(sample, due, True)
            continue
        for sent in alter(tick - first, sample):
            if isinstance(sent, Plan):
                robot.announce(sent)
            else:
                robot.send(sent, due, False)
    raise AssertionError("there is always another tick")


def come_first() -> None:
    """Come before node and listener, where they have a real-time priority.

    A robot is a machine of its own: it does not stand still while a node starts.
    """
    policy, priority = os.sched_getscheduler(0), os.sched_getparam(0).sched_priority
    if policy in (os.SCHED_FIFO, os.SCHED_RR) and priority < os.sched_get_priority_max(policy):
        os.sched_setscheduler(0, policy, os.sched_param(priority + 1))


def main() -> None:
    """Do as a file says."""
    come_first()
    out = Path(sys.argv[1])
    asked = json.loads((out / "robot.json").read_text(encoding="utf-8"))
    faults = [Fault(*one) for one in asked.pop("faults")]
    rclpy.init()
    run(out, faults=faults, **asked)


if __name__ == "__main__":
    main()
