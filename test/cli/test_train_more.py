"""`rffpsr train --from`: a model goes on learning from new bags alone."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.training.request import REQUEST

Run = Callable[..., Any]


@pytest.fixture
def first(run: Run, workshop: Any, robots: list[Path], configuration: Path, here: Path) -> Path:
    """Return a model that was trained on two bags, with what learning can go on from beside it."""
    words = ["train", *robots[:2], "--config", configuration, "--out", "first", *workshop.quick]
    assert run(*words, "--keep", "--quiet").code == 0
    assert sorted(path.name for path in here.iterdir()) == ["first", "first.kept"]
    return here / "first"


def test_a_model_learns_from_a_new_bag(run: Run, first: Path, robots: list[Path]) -> None:
    told = run("train", robots[2], "--from", first, "--out", "second", "--json", "--quiet")
    assert told.code == 0, told.err
    result = json.loads(told.out)
    assert any("learned more from 1 new recording with" in note for note in result["notes"])
    old, new = load_model(first), load_model("second")
    assert new.signature == old.signature
    asked, before = (one.record.options[REQUEST] for one in (new, old))
    assert asked["kind"] == before["kind"]
    assert asked["data"] != before["data"]
    again = run("train", robots[2], "--from", "second", "--out", "third", "--quiet")
    assert again.code != 0
    assert "has learned from" in again.err
    assert len(again.err.strip().splitlines()) == 1
    assert not Path("third").exists()


def test_a_model_of_which_nothing_was_kept_says_how_it_would_be(
    run: Run, first: Path, robots: list[Path]
) -> None:
    first.with_name("first.kept").unlink()
    told = run("train", robots[2], "--from", first, "--out", "second", "--quiet")
    assert told.code != 0
    assert "train with --keep" in told.err


def test_a_model_without_what_learning_goes_on_from_is_said_to_be_one(
    run: Run,
    robot: Path,
    configuration: Path,
    workshop: Any,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*_: Any) -> None:
        raise InputError("cannot write 'm.kept': No space left on device")

    monkeypatch.setattr("rffpsr_ros.training.train_more.write_kept", full)
    words = ["train", robot, "--config", configuration, "--out", "m", *workshop.quick]
    told = run(*words, "--keep", "--quiet")
    assert told.code == 2
    assert "the model is in 'm', but it cannot learn more later: cannot write 'm.kept'" in told.err
    assert load_model("m").kind


def test_only_what_can_go_on_is_kept(
    run: Run, robots: list[Path], configuration: Path, here: Path
) -> None:
    words = ["train", *robots, "--config", configuration, "--out", "m", "--model", "kalman"]
    told = run(*words, "--keep", "--quiet")
    assert told.code != 0
    assert "only models of kind rff_psr" in told.err
    assert not list(here.iterdir())
