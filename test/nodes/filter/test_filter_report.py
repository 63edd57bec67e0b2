"""What the filter's diagnostics say: of absurd values, and of clocks that differ."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from rffpsr_ros.forecasting.drift import DriftAlarm
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.nodes.filter.input_report import (
    MANY_JUMPS,
    awaited,
    clock_sentences,
    command_sentences,
    jump_sentences,
    obstacle,
)
from rffpsr_ros.nodes.filter.interface import FILTER
from rffpsr_ros.nodes.filter.report import (
    TOLD_SECONDS,
    _by_observation,
    _errors,
    drift_sentence,
    forecast_finding,
    model_finding,
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


def test_the_page_says_for_how_long_absurd_values_are_told_of() -> None:
    assert f"warn for {TOLD_SECONDS:.0f} s)" in " ".join(FILTER.description.split())


def test_an_alarm_names_observation_horizon_figures_and_what_to_look_at() -> None:
    signature = Signature(("shoulder", "elbow"), ("torque",), 0.05)
    said = drift_sentence(DriftAlarm(1, 10, 36.04, 0.6), signature)
    assert said.startswith("'elbow' is forecast clearly worse than in training (drift_warning):")
    assert "0.5 s ahead its typical squared error is 36 times that of training" in said
    assert "60% of forecasts missed the 90% band there; look at its sensor" in said
    assert "band" not in drift_sentence(DriftAlarm(0, 10, 36.04, None), signature)


def clocks(ahead: float, age: float = 0.0) -> list[str]:
    """Return what is said where commands are stamped so many seconds ahead of what is seen."""
    inputs: Any = [
        SimpleNamespace(
            topic=topic,
            resolved="/robot" + topic,
            age=lambda now_ns: age,
        )
        for topic in ("/seen", "/told")
    ]
    heard_ns = NOW_NS - round(age * 1e9)
    stamps = {"/seen": heard_ns, "/told": heard_ns + round(ahead * 1e9)}
    configuration = SimpleNamespace(max_gap=0.5, observations=[SimpleNamespace(topic="/seen")])
    follower: Any = SimpleNamespace(
        configuration=configuration,
        sampler=SimpleNamespace(newest_stamps=stamps),
    )
    return clock_sentences(inputs, follower, NOW_NS)


def going_back(publishers: int, jumps: int, in_a_row: int) -> tuple[dict[str, Any], Any]:
    """Return the topics of a robot whose stamps of what is seen went back, and its follower."""
    inputs: dict[str, Any] = {
        topic: SimpleNamespace(
            topic=topic, resolved="/robot" + topic, publishers=lambda: [None] * publishers
        )
        for topic in ("/seen", "/told")
    }
    sampler = SimpleNamespace(
        jumps={"/seen": jumps},
        jumps_in_a_row=in_a_row,
        waiting_for=[SimpleNamespace(topic="/told")],
    )
    follower: Any = SimpleNamespace(sampler=sampler)
    return inputs, follower


def test_clocks_that_differ_are_named_and_no_others() -> None:
    (ahead,) = clocks(7.0)
    assert ahead.startswith("the stamps of /robot/told are 7.0 s ahead of those of /robot/seen")
    (behind,) = clocks(-7.0, age=3.0)
    assert behind.startswith("the stamps of /robot/told are 7.0 s behind those of /robot/seen")
    assert clocks(0.01) == []
    assert clocks(0.0, age=30.0) == []


def test_two_publishers_are_named_where_stamps_go_back_and_forth() -> None:
    for in_a_row in (0, MANY_JUMPS):
        inputs, follower = going_back(publishers=2, jumps=MANY_JUMPS, in_a_row=in_a_row)
        (said,) = jump_sentences(inputs.values(), follower)
        assert said.startswith(
            "stamps on /robot/seen go back again and again, and it has 2 publishers: their clocks"
        )
        assert obstacle(inputs.values(), follower) == (said if in_a_row else "")
    for publishers, jumps in ((2, MANY_JUMPS - 1), (1, MANY_JUMPS)):
        inputs, follower = going_back(publishers, jumps, 0)
        assert jump_sentences(inputs.values(), follower) == []
    inputs, follower = going_back(1, MANY_JUMPS, MANY_JUMPS)
    assert "mend its publisher's clock" in obstacle(inputs.values(), follower)


def test_the_forecast_is_not_in_order_while_an_obstacle_keeps_it_from_following() -> None:
    live = SimpleNamespace(by_horizon=None, reference=None)
    follower: Any = SimpleNamespace(
        options=SimpleNamespace(future_actions="hold"),
        live_error=live,
        model=SimpleNamespace(signature=None),
        state=None,
        resets={},
        events={},
        withholds=False,
    )
    times: Any = SimpleNamespace(steps=1, values=dict)
    backlog: Any = SimpleNamespace(left_out=0, newly_left_out=0)
    finding = forecast_finding(follower, times, 4.0, backlog, "clocks differ")
    assert (finding.level, finding.message) == ("warn", "not following: clocks differ")


def test_commands_without_a_number_are_named_and_what_becomes_of_them() -> None:
    inputs, _ = going_back(1, 0, 0)
    empty = [(SimpleNamespace(topic="/told"), ("told.effort.a",))]
    sampler: Any = SimpleNamespace(empty_commands=empty, running=True)
    assert command_sentences(inputs, sampler) == [
        "no finite number for told.effort.a on /robot/told; the command before it stays in force"
    ]
    sampler.running = False
    assert command_sentences(inputs, sampler)[0].endswith("followed before a command")


def test_nothing_is_waited_for_where_stamps_that_go_back_are_in_the_way() -> None:
    """A jump forgets all that was heard, commands too: that these are missing is no cause."""
    assert "first sample of /robot/told" in awaited(*going_back(2, MANY_JUMPS, 0))
    assert awaited(*going_back(2, MANY_JUMPS, MANY_JUMPS)) == ""


def test_nobody_is_sent_to_reload_what_the_node_loads_by_itself() -> None:
    signature = Signature(("shoulder",), ("torque",), 0.05)
    model = SimpleNamespace(kind="rff_psr", signature=signature)
    served: Any = SimpleNamespace(model=model, path=Path("arm.psr"), checksum="c")
    source: Any = SimpleNamespace(gone=False, changed=True)
    assert "call ~/reload" in model_finding(served, source, "NumPy").message
    finding = model_finding(served, source, "NumPy", by_itself=True)
    assert finding.level == "ok"
    assert finding.message == "serving arm.psr; the newer file is loaded once it is complete"


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
