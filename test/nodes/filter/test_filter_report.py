"""What the filter's diagnostics say: of absurd values, and of clocks that differ."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from rffpsr_ros.forecasting.drift import DriftAlarm
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.nodes.filter.report import (
    TOLD_SECONDS,
    _by_observation,
    _errors,
    clock_sentences,
    drift_sentence,
    outlier_finding,
)

NOW_NS = 50_000_000_000


def told(since: int | None, observed: list[int], acted: list[int]) -> Any:
    """Return what the diagnostics say after values that were rejected."""
    gate = SimpleNamespace(
        observed=SimpleNamespace(count=np.array(observed)),
        acted=SimpleNamespace(count=np.array(acted)),
    )
    signature = SimpleNamespace(observation_names=("x", "y"), action_names=("u",), period=0.1)
    follower: Any = SimpleNamespace(
        guard=SimpleNamespace(gate=gate, replaced=2),
        model=SimpleNamespace(signature=signature),
        withheld=3,
        ticks_since_outlier=since,
    )
    return outlier_finding(follower)


def test_absurd_values_are_counted_by_column_and_told_of_for_a_while() -> None:
    for since, level in ((0, "warn"), (round(10 * TOLD_SECONDS), "warn")):
        assert told(since, [0, 4], [1]).level == level
    later = told(round(10 * TOLD_SECONDS) + 1, [0, 4], [1])
    assert later.level == "ok"
    assert later.values == {
        "rejected: y": 4,
        "rejected: u": 1,
        "states begun anew": 2,
        "forecasts withheld": 3,
    }
    assert told(None, [0, 0], [0]).level == "ok"


def test_an_alarm_names_observation_horizon_figures_and_what_to_look_at() -> None:
    signature = Signature(("shoulder", "elbow"), ("torque",), 0.05)
    said = drift_sentence(DriftAlarm(1, 10, 36.04, 0.6), signature)
    assert said.startswith("'elbow' is forecast clearly worse than in training (drift_warning):")
    assert "0.5 s ahead its typical squared error is 36 times that of training" in said
    assert "60% of forecasts missed the 90% band there; look at its sensor" in said
    assert "band" not in drift_sentence(DriftAlarm(0, 10, 36.04, None), signature)


def clocks(ahead: float, publishers: int = 1, jumps: int = 0, age: float = 0.0) -> list[str]:
    """Return what is said where commands are stamped so many seconds ahead of what is seen."""
    inputs: Any = [
        SimpleNamespace(
            topic=topic,
            resolved="/robot" + topic,
            age=lambda now_ns: age,
            publishers=lambda: [None] * publishers,
        )
        for topic in ("/seen", "/told")
    ]
    heard_ns = NOW_NS - round(age * 1e9)
    stamps = {"/seen": heard_ns, "/told": heard_ns + round(ahead * 1e9)}
    configuration = SimpleNamespace(max_gap=0.5, observations=[SimpleNamespace(topic="/seen")])
    follower: Any = SimpleNamespace(
        configuration=configuration,
        sampler=SimpleNamespace(newest_stamps=stamps),
        resets={"time_jump": jumps},
    )
    return clock_sentences(inputs, follower, NOW_NS)


def test_clocks_that_differ_are_named_and_no_others() -> None:
    (ahead,) = clocks(7.0)
    assert ahead.startswith("the stamps of /robot/told are 7.0 s ahead of those of /robot/seen")
    (behind,) = clocks(-7.0, age=3.0)
    assert behind.startswith("the stamps of /robot/told are 7.0 s behind those of /robot/seen")
    assert clocks(0.01) == []
    assert clocks(0.0, age=30.0) == []


def test_two_publishers_are_named_where_stamps_go_back_and_forth() -> None:
    said = clocks(0.0, publishers=2, jumps=20)
    assert [sentence.split(" has ")[0] for sentence in said] == [
        "stamps went back 20 times, and /robot/seen",
        "stamps went back 20 times, and /robot/told",
    ]
    assert clocks(0.0, publishers=2) == []
    assert clocks(0.0, publishers=1, jumps=20) == []


def test_live_errors_are_told_by_observation_with_units() -> None:
    names, units = ("shoulder", "elbow", "wrist"), ("rad", "", "m")
    signature = Signature(names, ("torque",), 0.05, observation_units=units)
    squares = np.array([[1.0, 1.0, 1.0], [4.0, 9.0, np.nan]])
    assert _by_observation(squares, signature) == {
        "live error at horizon 2: shoulder [rad]": 2.0,
        "live error at horizon 2: elbow": 3.0,
    }
    assert _by_observation(None, signature) == {}


def test_of_a_horizon_at_which_nothing_was_seen_no_error_is_told() -> None:
    squares = np.full((10, 2), np.nan)
    squares[9] = [4.0, np.nan]
    assert _errors(squares, None) == {"live error at horizon 10": 2.0}
    assert _errors(np.full((10, 2), np.nan), None) == {}
