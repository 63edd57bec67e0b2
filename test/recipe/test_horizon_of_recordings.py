"""However far forecasts are wanted beside recordings' length, something sensible is learned."""

from typing import Any

import numpy as np
import pytest

from rffpsr_ros.data.screening import DamageWarning
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.state_spaces.settings import StateSpaceSettings
from rffpsr_ros.recordings.trajectory import Trajectory

QUICK: dict[str, Any] = {
    "features": 20, "iterations": 1, "narx_features": 10, "refine_from": "regularised",
    "narx_affine": "off",
    "narx_learning": "off",
}  # fmt: skip


SMALL = RecipeSettings(
    block_ticks=40,
    few_block_ticks=20,
    far_ticks=200,
    simulated_beyond=15,
    state_spaces=StateSpaceSettings(most_weights=1),
    simulation_windows=(2,),
    simulation_models=1,
    judged_blocks=2,
    long_blocks=1,
    long_origins=2,
)
"""What judges models is short beside horizons; nothing but RFF-PSR and linear models is learned for
long."""


def oscillations(count: int, ticks: int) -> list[Trajectory]:
    """Recordings of a driven, damped oscillator."""
    draw = np.random.default_rng(0)
    found = []
    for _ in range(count):
        actions = np.repeat(draw.uniform(-1, 1, (ticks // 5 + 1, 1)), 5, axis=0)[:ticks]
        position, speed, seen = 0.0, 0.0, []
        for (action,) in actions:
            speed += 0.2 * (action - position - 0.3 * speed)
            position += 0.2 * speed
            seen.append([position])
        noise = 0.01 * draw.standard_normal((ticks, 1))
        found.append(Trajectory(np.array(seen) + noise, actions, 0.1))
    return found


@pytest.mark.long
@pytest.mark.parametrize(("count", "ticks", "horizon"), [(3, 200, 30), (9, 100, 45), (9, 600, 35)])
def test_a_horizon_is_judged_where_recordings_hold_it(count: int, ticks: int, horizon: int) -> None:
    data = oscillations(count, ticks)
    model = RFFPSR(settings=SMALL, **QUICK, horizon=horizon).fit(data)
    assert len(model.record.metrics["validation_mse"]) == horizon
    state = model.initial_state()
    for action, seen in zip(data[0].actions[:40], data[0].observations[:40], strict=True):
        state = model.update(state, action, seen)
    made = model.predict(state, data[0].actions[40:90])
    error = np.mean((made - data[0].observations[40:90]) ** 2)
    assert error < 0.1 * np.var(data[0].observations)


@pytest.mark.parametrize("folds", [None, 1])
def test_where_no_recording_holds_it_that_is_said(folds: int | None) -> None:
    with pytest.raises(InputError, match=r"horizon is 50 ticks, but what is held out .* has 40"):
        RFFPSR(**QUICK, folds=folds, horizon=50).fit(oscillations(30, 40))


def test_a_single_model_is_judged_by_ends_that_hold_it() -> None:
    model = RFFPSR(**QUICK, folds=1, horizon=60).fit(oscillations(2, 300))
    assert isinstance(model, RFFPSRModel)
    assert np.isfinite(model.record.metrics["validation_mse"]).all()


@pytest.mark.parametrize("ticks", [1, 15, 20])
def test_validation_that_is_too_short_is_learned_from(ticks: int) -> None:
    data = oscillations(4, 200)
    short = data[3].slice(0, ticks)
    model = RFFPSR(**QUICK, folds=1).fit(data[:3], [short])
    assert any("too short to judge by" in note for note in model.record.notes)
    assert np.isfinite(model.record.metrics["validation_mse"]).all()


def test_validation_that_lacks_an_observation_is_no_judge() -> None:
    data = oscillations(4, 200)
    blind = Trajectory(np.full_like(data[3].observations, np.nan), data[3].actions, 0.1)
    with pytest.warns(DamageWarning, match="hardly moves"):
        model = RFFPSR(**QUICK, folds=1).fit(data[:3], [blind])
    assert any("lack an observation" in note for note in model.record.notes)
