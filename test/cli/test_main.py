"""What holds for every command: how it begins, and how it ends."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rffpsr_ros import __version__
from rffpsr_ros.cli.commands.completion import completion_script
from rffpsr_ros.cli.main import COMMANDS, command_parser, main

Run = Callable[..., Any]


@pytest.fixture
def background(checkout: Path) -> Callable[..., subprocess.Popen[str]]:
    """Return a function that starts the command line in a process of its own."""

    def start(*words: object) -> subprocess.Popen[str]:
        # What was started in a shell's background ignores SIGINT, and so would its children.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return subprocess.Popen(
                [sys.executable, "-m", "rffpsr_ros.cli.main", *map(str, words)],
                env={**os.environ, "PYTHONPATH": str(checkout)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        finally:
            signal.signal(signal.SIGINT, before)

    return start


def test_version(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"rffpsr {__version__}\n"


def test_without_a_command_all_are_listed(run: Run) -> None:
    outcome = run()
    assert outcome.code == 0
    for name, command in COMMANDS.items():
        assert f"  {name:<12}{command.purpose}" in outcome.out


@pytest.mark.parametrize("words", [["help"], ["help", "info"]])
def test_help_is_a_word_too(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 0
    assert f"usage: rffpsr {'info' if len(words) > 1 else 'COMMAND'}" in capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([name, "--help"])
    assert end.value.code == 0
    assert f"usage: rffpsr {name}" in capsys.readouterr().out


def test_a_start_without_a_command_imports_nothing_heavy(checkout: Path) -> None:
    script = (
        "import sys; from rffpsr_ros.cli.main import main; main([]);"
        "sys.exit(str({'scipy', 'rosbags', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=checkout, capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == "set()"


def test_bags_and_options_come_in_any_order(
    run: Run, robots: list[Path], configuration: Path, here: Path
) -> None:
    words = ["--config", configuration, robots[1], "--model", "mean", "--out", "m", robots[2]]
    outcome = run("train", robots[0], *words)
    assert outcome.code == 0
    assert outcome.out.startswith("read 3 bags: 900 ticks")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_training_and_leaves_nothing_behind(
    number: signal.Signals,
    background: Callable[..., subprocess.Popen[str]],
    robot: Path,
    configuration: Path,
    here: Path,
) -> None:
    words = ["--config", configuration, "--out", "m", "--set", "learning.iterations=100000"]
    process = background("train", robot, *words)
    assert process.stderr is not None
    lines: list[str] = []
    while not lines or "refinement" not in lines[-1]:
        lines.append(process.stderr.readline())
        assert lines[-1], "".join(lines)
    process.send_signal(number)
    _, rest = process.communicate(timeout=60)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number]
    assert "Traceback" not in rest
    assert list(here.iterdir()) == []


def test_an_interrupted_bag_leaves_nothing_behind(
    run: Run, robot: Path, arx_model: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rffpsr_ros.recordings.bags.writer import BagWriter

    written = 0
    write = BagWriter.write

    def interrupted(self: BagWriter, *arguments: Any) -> None:
        nonlocal written
        written += 1
        if written > 50:
            raise KeyboardInterrupt
        write(self, *arguments)

    monkeypatch.setattr(BagWriter, "write", interrupted)
    outcome = run("predict", robot, "--model", arx_model, "--out", "bag", "--quiet")
    assert (outcome.code, outcome.err) == (130, "rffpsr: interrupted\n")
    assert list(here.iterdir()) == []


def test_a_reader_that_goes_away_is_no_fault(
    background: Callable[..., subprocess.Popen[str]], arx_model: Path
) -> None:
    process = background("info", arx_model, "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 0


def test_bash_completes_commands_options_choices_and_files(here: Path) -> None:
    (here / "run.bag").touch()
    for line, expected in (
        ("rffpsr tr", "train"),
        ("rffpsr train --resu", "--resume"),
        ("rffpsr train --model line", "linear_arx"),
        ("rffpsr completion z", "zsh"),
        ("rffpsr info ru", "run.bag"),
    ):
        words = line.split(" ")
        script = (
            f"{completion_script()}\n"
            f"COMP_WORDS=({' '.join(words)}) COMP_CWORD={len(words) - 1}\n"
            '_rffpsr; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.split() == [expected]
        assert done.stderr == ""


def test_completion_for_both_shells_is_printed(run: Run) -> None:
    bash, zsh = run("completion", "bash").out, run("completion", "zsh").out
    assert zsh.endswith(bash)
    for option in command_parser("predict").long_options():
        assert option in bash
