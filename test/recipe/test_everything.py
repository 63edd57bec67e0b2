"""Models of everything: what they learn from, and what they stand for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.ensemble.reach import Reach
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recipe.everything import (
    families_of,
    models_by_family,
    served_by_one,
    usual_steps,
    with_everything,
)
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recipe.more.kept import Learned
from rffpsr_ros.recipe.more.learn_more import learn_more
from rffpsr_ros.recordings.trajectory import Trajectory
from test.swings import QUICK, WINDOWS_ONLY, learned_more_twice, swings

pytestmark = pytest.mark.long

FOLDS = 3


def error(model: Any, runs: list[Trajectory]) -> float:
    every = np.concatenate([errors_by_origin(model, run, 6, 20) for run in runs])
    return float(np.sqrt((every**2).mean()))


@pytest.fixture(scope="module")
def learned() -> Learned:
    return RFFPSR(**QUICK, processes=1, settings=WINDOWS_ONLY).fit_and_keep(swings(9, 0))


@pytest.fixture(scope="module")
def served(learned: Learned) -> EnsembleModel:
    assert isinstance(learned.model, EnsembleModel)
    return learned.model


@pytest.fixture(scope="module")
def by_fold(learned: Learned) -> EnsembleModel:
    assert learned.kept.everything is not None
    assert isinstance(learned.kept.everything.by_fold, EnsembleModel)
    return learned.kept.everything.by_fold


def own(model: EnsembleModel) -> list[RFFPSRModel]:
    return [one for one in model.parts.members if isinstance(one, RFFPSRModel)]


def options(models: list[RFFPSRModel], name: str) -> list[Any]:
    return [model.record.options[name] for model in models]


def test_a_family_of_drawn_features_is_served_by_one_model(
    served: EnsembleModel, by_fold: EnsembleModel
) -> None:
    families = models_by_family(by_fold, FOLDS)
    drawn = [one for one in families if one[0].record.options["narx_learning"] == "off"]
    assert drawn
    assert len(own(served)) == len(drawn) + FOLDS * (len(families) - len(drawn))
    models = [one for one in own(served) if one.record.options["narx_learning"] == "off"]
    assert options(models, "seed") == [FOLDS] * len(drawn)  # 0, 1, 2 are those on folds
    for model, family in zip(models, drawn, strict=True):
        for name in ("narx_affine", "narx_past", "refine_from"):
            assert {model.record.options[name]} == set(options(family, name))
    assert any("learned from everything" in note for note in served.record.notes)
    assert served.record.metrics == by_fold.record.metrics
    assert served.bands is by_fold.bands


def test_weights_are_those_of_the_families(served: EnsembleModel, by_fold: EnsembleModel) -> None:
    np.testing.assert_allclose(served.parts.weights.sum(axis=-1), 1)
    first = families_of(by_fold, FOLDS)[0]
    np.testing.assert_allclose(
        served.parts.weights[..., 0], by_fold.parts.weights[..., first].sum(axis=-1)
    )
    before, after = by_fold.parts.limits, served.parts.limits
    assert before is not None
    assert after is not None
    fallback = by_fold.parts.members[before.fallback]
    assert type(served.parts.members[after.fallback]) is type(fallback)
    assert not isinstance(fallback, RFFPSRModel)


def test_who_serves_for_a_family_has_its_reach(by_fold: EnsembleModel) -> None:
    weights = by_fold.parts.weights
    places = np.broadcast_to(np.arange(weights.shape[-1], dtype=float), weights.shape)
    parts = by_fold.parts._replace(reach=Reach(places))
    known = EnsembleModel(by_fold.signature, by_fold.record, parts, by_fold.bands)
    families = families_of(by_fold, FOLDS)
    one = models_by_family(by_fold, FOLDS)[0][0]
    served = with_everything(known, FOLDS, {0: [one]}).parts
    assert served.reach is not None
    assert served.reach.distance.shape == served.weights.shape
    gone = set(families[0][1:])
    left = [place for place in range(weights.shape[-1]) if place not in gone]
    np.testing.assert_array_equal(served.reach.distance[0, 0], left)


def test_its_ridges_are_usual_ones_and_nothing_is_held_out(
    served: EnsembleModel, by_fold: EnsembleModel
) -> None:
    (model, *_), (family, *_) = own(served), models_by_family(by_fold, FOLDS)
    for name in ("arx_ridge", "state_ridge", "narx_ridge"):
        found = [one.record.metrics["refinement"][name] for one in family]
        chosen = model.record.metrics["refinement"][name]
        if None not in found:
            assert chosen == pytest.approx(float(np.median(found)))
    told = model.record.metrics
    assert told["training_mse"] == told["validation_mse"]
    assert usual_steps(family) == np.median(
        [one.record.metrics["refinement"]["iterations"] for one in family]
    )


@pytest.mark.parametrize(
    ("given", "one"),
    [
        ({"narx_learning": "off"}, True),
        ({"narx_learning": "auto"}, False),
        ({"narx_learning": "on"}, False),
        ({"narx_learning": "auto", "refinement": "none"}, True),
        ({"narx_learning": "off", "refinement": "window", "forecast": "window"}, False),
        ({"narx_learning": "off", "refinement": "none", "forecast": "window"}, False),
    ],
)
def test_learned_features_and_the_papers_refinement_keep_their_models(
    given: dict[str, Any], one: bool
) -> None:
    assert served_by_one(RFFPSROptions(**given)) == one


def test_what_is_not_refined_is_learned_once_more_too() -> None:
    model = RFFPSR(**QUICK, refinement="none", folds=FOLDS, processes=1).fit(swings(9, 0))
    assert isinstance(model, EnsembleModel)
    assert len(own(model)) == 1


def test_without_models_of_everything_the_ensemble_is_as_it_was(by_fold: EnsembleModel) -> None:
    same = with_everything(by_fold, FOLDS, {})
    assert same.parts.members == by_fold.parts.members
    assert np.array_equal(same.parts.weights, by_fold.parts.weights)


def test_what_goes_on_learning_keeps_its_channels(learned: Learned) -> None:
    """They are given to the model that serves, after it was learned."""
    named = replace(learned.model.signature, channels={"rate": 10.0}, action_units=("N",))
    bags = learned.model.replaced(signature=named)
    for seed in (1, 2):
        bags, kept = learn_more(bags, learned.kept, swings(2, seed), processes=1)
        assert bags.signature == named
        learned = Learned(bags, kept)


def test_they_go_on_learning(learned: Learned, tmp_path: Path) -> None:
    test = swings(4, 99, 200)
    more = learn_more(learned.model, learned.kept, swings(9, 1), processes=1)
    assert isinstance(more.model, EnsembleModel)
    assert len(own(more.model)) == len(own(learned.model))  # type: ignore[arg-type]
    assert error(more.model, test) < error(learned.model, test)
    assert more.kept.everything is not None
    windows = [
        one.everything.stages.stage_one.state.windows
        for one in (learned.kept, more.kept)
        if one.everything is not None and one.everything.stages is not None
    ]
    assert windows[1] == pytest.approx(2 * windows[0])
    again = learned_more_twice(more, tmp_path / "swing.kept")
    assert error(again[0], test) == error(again[1], test)
