"""A training in another process: what it is asked, what it leaves, and how it may die."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rffpsr_ros.nodes.learner.training_process import _write
from rffpsr_ros.nodes.learner.training_run import TrainingRun

DIES_UNASKED = "raise SystemExit(3)"
NEVER_LISTENS = "import time; time.sleep(60)"
PRINTS_NUMBERS = "print(1); print('[2]'); print('{\"error\": \"it is so\"}')"


@pytest.fixture
def as_process(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Let other code run instead of a training."""
    popen = subprocess.Popen

    def use(code: str) -> None:
        monkeypatch.setattr(
            subprocess,
            "Popen",
            lambda _, **options: popen([sys.executable, "-c", code], **options),
        )

    return use


def result(run: TrainingRun) -> dict[str, Any]:
    deadline = time.monotonic() + 30
    while (found := run.poll()) is None:
        assert time.monotonic() < deadline, "waited in vain for the end of the process"
        time.sleep(0.01)
    return found


def many_bags(folder: Path) -> list[Path]:
    """Return names that make a request of several times what a pipe takes."""
    return [folder / f"{number:0200d}" for number in range(2000)]


def test_a_long_request_to_a_process_that_dies_is_one_sentence(
    as_process: Callable[[str], None], tmp_path: Path
) -> None:
    as_process(DIES_UNASKED)
    run = TrainingRun({}, many_bags(tmp_path), tmp_path / "model.psr")
    assert result(run) == {"error": "training ended with code 3"}


def test_a_long_request_to_a_process_that_never_listens_can_be_cancelled(
    as_process: Callable[[str], None], tmp_path: Path
) -> None:
    as_process(NEVER_LISTENS)
    run = TrainingRun({}, many_bags(tmp_path), tmp_path / "model.psr")
    assert run.poll() is None
    run.cancel()
    assert "killed by signal" in result(run)["error"] or "code" in result(run)["error"]


def test_what_a_library_prints_is_no_answer(
    as_process: Callable[[str], None], tmp_path: Path
) -> None:
    as_process(PRINTS_NUMBERS)
    assert result(TrainingRun({}, [], tmp_path / "model.psr")) == {"error": "it is so"}


@pytest.mark.parametrize("name", ["*", "[a-z]*", "env"])
def test_cancelling_deletes_nothing_of_others(
    as_process: Callable[[str], None], tmp_path: Path, name: str
) -> None:
    others = [tmp_path / ".env.production", tmp_path / ".env.x", tmp_path / "env"]
    for other in others:
        other.write_text("secret", encoding="utf-8")
    as_process(NEVER_LISTENS)
    TrainingRun({}, [], tmp_path / name).cancel()
    assert all(other.is_file() for other in others)


class Model:
    """As much of a model as is asked."""

    def save(self, path: Path) -> None:
        assert path.parent.is_dir()
        path.write_bytes(b"model")


def test_a_model_appears_at_its_place_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    target = tmp_path / "models" / "arm.psr"
    _write(Model(), target, target.parent / ".staging")
    assert [one.name for one in target.parent.iterdir()] == ["arm.psr"]


def test_a_model_never_replaces_what_is_no_model(tmp_path: Path) -> None:
    from rffpsr_ros.errors import InputError

    target = tmp_path / "thesis.txt"
    target.write_text("years of work", encoding="utf-8")
    with pytest.raises(InputError, match="not a model file"):
        _write(Model(), target, tmp_path / ".staging")
    assert target.read_text(encoding="utf-8") == "years of work"
    assert [one.name for one in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_full_disk_is_told_with_the_models_own_path(tmp_path: Path) -> None:
    from rffpsr_ros.errors import InputError
    from rffpsr_ros.models.storage import write_atomically

    class Large(Model):
        def save(self, path: Path) -> None:
            with write_atomically(path):
                raise OSError(28, "No space left on device")

    target = tmp_path / "arm.psr"
    with pytest.raises(InputError) as told:
        _write(Large(), target, tmp_path / ".staging")
    assert str(told.value) == f"cannot write '{target}': No space left on device"
    assert list(tmp_path.iterdir()) == []


def test_training_stands_back_as_far_as_asked() -> None:
    code = (
        "import os; from rffpsr_ros.nodes.learner.training_process import stand_back;"
        "before = os.nice(0); stand_back(3); print(os.nice(0) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    assert done.stdout.split() == [b"3"]
