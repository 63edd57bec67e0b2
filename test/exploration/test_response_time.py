"""Dead times and time constants are those of systems that have them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rffpsr_ros.exploration.findings import findings
from rffpsr_ros.exploration.response_time import ResponseTime, response_times
from rffpsr_ros.exploration.response_words import nav2_lines, response_table
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.training.data_check import check_data

PERIOD = 0.05
NAMES = ("odom.twist.twist.linear.x", "odom.twist.twist.angular.z")
COMMANDS = ("cmd_vel.linear.x", "cmd_vel.angular.z")


def lagging(
    dead: tuple[int, int] = (4, 1),
    constant: tuple[float, float] = (0.5, 0.2),
    noise: float = 0.02,
    hold: int = 3,
    integrating: bool = False,
) -> list[Trajectory]:
    """Return runs of a base whose axes follow commands after dead times, as first-order lags."""
    generator = np.random.default_rng(1)
    runs = []
    for _ in range(4):
        ticks = 600
        acted = np.repeat(generator.uniform(-1, 1, (ticks // hold, 2)), hold, axis=0)
        decay = np.exp(-PERIOD / np.array(constant))
        state, seen = np.zeros(2), []
        for tick in range(ticks):
            late = [acted[tick - d, axis] if tick >= d else 0.0 for axis, d in enumerate(dead)]
            step = (1 - decay) * np.array(late)
            state = state + step if integrating else decay * state + step
            seen.append(state + noise * generator.normal(size=2))
        runs.append(Trajectory(np.array(seen), acted, PERIOD, NAMES, COMMANDS))
    return runs


def of(found: tuple[ResponseTime, ...], axis: int) -> ResponseTime:
    (one,) = [r for r in found if (r.observation, r.action) == (NAMES[axis], COMMANDS[axis])]
    return one


@pytest.mark.parametrize("dead", [(4, 1), (0, 12)])
def test_dead_times_are_found_axis_by_axis(dead: tuple[int, int]) -> None:
    found = response_times(lagging(dead))
    assert len(found) == 2  # neither axis responds to the other's command
    for axis in (0, 1):
        one = of(found, axis)
        assert one.dead_time == pytest.approx(dead[axis] * PERIOD)
        assert PERIOD / 4 < one.dead_time_error < PERIOD


def test_time_constants_lie_within_their_errors() -> None:
    found = response_times(lagging(noise=0.002))
    for axis, constant in ((0, 0.5), (1, 0.2)):
        one = of(found, axis)
        assert abs(one.time_constant - constant) < 3 * one.time_constant_error + 0.1 * constant
        assert one.time_constant_error < 0.3 * constant


def test_a_position_does_not_settle() -> None:
    found = response_times(lagging(noise=1e-4, integrating=True))
    assert math.isinf(of(found, 0).time_constant)
    assert of(found, 0).dead_time == pytest.approx(4 * PERIOD)
    assert "does not settle" in " ".join(response_table(found)[1])


def test_what_does_not_respond_is_left_out() -> None:
    generator = np.random.default_rng(0)
    noise = [
        Trajectory(generator.normal(size=(800, 2)), generator.normal(size=(800, 2)), PERIOD)
        for _ in range(2)
    ]
    assert response_times(noise) == ()
    assert response_times([lagging()[0].slice(0, 200)]) == ()  # too short
    assert response_table(()) == []


def test_nav2_is_told_each_axis() -> None:
    lines = nav2_lines(response_times(lagging()))
    assert lines[:3] == ["controller_server:", "  ros__parameters:", "    FollowPath:"]
    assert lines[3].startswith("      model_delay_vx: 0.2  # s, ± ")
    assert lines[4].startswith("      model_delay_wz: 0.05  # s, ± ")
    assert len(lines) == 5
    other = [
        one._replace(observation="imu.angular_velocity.z") for one in response_times(lagging())
    ]
    assert nav2_lines(other) == []


def test_the_verdict_agrees_with_the_table_on_what_responds() -> None:
    generator = np.random.default_rng(0)
    acted, seen = generator.normal(size=1000), np.zeros(1000)
    for tick in range(20, 1000):  # later than what the test of a response looks at
        seen[tick] = 0.8 * seen[tick - 1] + acted[tick - 20]
    seen += 0.05 * generator.normal(size=1000)
    check = check_data([Trajectory(seen, acted, PERIOD, ("y",), ("u",))], {}, responses=True)
    assert [(one.action, one.observation) for one in check.responses or ()] == [("u", "y")]
    (said,) = [one for one in findings(check) if one.subject == "u"]
    assert said.level == "ok"
    assert said.sentence.endswith("and observations respond to it")
