"""Streams that are closed or full, names that no terminal can show: one sentence at most."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rffpsr_ros.evaluation.plots import empty_figure

Run = Callable[..., Any]


@pytest.fixture
def shell(checkout: Path, here: Path) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Return a function that runs the command line by a shell's words."""

    def run_words(words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["bash", "-c", f'exec "{sys.executable}" -m rffpsr_ros.cli.main {words}'],
            env={**os.environ, "PYTHONPATH": str(checkout), **environment},
            capture_output=True,
            check=False,
        )

    return run_words


Shell = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.mark.parametrize("closing", ["2>&-", "2>/dev/full", "<&- 2>&-"])
def test_work_goes_on_though_nobody_can_take_its_account(
    closing: str, shell: Shell, robot: Path, configuration: Path
) -> None:
    ended = shell(f"check {robot} --config {configuration} {closing}")
    assert ended.returncode == 0
    assert b"observations" in ended.stdout


@pytest.mark.parametrize("closing", ["2>&-", "2>/dev/full", ">&- 2>&-"])
def test_a_complaint_that_nobody_can_take_has_its_exit_code(closing: str, shell: Shell) -> None:
    assert shell(f"info none {closing}").returncode == 2


def test_a_name_that_the_terminal_cannot_show_is_escaped(
    shell: Shell, arx_model: Path, here: Path
) -> None:
    (here / "\u00fc.model").write_bytes(arx_model.read_bytes())
    (here / os.fsdecode(b"\xff.model")).write_bytes(arx_model.read_bytes())
    shown = shell("info \u00fc.model", PYTHONIOENCODING="ascii:strict")
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert rb"\xfc.model" in shown.stdout
    shown = shell("info $'\\xff.model'", PYTHONIOENCODING="utf-8:strict")
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert rb"\udcff.model" in shown.stdout


def test_what_acts_on_a_terminal_is_not_printed_as_a_result(
    run: Run, arx_model: Path, here: Path
) -> None:
    odd = here / "a\x1b[2J\u202e.model"
    odd.write_bytes(arx_model.read_bytes())
    outcome = run("info", odd)
    assert outcome.code == 0
    assert r"a\x1b[2J\u202e.model" in outcome.out


def test_a_link_that_leads_nowhere_is_no_bag(run: Run, here: Path) -> None:
    (here / "loop").symlink_to("loop")
    (here / "broken").symlink_to("none")
    for name in ("loop", "broken", "bro*"):
        outcome = run("inspect", name)
        assert outcome.code == 2
        assert "leads nowhere" in outcome.err


def test_a_pipe_is_not_replaced_by_forecasts(
    run: Run, robot: Path, arx_model: Path, here: Path
) -> None:
    os.mkfifo("pipe.csv")
    outcome = run("predict", robot, "--model", arx_model, "--out", "pipe.csv", "--quiet")
    assert outcome.code == 2
    assert "not a file" in outcome.err
    assert (here / "pipe.csv").is_fifo()


@pytest.mark.parametrize(
    "words",
    [
        ["info", "m", "--" + "n" * 100_000],
        ["n" * 100_000],
        ["train", "b", "--config", "c", "--out", "m", "--seed", "9" * 5000],
        ["predict", "b", "--model", "m", "--out", "o", "--horizon", "9" * 5000],
        ["completion", "n" * 100_000],
    ],
)
def test_what_is_quoted_does_not_drown_the_sentence(words: list[str], run: Run) -> None:
    outcome = run(*words)
    assert outcome.code == 2
    assert len(outcome.err) < 700


def test_a_horizon_beyond_every_array_is_refused(run: Run, robot: Path, arx_model: Path) -> None:
    for horizon in (2**31, 10**20):
        outcome = run("evaluate", robot, "--model", arx_model, "--horizon", str(horizon), "--quiet")
        assert outcome.code == 2
        assert "nothing to score" in outcome.err


@pytest.mark.parametrize("topic", [os.fsdecode(b"/a\xff"), "/a\nb", "/1a", "/a//b", "/a b"])
def test_a_table_goes_to_no_topic_that_ros_does_not_know(topic: str, run: Run, here: Path) -> None:
    (here / "t.csv").write_text("time,a\n1,2\n2,3\n")
    outcome = run("csv2bag", "t.csv", "--out", "bag", "--quiet", "--topic", f"{topic}=a")
    assert outcome.code == 2
    assert "no topic can be called" in outcome.err
    assert not (here / "bag").exists()


def test_a_backend_of_no_kind_is_refused(shell: Shell, robot: Path, arx_model: Path) -> None:
    assert empty_figure(1, 1) is not None
    words = f"evaluate {robot} --model {arx_model} --plot a.png --quiet"
    ended = shell(words, MPLBACKEND="none of these")
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"rffpsr: matplotlib cannot be used")
    assert ended.stderr.count(b"\n") == 1
