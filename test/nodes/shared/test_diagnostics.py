"""What is complained of, and how often."""

from __future__ import annotations

from types import SimpleNamespace

from rffpsr_ros.nodes.shared.diagnostics import Complaints, on_one_line, worst


def test_a_complaint_is_said_once_and_again_only_after_it_was_over() -> None:
    lines: list[str] = []
    logger = SimpleNamespace(error=lines.append, warning=lines.append, info=lines.append)
    complaints = Complaints(logger)
    complaints.over("x", "better")
    for _ in range(3):
        complaints.error("x", "bad")
    complaints.warn("x", "worse")
    complaints.over("x", "better")
    complaints.error("x", "bad")
    assert lines == ["bad", "worse", "better", "bad"]


def test_the_worst_level_wins() -> None:
    assert worst([]) == "ok"
    assert worst(["ok", "stale", "warn"]) == "stale"
    assert worst(["error", "stale"]) == "error"


def test_nobody_can_forge_a_line_or_fill_the_log() -> None:
    lines: list[str] = []
    logger = SimpleNamespace(error=lines.append, warning=lines.append, info=lines.append)
    Complaints(logger).error("x", "encoding 'a\n[ERROR] all is lost\x1b[2J'" + "x" * 10_000)
    (line,) = lines
    assert line.isprintable()
    assert "a\\n[ERROR]" in line
    assert len(line) < 700
    assert on_one_line("straße °C") == "straße °C"
