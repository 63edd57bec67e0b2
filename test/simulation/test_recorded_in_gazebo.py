"""A minute of `worlds/arm.sdf` in Gazebo, message by message, through bridge, sampler and follower.

The file holds what passed on Gazebo's own topics (gz-sim 10.4.0): torques at random through the
nodes, resets between, and a pause. What ros_gz_bridge makes of a message is written out here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
import yaml

from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower, Step
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channel_file import load_channels
from rffpsr_ros.signals.events import SegmentEnd, Tick
from rffpsr_ros.signals.sampler import Sampler
from rffpsr_ros.training.signing import with_channels

RECORDED = Path(__file__).parent / "arm_in_gazebo.npz"
MS = 1_000_000
PERIOD = 50 * MS
STEP = 4 * MS
"""Of Gazebo: a tick ends with a step, which need not be where 50 ms end."""
SHORTEST = 40
"""Ticks of what is learned from and judged."""


class Message(NamedTuple):
    """As a node gets it from the bridge."""

    topic: str
    stamp_ns: int
    message: Any


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    with np.load(RECORDED) as file:
        return dict(file)


@pytest.fixture(scope="module")
def bridge(checkout: Path) -> dict[str, Any]:
    entries = yaml.safe_load((checkout / "config" / "gazebo_bridge_arm.yaml").read_text())
    return {entry["gz_topic_name"]: entry for entry in entries}


@pytest.fixture(scope="module")
def messages(recorded: dict[str, Any], bridge: dict[str, Any]) -> list[Message]:
    return list(carried(recorded, bridge))


def carried(recorded: dict[str, Any], bridge: dict[str, Any]) -> Iterator[Message]:
    """Yield what the bridge makes of it; a command has the time of the clock when it arrives."""
    joints, now = [str(name) for name in recorded["joints"]], 0
    names = [bridge[str(topic)]["ros_topic_name"] for topic in recorded["topics"]]
    for number, stamp, values in zip(
        recorded["topic"], recorded["stamp_ns"].tolist(), recorded["values"], strict=True
    ):
        name = names[number]
        if name == "/clock":
            now = stamp
        elif name == "joint_states":
            position, velocity, effort = values.reshape(len(joints), 3).T
            state = {"position": position, "velocity": velocity, "effort": effort}
            yield Message(name, stamp, SimpleNamespace(name=joints, **state))
        else:
            yield Message(name, now, SimpleNamespace(data=float(values[0])))


@pytest.fixture(scope="module")
def runs(checkout: Path, messages: list[Message]) -> list[list[Tick]]:
    """Return the ticks of each segment."""
    sampler = Sampler(load_channels(checkout / "config" / "arm.yaml"))
    segments: list[list[Tick]] = [[]]
    for one in messages:
        for event in sampler.feed(*one):
            if isinstance(event, SegmentEnd):
                assert event.cause == "time_jump"
                segments.append([])
            else:
                segments[-1].append(event)
    return segments


@pytest.fixture(scope="module")
def trajectories(runs: list[list[Tick]]) -> list[Trajectory]:
    return [
        Trajectory(
            np.stack([tick.observation for tick in run]),
            np.stack([tick.action for tick in run]),
            PERIOD / 1e9,
        )
        for run in runs
        if len(run) >= SHORTEST
    ]


def test_gazebo_has_every_topic_of_the_bridge_with_its_type(
    recorded: dict[str, Any], bridge: dict[str, Any]
) -> None:
    seen = dict(zip(recorded["topics"].tolist(), recorded["types"].tolist(), strict=True))
    assert seen == {topic: entry["gz_type_name"] for topic, entry in bridge.items()}
    assert set(recorded["topic"].tolist()) == set(range(len(seen)))


def test_a_reset_begins_a_segment_and_a_pause_gives_no_tick(
    runs: list[list[Tick]], messages: list[Message]
) -> None:
    stamps = np.array([one.stamp_ns for one in messages if one.topic == "joint_states"])
    resets, repeated = np.diff(stamps) < 0, np.diff(stamps) == 0
    assert resets.sum() == len(runs) - 1 >= 3
    assert repeated.sum() > 100  # what a pause consists of
    for run in runs[1:]:
        assert run[0].start_ns <= STEP
        assert np.abs(run[0].observation).max() < 1.0  # hanging, hardly moved
    for run in runs:
        assert [tick.number for tick in run] == list(range(len(run)))
        lengths = np.diff([tick.stamp_ns for tick in run])
        assert np.abs(lengths - PERIOD).max() <= STEP
        assert np.isfinite([tick.observation for tick in run]).all()


def test_ticks_are_those_of_the_simulation_without_gazebo(
    checkout: Path, trajectories: list[Trajectory]
) -> None:
    pytest.importorskip("pydrake", reason="needs Drake: pip install drake")
    from rffpsr_ros.simulation.sdf_world import SdfWorld

    world = SdfWorld(checkout / "worlds" / "arm.sdf", PERIOD / 1e9)
    missed, changed = np.zeros(4), np.zeros(4)
    for run in trajectories:
        ahead = world.step(run.observations[:-1], run.actions[1:])
        missed += ((ahead - run.observations[1:]) ** 2).sum(0)
        changed += (np.diff(run.observations, axis=0) ** 2).sum(0)
    # Gazebo's ticks are 12 or 13 of its steps; a torque may act some steps after its tick began.
    assert (missed / changed).max() < 0.05


def test_what_is_learned_in_gazebo_forecasts_there(
    checkout: Path, messages: list[Message], trajectories: list[Trajectory]
) -> None:
    *train, test = trajectories
    learned = LinearARX().fit(train)
    errors = horizon_errors(learned, [test], 10).mse
    of_last = horizon_errors(LastObservation().fit(train), [test], 10).mse
    assert errors[0] < 0.5 * of_last[0]
    assert errors[9] < 0.3 * of_last[9]
    model = with_channels(learned, checkout / "config" / "arm.yaml")
    follower = Follower(model, FollowOptions(horizon=10))
    outcomes = [outcome for one in messages for outcome in follower.feed(*one)]
    steps = [one for one in outcomes if isinstance(one, Step)]
    forecasts = [one.forecast for one in steps if one.forecast is not None]
    assert len(forecasts) > 0.9 * len(steps)
    assert np.isfinite([one.values for one in forecasts]).all()
