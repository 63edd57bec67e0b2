"""What is complained of, and how often."""

from __future__ import annotations

from types import SimpleNamespace

from rffpsr_ros.nodes.shared.diagnostics import (
    AGAIN_SECONDS,
    QUIET_SECONDS,
    Complaints,
    on_one_line,
    worst,
)


class Told:
    """Complaints with a clock that is set by hand, and the lines they log."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        log = self.lines.append
        self.now = 0.0
        logger = SimpleNamespace(error=log, warning=log, info=log)
        self.complaints = Complaints(logger, lambda: self.now)


def test_a_complaint_is_said_once_and_again_only_after_it_was_over() -> None:
    told = Told()
    told.complaints.over("x", "better")
    for _ in range(3):
        told.complaints.error("x", "bad")
    told.complaints.warn("x", "worse")
    told.now = QUIET_SECONDS
    told.complaints.over("x", "better")
    told.complaints.over("x", "better")
    told.complaints.error("x", "bad")
    told.complaints.over("x", "best", at_once=True)
    told.complaints.error("x", "bad")
    assert told.lines == ["bad", "worse", "better", "bad", "best", "bad"]


def test_good_and_bad_in_turn_are_one_complaint_and_one_end_of_it() -> None:
    told = Told()
    for _ in range(100):
        told.now += 0.1
        told.complaints.error("x", "bad")
        told.complaints.over("x", "better")
    assert told.lines == ["bad"]
    for _ in range(100):
        told.now += 0.1
        told.complaints.over("x", "better")
    assert told.lines == ["bad", "better"]


def test_what_was_in_order_for_long_is_complained_of_anew() -> None:
    told = Told()
    told.complaints.error("x", "bad")
    told.complaints.over("x", "better")  # too soon to be believed, and nobody says so again
    told.now = QUIET_SECONDS
    told.complaints.error("x", "bad")
    told.now *= 2
    told.complaints.error("x", "bad")  # was never in order
    assert told.lines == ["bad", "bad"]


def test_what_happens_often_is_said_once_and_then_counted() -> None:
    told = Told()
    for gap in range(20):
        told.complaints.happened("gap", f"gap {gap}")
    told.complaints.happened("jump", "jump")
    told.now = AGAIN_SECONDS
    for gap in range(20, 22):
        told.complaints.happened("gap", f"gap {gap}")
    told.complaints.happened("jump", "jump")
    again = f"gap 20 (19 times more in the {AGAIN_SECONDS:.0f} s before)"
    assert told.lines == ["gap 0", "jump", again, "jump"]


def test_the_worst_level_wins() -> None:
    assert worst([]) == "ok"
    assert worst(["ok", "stale", "warn"]) == "stale"
    assert worst(["error", "stale"]) == "error"


def test_nobody_can_forge_a_line_or_fill_the_log() -> None:
    told = Told()
    told.complaints.error("x", "encoding 'a\n[ERROR] all is lost\x1b[2J'" + "x" * 10_000)
    (line,) = told.lines
    assert line.isprintable()
    assert "a\\n[ERROR]" in line
    assert len(line) < 700
    assert on_one_line("straße °C") == "straße °C"
