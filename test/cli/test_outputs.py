"""What is written replaces files of its own kind, and no others."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["report", "--out"], "page.html"),
        (["predict", "--out"], "ahead.csv"),
        (["predict", "--out"], "ahead.CSV"),
        (["evaluate", "--plot"], "errors.png"),
        (["check", "--plot"], "responses.png"),
    ],
)
def test_other_files_stay_as_they_are(
    words: list[str], name: str, run: Run, robot: Path, arx_model: Path, configuration: Path
) -> None:
    command, option = words
    by = ["--config", configuration] if command == "check" else ["--model", arx_model]
    target = arx_model.parent / name
    for _ in range(2):  # the second replaces the first
        outcome = run(command, robot, *by, option, target)
        assert outcome.code == 0, outcome.err
        assert target.is_file()
    precious = b"time,angle\n0,1\n"
    target.write_bytes(precious)
    outcome = run(command, robot, *by, option, target)
    assert outcome.code == 2
    assert "is there already and is not a" in outcome.err
    assert target.read_bytes() == precious


def test_no_report_replaces_the_model_it_is_of(run: Run, robot: Path, arx_model: Path) -> None:
    before = arx_model.read_bytes()
    assert run("report", robot, "--model", arx_model, "--out", arx_model).code == 2
    assert arx_model.read_bytes() == before
