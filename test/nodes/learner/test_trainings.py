"""When the learner trains by itself, and what its log tells of a training's progress."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs ROS 2")

from rffpsr_ros.nodes.learner import trainings
from rffpsr_ros.nodes.learner.trainings import LOGGED_EVERY, Trainings


class Training:
    """As much of a training as is watched."""

    def __init__(self) -> None:
        self.stage, self.fraction, self.error = "reading bags", 0.0, None
        self.warnings: list[str] = []
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
