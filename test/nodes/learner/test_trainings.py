"""A training's progress stands in the log, a line for each stage, and not too many."""

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
