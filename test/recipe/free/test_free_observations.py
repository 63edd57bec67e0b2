"""The recipe tells which observations are free, and moves the origin with these."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.data.change_coordinates import changes_alone
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.moving_origin.model import MovingOriginModel
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.psr.refinement.learned_units import learned_as
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recipe.more.behind import core_of, free_names
from rffpsr_ros.recipe.more.kept import Learned, members_of
from rffpsr_ros.recipe.more.kept_file import read_kept, write_kept
from rffpsr_ros.recipe.more.learn_more import learn_more
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory
from test.swings import NO_STATE_SPACES, QUICK
from test.travels import moved, travels

pytestmark = pytest.mark.long

OPTIONS: dict[str, Any] = {
    **QUICK,
    "narx_units": "sigmoids",
    "narx_learning": "on",
    "narx_affine": "off",
    "slow_actions": "off",
    "iterations": 60,
    # Neither state spaces nor simulations: these take long, and are not what is tested.
    "settings": RecipeSettings(state_spaces=NO_STATE_SPACES, simulated_ticks=10**6),
}
FAR = 60.0


def missed(model: PredictiveModel[Any], runs: list[Trajectory]) -> float:
    """Return the mean squared error of the speed at the end of the horizon."""
    errors = [errors_by_origin(model, run, 6, 20)[:, -1, 1] ** 2 for run in runs]
    return float(np.concatenate(errors).mean())


def far(runs: list[Trajectory]) -> list[Trajectory]:
    return [moved(run, FAR) for run in runs]


def columns_seen_as_changes(model: PredictiveModel[Any]) -> set[tuple[int, ...]]:
    """Return of which columns each learned feature map sees changes only."""
    found = set()
    for member in members_of(core_of(model)):
        if isinstance(member, RFFPSRModel):
            structure = member.parts.structure
            assert structure.narx is not None
            known = learned_as(structure.narx)
            assert known is not None
            found.add(changes_alone(known[1], structure.narx_past, 2))
    return found


@pytest.fixture(scope="module")
def learned() -> Learned:
    return RFFPSR(**OPTIONS, processes=1).fit_and_keep(travels())


def test_a_position_is_free_and_a_speed_is_not(learned: Learned) -> None:
    model, test = learned.model, travels(seed=1)
    assert free_names(model) == ("x",)
    assert "the robot moves by the same law wherever x is" in model.record.notes[-1]
    assert missed(model, far(test)) < 1.1 * missed(model, test)
    assert missed(core_of(model), far(test)) > 2 * missed(model, far(test))


def test_learned_features_see_changes_only_of_what_is_free(learned: Learned) -> None:
    assert columns_seen_as_changes(learned.model) == {(0,)}
    told = [one for one in learned.model.record.notes if "only changes of x" in one]
    assert len(told) == 1


def test_held_by_a_spring_no_position_is_free() -> None:
    model = RFFPSR(**OPTIONS).fit(travels(spring=1.0))
    assert columns_seen_as_changes(model) == {()}
    assert free_names(model) == ()
    assert not isinstance(model, MovingOriginModel)


def test_compiled_it_forecasts_the_same_far_away(learned: Learned) -> None:
    pytest.importorskip("numba")
    live, run = learned.model.inference_model(), moved(travels(count=1, seed=4)[0], FAR)
    assert live.compiled_form == "ensemble"
    np.testing.assert_allclose(
        errors_by_origin(live, run, 6, 0), errors_by_origin(learned.model, run, 6, 0), atol=1e-5
    )


def test_learning_goes_on(learned: Learned, tmp_path: Path) -> None:
    path, test = tmp_path / "model", travels(seed=1)
    learned.model.save(path)
    write_kept(tmp_path / "kept", learned, ["bag"])
    model = load_model(path)
    kept = read_kept(tmp_path / "kept", model).kept
    more = learn_more(model, kept, travels(seed=2), processes=1)
    assert free_names(more.model) == ("x",)
    assert core_of(more.model).kind == "ensemble"
    assert columns_seen_as_changes(more.model) == {(0,)}
    assert "learned more from 4 new recordings" in more.model.record.notes[-1]
    assert missed(more.model, far(test)) < 1.1 * missed(model, test)


def test_it_is_auto_or_off() -> None:
    assert RFFPSR(moving_origin=False).options.moving_origin == "off"
    assert RFFPSR.paper().options.moving_origin == "off"
    with pytest.raises(InputError, match="'moving_origin' is 'on'; it must be one of off, auto"):
        RFFPSR(moving_origin="on")
