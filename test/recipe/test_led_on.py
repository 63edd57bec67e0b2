"""Learned features led on: what they learn from, what serves, and how learning goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.parallel.workers import THIS_PROCESS
from rffpsr_ros.progress import silent
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recipe.led_on import LED_ON, LeadOn, leading_on, to_be_led_on
from rffpsr_ros.recipe.more.kept import Learned
from rffpsr_ros.recipe.more.learn_more import learn_more
from test.swings import QUICK, WINDOWS_ONLY, learned_more_twice, median_error, swings

pytestmark = pytest.mark.long

FOLDS = 3
LEARNED = {**QUICK, "narx_affine": "off", "narx_learning": "on", "narx_units": "sigmoids"}
SWINGS = swings(11, 0)  # more than few


def own(model: object) -> list[RFFPSRModel]:
    assert isinstance(model, EnsembleModel)
    return [one for one in model.parts.members if isinstance(one, RFFPSRModel)]


@pytest.fixture(scope="module")
def learned() -> Learned:
    return RFFPSR(**LEARNED, processes=1, settings=WINDOWS_ONLY).fit_and_keep(SWINGS)


@pytest.fixture(scope="module")
def by_fold(learned: Learned) -> EnsembleModel:
    assert learned.kept.everything is not None
    assert isinstance(learned.kept.everything.by_fold, EnsembleModel)
    return learned.kept.everything.by_fold


def test_models_that_serve_are_those_of_folds_led_on(
    learned: Learned, by_fold: EnsembleModel
) -> None:
    assert isinstance(learned.model, EnsembleModel)
    assert len(own(learned.model)) == len(own(by_fold)) == FOLDS
    np.testing.assert_array_equal(learned.model.parts.weights, by_fold.parts.weights)
    assert learned.model.record.metrics == by_fold.record.metrics
    assert any("led on with all recordings" in note for note in learned.model.record.notes)
    for led, judged in zip(own(learned.model), own(by_fold), strict=True):
        assert to_be_led_on(led)
        told = led.record.metrics[LED_ON]
        assert told["after"] < told["before"]
        assert LED_ON not in judged.record.metrics


def test_they_forecast_better(learned: Learned, by_fold: EnsembleModel) -> None:
    unseen = swings(12, 99)
    assert median_error(learned.model, unseen) < median_error(by_fold, unseen)


def test_what_they_can_represent_is_all_that_was_recorded(learned: Learned) -> None:
    seen = np.concatenate([run.observations for run in SWINGS])
    acted = np.concatenate([run.actions for run in SWINGS])
    for model in own(learned.model):
        for scaling, rows in (
            (model.parts.observation_scaling, seen),
            (model.parts.action_scaling, acted),
        ):
            np.testing.assert_array_equal(scaling.low, rows.min(axis=0))
            np.testing.assert_array_equal(scaling.high, rows.max(axis=0))
        limits = model.parts.structure.limits
        assert limits is not None
        standard = model.parts.observation_scaling.apply(seen)
        assert (limits.observation_low < standard.min(axis=0)).all()
        assert (limits.observation_high > standard.max(axis=0)).all()


def test_the_state_has_no_say_in_their_forecasts(learned: Learned) -> None:
    for model in own(learned.model):
        assert not model.parts.parameters.prediction.any()


def test_a_model_is_led_on_to_the_same_bits_each_time(by_fold: EnsembleModel) -> None:
    first, *_ = own(by_fold)
    features = replace(FitSettings().features, steps=4, penalties=(1e-4,), patience=(5,))
    task = LeadOn(first, SWINGS, replace(FitSettings(), features=features))
    one, same = (task(silent).parts.parameters.narx for _ in range(2))
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, first.parts.parameters.narx)


def test_drawn_features_are_not_led_on() -> None:
    drawn = {**LEARNED, "narx_learning": "off", "slow_actions": "off"}
    kept = RFFPSR(**drawn, processes=1, settings=WINDOWS_ONLY).fit_and_keep(SWINGS).kept
    assert kept.everything is not None
    by_fold = kept.everything.by_fold
    assert isinstance(by_fold, EnsembleModel)
    assert len(own(by_fold)) == FOLDS
    assert not leading_on(by_fold, SWINGS, FOLDS, WINDOWS_ONLY, silent, THIS_PROCESS)


def test_few_data_are_not_led_on_with() -> None:
    model = RFFPSR(**LEARNED, processes=1, settings=WINDOWS_ONLY).fit(SWINGS[:9])
    assert not any(LED_ON in one.record.metrics for one in own(model))


def test_they_go_on_learning(learned: Learned, by_fold: EnsembleModel, tmp_path: Path) -> None:
    unseen = swings(12, 99)
    new = swings(11, 1)
    more = learn_more(learned.model, learned.kept, new, processes=1)
    assert median_error(more.model, unseen) < median_error(learned.model, unseen)
    for led, before in zip(own(more.model), own(learned.model), strict=True):
        assert led.record.metrics[LED_ON]["after"] <= led.record.metrics[LED_ON]["before"]
        assert not np.array_equal(led.parts.parameters.narx, before.parts.parameters.narx)
    assert more.kept.everything is not None
    assert not any(LED_ON in one.record.metrics for one in own(more.kept.everything.by_fold))
    again = learned_more_twice(more, tmp_path / "swing.kept")
    assert median_error(again[0], unseen) == median_error(again[1], unseen)


def test_they_take_no_more_steps_than_are_asked_for(by_fold: EnsembleModel) -> None:
    steps = set[float]()

    def told(stage: str, fraction: float, error: float | None = None) -> None:
        steps.add(fraction)

    LeadOn(own(by_fold)[0], SWINGS, FitSettings())(told)
    assert 0 < len(steps) <= LEARNED["iterations"]
