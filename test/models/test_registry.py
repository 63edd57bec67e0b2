"""A package is all that makes a kind known, and the registry makes every kind's learner."""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.models import registry
from rffpsr_ros.models.compressed.learner import Compressed
from rffpsr_ros.models.contract import Learner
from rffpsr_ros.models.kalman.learner import Kalman
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.registry import (
    DEFAULT,
    kinds,
    learner_class,
    learner_of,
    model_class,
    model_kinds,
    offered_kinds,
)
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recordings.trajectory import Trajectory

LEARNED = [kind.name for kind in kinds().values() if kind.learner is not None]
OFFERED = [kind.name for kind in offered_kinds()]

PACKAGE = '''
"""A kind that forecasts nothing but zeros."""
from rffpsr_ros.models.registry import Kind

KINDS = (Kind("zero", "zero", "{name}.zero.zero:ZeroModel", "{name}.zero.zero:Zero"),)
'''

MODULE = """
from __future__ import annotations
from typing import ClassVar, NamedTuple
import numpy as np
from rffpsr_ros.models.contract import PredictiveModel, TrainingRecord
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.training_set import training_signature

class ZeroParts(NamedTuple):
    columns: int

class ZeroState(NamedTuple):
    pass

class ZeroModel(PredictiveModel[ZeroState]):
    kind: ClassVar[str] = "zero"
    parts_class = ZeroParts

    def initial_state(self):
        return ZeroState()

    def advance(self, state, action, observation):
        return state

    def forecast(self, state, actions):
        return np.zeros((*actions.shape[:-1], self.parts.columns))

class Zero(InMemoryLearner[ZeroModel]):
    def _fit(self, train, validation, progress):
        signature = training_signature(train, validation)
        return ZeroModel(signature, TrainingRecord(), ZeroParts(len(signature.observation_names)))
"""


@pytest.fixture
def another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let kinds be declared by the one package in a folder of its own."""
    folder = tmp_path / "folder_of_kinds" / "zero"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    (folder / "__init__.py").write_text(PACKAGE.format(name=folder.parent.name))
    (folder / "zero.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "FOLDER", folder.parent.name)
    kinds.cache_clear()
    yield
    kinds.cache_clear()
    for name in [name for name in sys.modules if name.startswith(folder.parent.name)]:
        del sys.modules[name]


@pytest.mark.usefixtures("another_folder")
def test_a_package_is_all_that_makes_a_kind_known(tmp_path: Path) -> None:
    assert [kind.name for kind in offered_kinds()] == ["zero"]
    model = learner_of("zero", {}).fit([Trajectory(np.ones((9, 2)), np.ones(9), 0.1)])
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert type(loaded) is model_class("zero")
    assert loaded.predict(loaded.initial_state(), np.ones((3, 1))).shape == (3, 2)


def test_the_kind_that_is_learned_by_default_stands_first_and_baselines_last() -> None:
    assert OFFERED[0] == DEFAULT
    use_actions = [kind.uses_actions for kind in offered_kinds()]
    assert use_actions == sorted(use_actions, reverse=True)
    assert not kinds()["last_observation"].uses_actions
    of_others = {"ensemble", "compressed", "low_passed", "moving_origin"}
    assert {*of_others, "output_error", "state_space"}.isdisjoint(OFFERED)


def test_what_a_kind_lacks_is_not_found() -> None:
    assert "n4sid" not in model_kinds()
    with pytest.raises(LookupError, match="models of kind 'n4sid' are of another kind"):
        model_class("n4sid")
    with pytest.raises(LookupError, match="no learner makes models of kind 'ensemble'"):
        learner_class("ensemble")


@pytest.mark.parametrize("kind", LEARNED)
def test_every_learner_has_the_one_interface(kind: str) -> None:
    def interface(learner: Any) -> dict[str, tuple[Any, Any]]:
        found = inspect.signature(learner.fit).parameters
        return {name: (parameter.kind, parameter.default) for name, parameter in found.items()}

    assert interface(learner_class(kind)) == interface(Learner)


@pytest.mark.parametrize(
    ("kind", "options"),
    {
        "rff_psr": (*RFFPSROptions.names(), "processes"),
        "hse_psr": (
            "past",
            "future",
            "bandwidth",
            "stage_one",
            "conditioning",
            "regularisation",
            "memory",
            "seed",
        ),
        "io_hmm": ("past", "future", "state_rank", "stage_one"),
        "kalman": ("past", "future", "order"),
        "n4sid": ("past", "future", "order"),
        "rff_arx": ("past", "future", "features", "bandwidth", "seed"),
        "linear_arx": ("past", "future"),
        "last_observation": (),
        "mean": (),
    }.items(),
)
def test_options_that_a_configuration_may_give(kind: str, options: tuple[str, ...]) -> None:
    assert learner_class(kind).configurable == options
    learner_of(kind, {"past": 4, "future": 5, "seed": 1, "order": 3, "memory": 1.0})


def test_one_configuration_serves_all_kinds() -> None:
    learning = {"past": 7, "features": 10, "order": 2, "memory": 1.5}
    kalman = learner_of("kalman", learning)
    assert isinstance(kalman, Kalman)
    assert (kalman.past, kalman.order) == (7, 2)
    for kind in OFFERED:
        learner_of(kind, learning)


@pytest.mark.parametrize("kind", OFFERED)
def test_any_kind_can_learn_components(kind: str) -> None:
    learner = learner_of(kind, {"observation_components": 3, "seed": 4})
    assert isinstance(learner, Compressed)
    assert (learner.components, learner.seed) == (3, 4)
    assert isinstance(learner.inner, learner_class(kind))
    assert not isinstance(learner_of(kind, {"observation_components": None}), Compressed)


@pytest.mark.parametrize(
    ("kind", "learning", "explicit", "told"),
    [
        ("kalman", {"oder": 3}, (), "key 'learning.oder' is unknown; did you mean 'learning.ord"),
        ("kalman", {"order": "x"}, (), "option 'order' is 'x'; it must be a whole number"),
        ("kalman", {"order": 0}, (), "option 'order' is 0; it must be at least 1"),
        ("linear_arx", {"past": 0}, (), "option 'past' is 0; it must be at least 1"),
        ("linear_arx", {"past": 1.5}, (), "option 'past' is 1.5; it must be a whole number"),
        ("kalman", {"rank": 3}, ["rank"], "no option 'rank'; its options: past, future, order"),
        ("mean", {"rank": 3}, ["rank"], "a mean model has no option 'rank'; its options: none"),
        ("mean", {"observation_components": 0}, (), "'observation_components' is 0; it must be"),
    ],
)
def test_what_a_configuration_may_not_say(
    kind: str, learning: dict[str, Any], explicit: list[str], told: str
) -> None:
    with pytest.raises(InputError, match=told):
        learner_of(kind, learning, explicit)
