"""`rffpsr check` says what recordings can teach, and `train` passes its warnings on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def test_a_good_bag_is_called_good(run: Run, robot: Path, configuration: Path) -> None:
    outcome = run("check", robot, "--config", configuration, "--quiet")
    assert (outcome.code, outcome.err) == (0, "")
    assert "these data can teach a model" in outcome.out
    assert "'motor.data' (from -" in outcome.out
    assert "V) is open in" in outcome.out


@pytest.mark.parametrize("command", ["check", "train"])
def test_a_short_bag_is_called_short(
    command: str, run: Run, workshop: Any, configuration: Path, here: Path
) -> None:
    workshop.write_robot(here / "short", 120)
    words = ["--config", configuration, "--quiet"]
    if command == "check":
        outcome = run("check", here / "short", *words)
        assert outcome.code == 0
        assert "WARNING  too short" in outcome.out
        assert outcome.out.endswith("1 thing to put right; see above\n")
        return
    words += ["--out", "m", "--model", "linear_arx"]
    lines = run("train", here / "short", *words).err.splitlines()
    assert sum(line.startswith("rffpsr: warning: too short") for line in lines) == 1
    assert (here / "m").exists()
    assert run("train", here / "short", *words, "--no-check").err == ""


def test_json_has_the_figures_behind_the_words(run: Run, robot: Path, configuration: Path) -> None:
    report = json.loads(run("check", robot, "--config", configuration, "--quiet", "--json").out)
    assert {"ticks", "findings", "actions", "policy", "conditioning"} <= report.keys()
    (motor,) = report["actions"]
    assert (motor["name"], motor["unit"]) == ("motor.data", "V")
    assert 0.005 < report["policy"]["p_value"] <= 1
    assert report["conditioning"]["independent_windows"] < report["windows"]


def test_a_misspelt_option_is_refused_before_reading(run: Run, configuration: Path) -> None:
    outcome = run("check", "nowhere", "--config", configuration, "--set", "learning.rnk=3")
    assert outcome.code == 2
    assert "did you mean 'rank'?" in outcome.err


def test_plot_is_drawn(run: Run, robot: Path, configuration: Path, here: Path) -> None:
    pytest.importorskip("matplotlib")
    assert run("check", robot, "--config", configuration, "--plot", "p.png", "--quiet").code == 0
    assert (here / "p.png").read_bytes().startswith(b"\x89PNG")
