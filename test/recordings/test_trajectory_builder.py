"""Segments become trajectories."""

from types import SimpleNamespace

import numpy as np

from rffpsr_ros.recordings import Trajectory, TrajectoryBuilder
from rffpsr_ros.signals import ChannelConfiguration, Event, Sampler

CONFIGURATION = ChannelConfiguration.from_mapping(
    {
        "rate": 10,
        "max_gap": 0.3,
        "observation": {"inputs": ["pose"], "pose": {"topic": "/pose", "fields": ["x"]}},
        "action": {"inputs": ["cmd"], "cmd": {"topic": "/cmd", "fields": ["u"], "initial": 1}},
    }
)


def build(values: list[float], minimum_ticks: int = 2) -> tuple[list[Trajectory], int]:
    sampler = Sampler(CONFIGURATION)
    builder = TrajectoryBuilder(sampler, "run", minimum_ticks)
    found = []
    for i, value in enumerate(values):
        events: list[Event] = sampler.feed("/pose", i * 100_000_000, SimpleNamespace(x=value))
        found += builder.add(events)
    found += builder.add(sampler.end_segment())
    return found, builder.dropped_ticks


def test_rows_at_the_end_in_which_nothing_was_seen_are_left_out() -> None:
    nan = float("nan")
    found, dropped = build([0, 1, nan, 3, nan, nan, nan, nan, nan, 5, 6, nan, 8, 9])
    assert dropped == 0
    first, second = found
    np.testing.assert_array_equal(first.observations[:, 0], [1, nan, 3])
    np.testing.assert_array_equal(second.observations[:, 0], [6, nan, 8, 9])
    assert (first.label, second.label) == ("run", "run#2")
    assert first.observation_names == ("pose.x",)
    assert first.action_names == ("cmd.u",)
    assert first.period == 0.1
    assert first.actions.tolist() == [[1]] * 3


def test_short_segments_are_dropped_and_counted() -> None:
    found, dropped = build([0, 1, 2], minimum_ticks=3)
    assert (found, dropped) == ([], 2)


def test_long_segments_grow() -> None:
    (trajectory,), _ = build(list(range(2001)))
    assert trajectory.observations[:, 0].tolist() == list(range(1, 2001))
