"""The soak: how it judges, and every fault once against a real node."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.soak.faults import KILL, KINDS, schedule, seconds_of_a_round
from benchmarks.soak.verdict import (
    BEFORE_NS,
    STANDSTILL,
    STEADY,
    Event,
    answers_of,
    growth,
    judged,
    outside,
    recoveries,
    standstills,
)

MS = 1_000_000
TICKS = 1000
SENT_AT = np.arange(TICKS, dtype=np.int64) * MS
MARGIN = BEFORE_NS // MS


def test_each_stamp_that_was_sent_has_the_time_of_its_first_answer() -> None:
    sent = np.array([10, 20, 30, 40])
    stamps, moments = np.array([30, 10, 30, 99]), np.array([7, 5, 6, 8])
    assert answers_of(sent, stamps, moments).tolist() == [5, 0, 6, 0]
    assert answers_of(sent, np.array([]), np.array([])).tolist() == [0, 0, 0, 0]


def test_a_fault_lasts_until_answers_are_steady_again() -> None:
    answered = np.ones(TICKS, dtype=bool)
    answered[300:340] = False
    answered[345] = False  # not steady yet
    (found,) = recoveries(SENT_AT, answered, [Event("stop", 300 * MS, 320 * MS)])
    assert found.ticks == 346 - 320
    assert found.seconds == pytest.approx(0.046)
    assert (found.first, found.last) == (300 - MARGIN, 346)
    assert (outside(TICKS, [found]) == ((SENT_AT < 280 * MS) | (SENT_AT >= 346 * MS))).all()


def test_a_fault_without_a_steady_answer_before_the_next_one_is_not_recovered_from() -> None:
    answered = np.ones(TICKS, dtype=bool)
    answered[300 : 400 - MARGIN - STEADY + 1] = False
    events = [Event("gap", 300 * MS, 301 * MS), Event("jump", 400 * MS, 400 * MS)]
    first, second = recoveries(SENT_AT, answered, events)
    assert first.ticks is None
    assert second.ticks == 0
    answered[400 - MARGIN - STEADY] = True
    first, _ = recoveries(SENT_AT, answered, events)
    assert first.ticks == 400 - MARGIN - STEADY - 301


def test_what_the_machine_held_up_is_an_event_unless_it_is_part_of_one() -> None:
    due = np.arange(TICKS) * MS
    sent = due.copy()
    for first, last in ((200, 300), (600, 700)):
        sent[first:last] = np.maximum(due[first:last], last * MS)  # then all at once
    expected = [
        Event(STANDSTILL, 200 * MS, 300 * MS),
        Event(STANDSTILL, 600 * MS, 700 * MS),
    ]
    assert standstills(sent, sent - due, []) == expected
    # A node was killed at 0.55 s and gave its first answer at 0.75 s.
    answered = (due < 550 * MS) | (due >= 750 * MS)
    found = recoveries(sent, answered, [Event(KILL, 550 * MS, 560 * MS, True)])
    assert standstills(sent, sent - due, found) == expected[:1]
    assert standstills(due, np.full(TICKS, 49 * MS), []) == []


def test_a_standstill_cuts_no_other_window_short() -> None:
    due = np.arange(TICKS) * MS
    sent = due.copy()
    sent[580:700] = 700 * MS  # while the node that was killed has answered ten ticks
    answered = (due < 550 * MS) | (due >= 570 * MS)
    kill = Event(KILL, 550 * MS, 560 * MS, True)
    found = judged(sent, sent - due, answered, [kill])
    assert [one.kind for one in found] == [KILL, STANDSTILL]
    assert [one.ticks for one in found] == [0, 0]
    answered[710:] = False
    assert outside(TICKS, judged(sent, sent - due, answered, [kill]))[710:].all()


def test_a_node_that_begins_anew_is_judged_from_its_first_answer() -> None:
    answered = np.ones(TICKS, dtype=bool)
    answered[300:600] = False
    answered[610] = False
    (found,) = recoveries(SENT_AT, answered, [Event(KILL, 300 * MS, 500 * MS, True)])
    assert found.ticks == 11
    assert found.seconds == pytest.approx(0.311)


def test_growth_is_what_came_after_the_warm_up() -> None:
    at = np.arange(0, 1000, 2.0)
    sizes = np.where(at < 300, at, 300 + 0.01 * (at - 300))
    assert growth(list(at), list(sizes), 300) == pytest.approx(6.3, abs=0.1)
    assert growth(list(at[:200]), list(sizes[:200]), 300) is None


def test_the_same_seed_gives_the_same_faults_and_a_node_lives_for_long() -> None:
    faults = schedule(3600, 12, 3)
    assert faults == schedule(3600, 12, 3)
    assert faults != schedule(3600, 12, 4)
    kills = [fault.at for fault in faults if fault.kind == KILL]
    assert len(kills) >= 2
    assert min(np.diff(kills)) > 1000
    once = schedule(seconds_of_a_round(3.0), 3.0, 0)
    assert sorted(fault.kind for fault in once) == sorted(KINDS)


def test_the_node_survives_every_fault(tmp_path: Path, checkout: Path) -> None:
    pytest.importorskip("rclpy", reason="needs ROS 2: rclpy is not installed")
    file = tmp_path / "soak.json"
    words = ["--quick", "--every", "2.5", "--rate", "100", "--quick-model", "--echo-seconds", "0"]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.soak", *words, "--record", "--file", str(file)],
        check=False,
        cwd=checkout,
        capture_output=True,
        text=True,
    )
    assert file.exists(), done.stdout + done.stderr
    record = json.loads(file.read_text(encoding="utf-8"))
    assert set(record["faults"]) - {STANDSTILL} == set(KINDS)
    assert [kind for kind in KINDS if record["faults"][kind]["recovered"] < 1] == []
    assert record["deaths"] == 0
    assert record["problems"] == []
    assert record["forecasts not finite"] == 0
    assert len(record["lives"]) == 2
    for life in record["lives"]:
        assert max(life["pss MB"]) < 500
        assert max(life["descriptors"]) < 50
        assert life["threads"][0] == life["threads"][1]
