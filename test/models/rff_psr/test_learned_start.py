"""An RFF-PSR whose NARX term's features are learned."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.psr.refinement.learning_effort import FeatureLearningOptions, affordable
from rffpsr_ros.psr.refinement.rollout_refinement import validation_score
from rffpsr_ros.psr.sigmoid_features import SigmoidMap
from rffpsr_ros.recordings.trajectory import Trajectory

SMALL = {"past": 6, "arx_past": 6, "narx_past": 2, "features": 30, "iterations": 20, "future": 5}


def recording(seed: int, ticks: int = 160, bent: bool = False) -> Trajectory:
    """A map that no linear model follows; smooth, or bent."""
    draw = np.random.default_rng(seed)
    actions, seen, value = draw.uniform(-1, 1, ticks), np.empty(ticks), draw.uniform(-1, 1)
    for tick in range(ticks):
        shape = 1 - 1.8 * abs(value) if bent else np.sin(3 * value)
        seen[tick] = value = 0.8 * shape + 0.3 * actions[tick]
    return Trajectory(seen, actions, 0.1)


def learned(bent: bool = False, **options: Any) -> PredictiveModel[Any]:
    *train, held_out = [recording(seed, bent=bent) for seed in (0, 1, 2, 9)]
    return SingleRFFPSR(**{**SMALL, **options}).fit(train, [held_out])


def error(model: PredictiveModel[Any]) -> float:
    return float(np.mean(model.record.metrics["validation_mse"]))


@pytest.mark.parametrize(("units", "bent", "seed"), [("waves", False, 0), ("sigmoids", True, 3)])
def test_learned_features_forecast_better_and_are_told_of(
    units: str, bent: bool, seed: int
) -> None:
    options = {"narx_features": 8, "iterations": 80, "narx_units": units, "seed": seed}
    drawn, found = (learned(bent, **options, narx_learning=how) for how in ("off", "on"))
    assert isinstance(found, RFFPSRModel)
    assert isinstance(found.parts.structure.narx, SigmoidMap) is (units == "sigmoids")
    notes, before = (model.record.metrics["refinement"] for model in (found, drawn))
    assert notes["score_after"] < 0.5 * before["score_after"]
    assert notes["feature_steps"] > 0
    assert notes["feature_score_after"] < notes["feature_score_before"]
    assert notes["score_before"] == pytest.approx(notes["feature_score_after"], rel=1e-4)
    assert notes["score_after"] <= notes["score_before"]


def test_a_file_keeps_sigmoids(tmp_path: Path) -> None:
    model = learned(True, iterations=2, narx_learning="on", narx_units="sigmoids")
    model.save(tmp_path / "model.psr")
    loaded = load_model(tmp_path / "model.psr")
    plan = np.linspace(-1, 1, 5)[:, None]
    one, other = (each.predict(each.initial_state(), plan) for each in (model, loaded))
    np.testing.assert_array_equal(one, other)


@pytest.mark.long
def test_sigmoids_find_a_bend_that_waves_do_not() -> None:
    def best(units: str) -> float:
        """Return the score of the best of three: with so few ticks a descent needs luck."""
        options = {"narx_features": 8, "iterations": 80, "narx_learning": "on", "narx_units": units}
        models = [learned(True, **options, seed=seed) for seed in (3, 4, 5)]
        return min(float(one.record.metrics["refinement"]["score_after"]) for one in models)

    assert best("sigmoids") < 0.2 * best("waves")


def test_auto_keeps_drawn_features_that_are_as_good() -> None:
    draw = np.random.default_rng(1)

    def linear() -> Trajectory:
        actions = draw.uniform(-1, 1, 160)
        seen = np.zeros(160)
        for tick in range(1, 160):
            seen[tick] = 0.9 * seen[tick - 1] + actions[tick]
        return Trajectory(seen + 0.2 * draw.standard_normal(160), actions, 0.1)

    train, held_out = [linear() for _ in range(3)], [linear()]
    drawn, auto = (
        SingleRFFPSR(**{**SMALL, "narx_learning": choice}).fit(train, held_out)
        for choice in ("off", "auto")
    )
    assert "feature_steps" not in auto.record.metrics["refinement"]
    assert error(auto) == error(drawn)


@pytest.mark.parametrize(
    ("columns", "acted", "expected"), [(1, 1, 40), (2, 2, 40), (4, 4, 19), (6, 4, None)]
)
def test_steps_stay_affordable(columns: int, acted: int, expected: int | None) -> None:
    found = affordable(FeatureLearningOptions(), 20, 4, columns, acted)
    assert expected == (found and found.units)


def test_auto_learns_no_features_where_nothing_is_held_out_to_judge_them_by() -> None:
    draw = np.random.default_rng(5)
    runs = [Trajectory(draw.normal(size=(30, 2)), draw.normal(size=30), 0.1) for _ in range(3)]
    noise = {**SMALL, "past": 3, "future": 2, "arx_past": 3, "narx_features": 5}
    learners = [SingleRFFPSR(**noise, narx_learning=how) for how in ("on", "auto", "off")]
    fitted = [one.fit(runs) for one in learners]
    far = [np.abs(one.predict(one.initial_state(), np.ones((40, 1)))).max() for one in fitted]
    assert far[0] > 100 > far[1] == far[2]


@pytest.mark.parametrize(("far", "taken"), [(0.9, True), (1.1, False)])
def test_auto_takes_no_features_that_do_worse_beyond_the_horizon(
    far: float, taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, held_out = [recording(seed) for seed in range(3)], [recording(9)]

    def score(parameters: Any, structure: Any, segments: Any, horizon: int) -> float:
        if horizon <= 10:
            return validation_score(parameters, structure, segments, horizon)
        return far if structure.narx.frequencies.shape[0] == FeatureLearningOptions.units else 1.0

    monkeypatch.setattr("rffpsr_ros.models.rff_psr.fit_segments.validation_score", score)
    options = {**SMALL, "narx_features": 8, "narx_learning": "auto"}
    model = SingleRFFPSR(**options).fit(train, held_out)
    assert ("feature_steps" in model.record.metrics["refinement"]) is taken


@pytest.mark.parametrize(("given", "meant"), [(True, "on"), (False, "off"), ("auto", "auto")])
def test_on_and_off_may_be_what_yaml_makes_of_them(given: Any, meant: str) -> None:
    assert RFFPSROptions(narx_learning=given).narx_learning == meant
