"""The command line in the test's own process."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from rffpsr_ros.cli.main import main


class Outcome(NamedTuple):
    """What running the command line came to."""

    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command line with some words."""

    def run_words(*words: object) -> Outcome:
        capsys.readouterr()
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Outcome(code, out, err)

    return run_words


@pytest.fixture(scope="session")
def arx_model(tmp_path_factory: pytest.TempPathFactory, robot: Path, configuration: Path) -> Path:
    """Return a linear ARX model of the robot, which takes no time to train."""
    path = tmp_path_factory.mktemp("models") / "arx.model"
    words = ["train", str(robot), "--config", str(configuration), "--out", str(path), "--quiet"]
    assert main([*words, "--model", "linear_arx", "--split", "0.6,0.2,0.2"]) == 0
    return path
