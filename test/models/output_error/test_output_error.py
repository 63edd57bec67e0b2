"""Output-error models on a saturating tank system whose truth is known."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import simulation_rmse
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.output_error.learner import OutputError
from rffpsr_ros.models.output_error.model import OutputErrorModel
from rffpsr_ros.models.state_space.learner import NonlinearStateSpace
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory
from test.swings import NO_STATE_SPACES

FULL = 10.0
QUICK: dict[str, Any] = {
    "features": 20, "iterations": 4, "narx_features": 10, "refine_from": "regularised",
    "narx_affine": "off",
    "narx_learning": "off",
}  # fmt: skip


def tanks(ticks: int, seed: int) -> Trajectory:
    """Two tanks, one draining into the other; the lower one's gauge ends at `FULL`."""
    draw = np.random.default_rng(seed)
    knots = draw.uniform(0.5, 5.0, ticks // 20 + 2)
    pump = np.interp(np.arange(ticks), 20 * np.arange(len(knots)), knots)
    upper = lower = 5.0
    seen = []
    for inflow in pump:
        out = 0.45 * np.sqrt(upper)
        upper = min(max(upper + 0.35 * inflow - out, 0.0), 14.0)
        lower = max(lower + out - 0.35 * np.sqrt(lower), 0.0)
        seen.append(min(lower + 0.01 * draw.standard_normal(), FULL))
    return Trajectory(seen, pump, 4.0, ["level"], ["pump"])


@pytest.fixture(scope="module")
def recording() -> Trajectory:
    run = tanks(700, 0)
    assert 20 < (run.observations == FULL).sum() < 350
    return run


@pytest.fixture(scope="module")
def test_run() -> Trajectory:
    return tanks(700, 1)


@pytest.fixture(scope="module")
def model(recording: Trajectory) -> OutputErrorModel:
    return OutputError(ridge=1e-2).fit([recording])


def test_long_runs_are_better_than_those_of_one_step_regression(
    model: OutputErrorModel, recording: Trajectory, test_run: Trajectory
) -> None:
    linear = OutputError(ridge=np.inf).fit([recording])
    errors = [
        simulation_rmse(learned, test_run, 5)[0]
        for learned in (model, linear, LinearARX().fit([recording]))
    ]
    assert errors[0] < 0.6 * errors[1] < 0.6 * errors[2]


def test_the_gauge_s_end_is_learned(model: OutputErrorModel, test_run: Trajectory) -> None:
    state = model.initial_state()
    state = model.update(state, test_run.actions[0], test_run.observations[0])
    forecast = model.predict(state, np.full((300, 1), 5.0))
    assert forecast.max() == pytest.approx(FULL, abs=1e-12)
    assert (forecast[-50:] == forecast.max()).all()


def test_the_contract(model: OutputErrorModel, test_run: Trajectory, tmp_path: Path) -> None:
    model.save(tmp_path / "model.psr")
    loaded = load_model(tmp_path / "model.psr")
    one, other = model.initial_state(), loaded.initial_state()
    for t in range(30):
        seen: Array = test_run.observations[t] if t % 7 else np.full(1, np.nan)
        one = model.update(one, test_run.actions[t], seen)
        other = loaded.update(other, test_run.actions[t], seen)
    plans = np.stack([test_run.actions[30:60], test_run.actions[60:90]])
    forecast = model.predict(one, plans)
    np.testing.assert_array_equal(forecast, loaded.predict(other, plans))
    np.testing.assert_allclose(forecast[1], model.predict(one, plans[1]), rtol=1e-12)
    np.testing.assert_allclose(forecast[0, :9], model.predict(one, plans[0, :9]), rtol=1e-12)


def test_the_same_seed_gives_the_same_model(recording: Trajectory) -> None:
    short = [recording.slice(0, 250)]
    first, again, another = (OutputError(seed=seed).fit(short).parts.weights for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert first.shape != another.shape or not np.array_equal(first, another)


@pytest.mark.parametrize("ticks", range(2, 8))
def test_the_rest_of_a_recording_may_be_too_short_for_a_window(
    recording: Trajectory, ticks: int
) -> None:
    short = recording.slice(300, 300 + ticks)
    learned = OutputError(past=5).fit([short, recording.slice(0, 250), short])
    assert np.isfinite(learned.parts.weights).all()
    state_space = NonlinearStateSpace(2).fit([short, recording.slice(0, 250), short])
    assert np.isfinite(state_space.parts.system.transition).all()
    with pytest.raises(InputError, match="no stretch of the recordings has 9 ticks"):
        OutputError(past=8).fit([short, short])


def test_recordings_of_nothing_but_gaps_are_refused() -> None:
    seen = np.tile([[1.0], [np.nan]], (50, 1))
    with pytest.raises(InputError, match="no stretch of the recordings has 5 ticks"):
        OutputError().fit([Trajectory(seen, np.arange(100.0), 0.1)])


@pytest.mark.long
def test_the_default_forecasts_far_with_them(recording: Trajectory, test_run: Trajectory) -> None:
    less = {"narx_features": 2, "refinement": "none", "folds": 3}
    settings = RecipeSettings(state_spaces=NO_STATE_SPACES)  # these would take their share
    model = RFFPSR(settings=settings, **QUICK | less).fit([recording])
    assert isinstance(model, EnsembleModel)
    kinds = np.array([member.kind for member in model.parts.members])
    assert len(model.parts.weights) > 10
    assert not model.parts.weights[:10, :, kinds == "output_error"].any()
    assert model.parts.weights[-1, :, kinds == "output_error"].sum() > 0.3
    early = model.parts._replace(weights=model.parts.weights[:10], reach=None)
    near = EnsembleModel(model.signature, model.record, early)
    assert simulation_rmse(model, test_run, 5)[0] < 0.9 * simulation_rmse(near, test_run, 5)[0]


@pytest.mark.long
def test_short_recordings_have_no_far_horizons() -> None:
    runs = [tanks(100, seed) for seed in range(9)]
    model = RFFPSR(**QUICK).fit(runs)
    assert isinstance(model, EnsembleModel)
    assert len(model.parts.weights) == 10
