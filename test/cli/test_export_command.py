"""`rffpsr export` writes folders of files, whole or not at all."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from rffpsr_ros.cli.main import main
from rffpsr_ros.export.files import FORMATS
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.recordings.trajectory import Trajectory


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a model."""
    generator = np.random.default_rng(0)
    run = Trajectory(generator.normal(size=(80, 2)), generator.normal(size=(80, 1)), 0.1)
    path = tmp_path_factory.mktemp("models") / "My robot-2.model"
    LinearARX(past=2, future=3).fit([run]).save(path)
    return path


def test_files_are_named_after_the_model(
    model: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(model), "--format", "c", "--out", "made"]) == 0
    assert {path.name for path in (here / "made").iterdir()} == {
        "my_robot_2.c",
        "my_robot_2.h",
        "my_robot_2.hpp",
        "example.c",
    }
    assert "void my_robot_2_update(" in (here / "made" / "my_robot_2.h").read_text()
    assert "MY_ROBOT_2_OBSERVATIONS = 2" in (here / "made" / "my_robot_2.h").read_text()
    assert "made: my_robot_2.h, my_robot_2.c" in capsys.readouterr().out


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_written(model: Path, here: Path, kind: str) -> None:
    if any(find_spec(package) is None for package in FORMATS[kind].needs):
        pytest.skip("needs the extra 'export'")
    words = ["export", str(model), "--format", kind, "--out", "made", "--name", "arm"]
    assert main([*words, "--horizon", "3"]) == 0
    assert any(path.name.startswith("arm") for path in (here / "made").iterdir())


def test_what_cannot_be_done_is_one_sentence(
    model: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "there").mkdir()
    for words, said in (
        (["--format", "c", "--out", "there"], "exists already"),
        (["--format", "c", "--out", "no/made"], "no folder"),
        (["--format", "c", "--out", "made", "--name", "while"], "cannot name functions"),
        (["--format", "c", "--out", "made", "--horizon", "0"], "at least 1"),
        (["--format", "rust", "--out", "made"], "invalid choice"),
        (["--out", "made"], "--format"),
    ):
        assert main(["export", str(model), *words]) == 2
        assert said in capsys.readouterr().err
    assert not (here / "made").exists()


def test_a_missing_package_is_named(
    model: Path, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rffpsr_ros.export.files.find_spec", lambda name: None)
    assert main(["export", str(model), "--format", "casadi", "--out", "made"]) == 2
    assert "pip install onnx casadi" in capsys.readouterr().err
    assert not (here / "made").exists()
