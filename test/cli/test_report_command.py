"""The page that `rffpsr report` writes has the figures that `rffpsr evaluate --json` prints."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[..., Any]

DATA = re.compile(r'<script type="application/json" id="evaluation">(.*?)</script>')


def test_figures_are_those_of_evaluate(run: Run, robot: Path, arx_model: Path, here: Path) -> None:
    words = [robot, "--model", arx_model, "--split", "0.6,0.2,0.2", "--horizon", 5]
    outcome = run("report", *words, "--out", "r.html")
    assert outcome.code == 0, outcome.err
    told = json.loads(run("evaluate", *words, "--json").out)
    text = (here / "r.html").read_text()
    assert len(text) < 5_000_000
    (data,) = DATA.findall(text)
    assert json.loads(data) == told
    assert outcome.out.splitlines()[-2:] == [
        f"verdict: {told['verdict']['sentences'][0]}",
        *told["verdict"]["sentences"][1:],
    ]
    for words_on_the_page in (
        "rffpsr report",
        "--split 0.6,0.2,0.2",
        "topic: /encoder",
        "--horizon 5",
    ):
        assert words_on_the_page in text


def test_a_place_that_cannot_be_written_is_told_before_work(
    run: Run, robot: Path, arx_model: Path
) -> None:
    outcome = run("report", robot, "--model", arx_model, "--out", "nowhere/r.html")
    assert outcome.code == 2
    assert "no folder 'nowhere'" in outcome.err
    assert "judging" not in outcome.err


def test_training_writes_a_report_on_what_was_left_out(
    run: Run, robot: Path, configuration: Path, here: Path
) -> None:
    words = ["train", robot, "--config", configuration, "--out", "m", "--model", "linear_arx"]
    assert run(*words, "--split", "0.6,0.2,0.2", "--report", "r.html").code == 0
    (data,) = DATA.findall((here / "r.html").read_text())
    told = run("evaluate", robot, "--model", "m", "--split", "0.6,0.2,0.2", "--json").out
    assert json.loads(data) == json.loads(told)
