"""Progress is a bar on a terminal and plain lines in a log; tables are aligned; JSON is strict."""

import io
import json

import pytest

from rffpsr_ros.cli.console import ProgressBar, aligned, say_json


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_log_gets_a_line_per_stage_and_slow_quarter(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(0, 1000, 10))
    monkeypatch.setattr("rffpsr_ros.cli.console.time.monotonic", lambda: next(seconds))
    log = io.StringIO()
    with ProgressBar(log) as progress:
        progress("reading", 0.0)
        for k in range(1, 101):
            progress("refinement", k / 100)
    lines = log.getvalue().splitlines()
    assert lines == [
        "reading",
        "refinement",
        "refinement: 25 % after 10 s",
        "refinement: 50 % after 20 s",
        "refinement: 75 % after 30 s",
        "refinement: 100 % after 40 s",
    ]


def test_a_log_names_stages_that_come_in_turns_once() -> None:
    log = io.StringIO()
    with ProgressBar(log) as progress:
        for _ in range(3):
            progress("model 1 of 2, refinement", 0.1)
            progress("model 2 of 2, refinement", 0.1)
    assert log.getvalue().splitlines() == ["model 1 of 2, refinement", "model 2 of 2, refinement"]


def test_a_terminal_has_one_line_that_tells_the_stage_and_is_cleared_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = iter(range(1000))
    monkeypatch.setattr("rffpsr_ros.cli.console.time.monotonic", lambda: next(seconds))
    terminal = Terminal()
    with ProgressBar(terminal) as progress:
        progress("refinement", 0.0)
        progress("refinement", 0.5, 0.25)
        progress("guards", 0.0)
    written = terminal.getvalue()
    assert "refinement, error 0.25" in written
    assert "50%" in written
    assert "guards" in written
    assert "\n" not in written  # one line, again and again
    assert not written.split("\r")[-2].strip()  # nothing is left of it
    assert written.endswith("\r")


def test_a_note_stands_on_a_line_of_its_own() -> None:
    terminal = Terminal()
    with ProgressBar(terminal) as progress:
        progress("reading", 0.5)
        progress.note("a bag has no end")
        progress("reading", 1.0)
    assert "\ra bag has no end\n" in terminal.getvalue()


def test_quiet_says_nothing() -> None:
    terminal = Terminal()
    with ProgressBar(terminal, quiet=True) as progress:
        progress("refinement", 0.5)
    assert terminal.getvalue() == ""


def test_columns_are_aligned() -> None:
    assert aligned([["name", "value"], ["x", "1"], ["longer", "100"]], (1,)) == [
        "name    value",
        "x           1",
        "longer    100",
    ]


def test_json_has_null_for_what_is_not_finite(capsys: pytest.CaptureFixture[str]) -> None:
    say_json({"a": [1.0, float("nan")], "b": {"c": float("inf")}})
    assert json.loads(capsys.readouterr().out) == {"a": [1.0, None], "b": {"c": None}}
