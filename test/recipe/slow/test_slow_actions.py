"""The recipe lets models see running means of actions where that helps, and goes on with them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.low_passed.model import LowPassedModel
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recipe.more.kept import Learned
from rffpsr_ros.recipe.more.kept_file import read_kept, write_kept
from rffpsr_ros.recipe.more.learn_more import learn_more
from rffpsr_ros.recordings.trajectory import Trajectory
from test.slow_systems import NOISE, OPTIONS, slow_runs

pytestmark = pytest.mark.long


def missed(model: Any, runs: list[Trajectory]) -> float:
    """Return the mean squared error beyond the noise, of the first observation."""
    errors = [errors_by_origin(model, run, 6, 20)[:, -1, 0] ** 2 for run in runs]
    return float(np.mean(errors)) - NOISE**2


@pytest.fixture(scope="module")
def learned() -> Learned:
    return RFFPSR(**OPTIONS, processes=1).fit_and_keep(slow_runs())


def test_means_are_seen_where_they_explain_what_forecasts_miss(learned: Learned) -> None:
    model, test = learned.model, slow_runs(seed=1)
    assert isinstance(model, LowPassedModel)
    assert any(note.startswith("models see v^2 over") for note in model.record.notes)
    assert model.signature.action_names == ("u", "v")
    without = RFFPSR(**OPTIONS, slow_actions="off").fit(slow_runs())
    assert not isinstance(without, LowPassedModel)
    assert missed(model, test) < 0.5 * missed(without, test)


def test_where_nothing_is_refined_nothing_is_judged() -> None:
    options = {**OPTIONS, "refinement": "none", "narx_learning": "off", "folds": 3}
    assert not isinstance(RFFPSR(**options).fit(slow_runs()), LowPassedModel)


def test_workers_learn_the_same(learned: Learned, tmp_path: Path) -> None:
    learned.model.save(tmp_path / "one")
    RFFPSR(**OPTIONS, processes=2).fit(slow_runs()).save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_learning_goes_on(learned: Learned, tmp_path: Path) -> None:
    path, test = tmp_path / "model", slow_runs(seed=1)
    learned.model.save(path)
    write_kept(tmp_path / "kept", learned, ["bag"])
    model = load_model(path)
    kept = read_kept(tmp_path / "kept", model).kept
    more = learn_more(model, kept, slow_runs(seed=2), processes=1)
    assert isinstance(more.model, LowPassedModel)
    assert more.model.signature == model.signature
    assert "learned more from 4 new recordings" in more.model.record.notes[-1]
    assert missed(more.model, test) < 1.1 * missed(model, test)
    again = learn_more(more.model, more.kept, slow_runs(seed=3), processes=1)
    assert "20 in all" in again.model.record.notes[-1]


def test_new_recordings_of_other_columns_are_refused_by_their_names(learned: Learned) -> None:
    other = [Trajectory(run.observations, run.actions[:, 0], 0.1) for run in slow_runs(seed=2)]
    with pytest.raises(InputError, match=r"have actions action\[0\], but .* trained on u, v"):
        learn_more(learned.model, learned.kept, other)


def test_it_is_auto_or_off() -> None:
    assert RFFPSR(slow_actions=False).options.slow_actions == "off"
    with pytest.raises(InputError, match="'slow_actions' is 'on'; it must be one of off, auto"):
        RFFPSR(slow_actions="on")
