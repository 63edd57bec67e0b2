"""Real filter nodes: silent on the robot learned from, and a changed robot is told of once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.live_robot import SYSTEM
from rffpsr_ros.numerics.arrays import Array
from test.nodes.filter.test_filter_faults import Watched

ALARM = "clearly worse than in training"
MOST_TICKS = 600
"""Within which forecasts are judged, and a change is told."""


class Follows:
    """A watched node that is fed as fast as it answers."""

    def __init__(self, watched: Watched, gain: float) -> None:
        self.watched, self.gain = watched, gain
        robot = watched.robot
        # A command taken after what it led to would make the robot another one.
        robot.between = lambda: robot.peer.taken_by("/rffpsr_filter")
        robot.draw = np.random.default_rng(7)

    def run(self, ticks: int) -> None:
        """Let the robot move, and its motor give a share of what is asked."""
        robot = self.watched.robot
        for _ in range(ticks):
            action: Array = robot.draw.uniform(-0.5, 0.5, 1)
            robot.state = SYSTEM.step(robot.state, self.gain * action)
            robot.command(effort=action.tolist())
            robot.now_ns += 50_000_000
            robot.see()

    def run_until(self, true: Callable[[], bool], what: str) -> None:
        """Let the robot move until something is true."""
        for _ in range(MOST_TICKS):
            if true():
                return
            self.run(1)
        self.watched.peer.until(true, what)


def judged(watched: Watched) -> Callable[[], bool]:
    """Return whether the diagnostics hold a conclusion."""

    def told() -> bool:
        return any(
            value.key == "typical squared error over training"
            for array in watched.diagnostics[-1:]
            for status in array.status
            for value in status.values
        )

    return told


@pytest.mark.parametrize("seed", [1, 2])
def test_the_robot_learned_from_raises_no_alarm_and_a_changed_one_does(
    ros: Any, synthetic_model: Path, seed: int
) -> None:
    watched = Watched(ros, synthetic_model)
    watched.begin()
    follows = Follows(watched, 1.0)
    watched.robot.draw = np.random.default_rng(seed)
    follows.run_until(judged(watched), "a conclusion")
    assert watched.node.count(ALARM) == 0
    follows.gain = 0.2
    follows.run_until(lambda: watched.node.count(ALARM) > 0, "an alarm in the log")
    follows.run(30)
    watched.told("forecast", ALARM)
    assert watched.node.count(ALARM) == 1
