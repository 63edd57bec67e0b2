"""When the learner trains by itself, and what its log tells of a training's progress."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.learner import trainings
from rffpsr_ros.nodes.learner.trainings import LOGGED_EVERY, Trainings


class Training:
    """As much of a training as is watched."""

    def __init__(self) -> None:
        self.stage, self.fraction, self.error = "reading bags", 0.0, None
        self.warnings: list[str] = []
        self.left_out: list[str] = []
        self.result: Any = None

    def poll(self) -> Any:
        return self.result


def test_each_stage_is_logged_once_and_not_too_often(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(trainings, "time", SimpleNamespace(monotonic=lambda: now))
    lines: list[str] = []
    watched = Trainings(lambda name: None, SimpleNamespace(info=lines.append))
    training: Any = Training()
    watched.current = training
    for stage, error, later in (
        ("reading bags", None, 0.0),
        ("reading bags", None, 10.0),
        ("model 1, features", None, 0.0),
        ("model 1, stage one", None, 0.5 * LOGGED_EVERY),
        ("model 1, refinement", 0.25, LOGGED_EVERY),
    ):
        now += later
        training.stage, training.error = stage, error
        assert watched.watch() is None
    assert lines == [
        "training: reading bags",
        "training: model 1, features",
        "training: model 1, refinement; error 0.25 standard deviations by now",
    ]


def bags(names: str) -> Sequence[Path]:
    return [Path(name) for name in names]


def test_only_episodes_that_were_not_there_before_count_as_new() -> None:
    wanted = 2
    watched = Trainings(lambda name: wanted, None)
    watched.know(bags("abcd"))
    for there, due in (("abcd", False), ("abcde", False), ("abcdef", True)):
        assert watched.due(bags(there)) == due
    assert not watched.due(bags("e")), "others were removed"
    assert watched.due(bags("ef")), "others were removed"
    assert not watched.due([])
    training: Any = Training()
    watched.current = training
    assert not watched.due(bags("ef")), "one is under way"
    wanted, watched.current = 0, None
    assert not watched.due(bags("ef")), "it does not train by itself"


def test_none_is_begun_on_episodes_that_are_gone() -> None:
    from rffpsr_ros.nodes.learner.learner_node import LearnerNode

    watched = Trainings(lambda name: 2, None)
    begun: list[Any] = []
    watched.begin = lambda channels, episodes, automatic: begun.append(episodes)  # type: ignore
    node: Any = SimpleNamespace(_recovery=None, _trainings=watched, _configuration="channels")
    keeper: Any = SimpleNamespace(kept=bags("abc"), look=lambda: [])
    LearnerNode._watch_count(node, keeper)
    assert begun == []
    keeper.look = lambda: bags("bc")
    LearnerNode._watch_count(node, keeper)
    assert begun == [bags("bc")]


def test_an_episode_that_is_left_out_is_named_once() -> None:
    lines: list[str] = []
    watched = Trainings(lambda name: None, SimpleNamespace(warning=lines.append))
    for _ in range(2):
        training: Any = Training()
        watched.current = training
        watched._logged = training.stage, 0.0
        training.poll = partial(heard, training)
        assert watched.watch() is None
    assert lines == ["few data; see docs/exploration.md", "a is left out", lines[0]]


def heard(training: Any) -> None:
    """Let a training have warned."""
    training.left_out = ["a is left out"]
    training.warnings = ["few data", *training.left_out]


@pytest.mark.parametrize("model", ["file/models/arm.psr", "closed/arm.psr"])
def test_a_place_that_cannot_be_written_is_seen_before_learning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "closed").mkdir()
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path / "closed")
    values = {"model_path": str(tmp_path / model)}
    monkeypatch.setattr(trainings, "TrainingRun", None)
    with pytest.raises(InputError, match=f"cannot .*{Path(model).parts[0]}"):
        Trainings(values.get, None).begin(None, bags("ab"), automatic=False)  # type: ignore
