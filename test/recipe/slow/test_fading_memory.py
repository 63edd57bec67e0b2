"""Models see a fading memory of the actions where drawn features start better with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.models.low_passed.filters import fit_filters
from rffpsr_ros.models.low_passed.model import LowPassedModel
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recipe.slow.memory import fading_memory
from rffpsr_ros.recipe.slow.settings import RunningMeanSettings
from rffpsr_ros.recordings.trajectory import Trajectory
from test.slow_systems import OPTIONS, slow_runs, unsigned_runs
from test.swings import swings


def missed(model: Any, runs: list[Trajectory]) -> float:
    errors = [errors_by_origin(model, run, 6, 20)[:, -1] ** 2 for run in runs]
    return float(np.mean(errors))


@pytest.mark.long
@pytest.mark.parametrize(("count", "told"), [(4, "the first part"), (2, "all parts")])
def test_the_size_of_a_speed_is_forecast_by_what_tells_its_sign(count: int, told: str) -> None:
    runs, test = unsigned_runs(count), unsigned_runs(seed=1)
    model = RFFPSR(**OPTIONS, processes=1).fit(runs)
    assert isinstance(model, LowPassedModel)
    (note,) = (one for one in model.record.notes if one.startswith("models see voltage over 3"))
    assert "voltage over 24 ticks" in note
    assert note.endswith(f"on {told} held out")
    without = RFFPSR(**OPTIONS, processes=1, slow_actions="off").fit(runs)
    assert not isinstance(without, LowPassedModel)
    assert missed(model, test) < 0.5 * missed(without, test)


@pytest.mark.long
def test_windows_of_few_data_are_those_that_were_best_without_memory() -> None:
    free = {name: given for name, given in OPTIONS.items() if not name.endswith("past")}
    model = RFFPSR(**free, processes=1).fit(unsigned_runs(2))
    assert isinstance(model, LowPassedModel)
    (note,) = (one for one in model.record.notes if "by the error on all parts held out" in one)
    inner = model.parts.inner
    assert isinstance(inner, EnsembleModel)
    own = [one for one in inner.parts.members if isinstance(one, RFFPSRModel)]
    assert own
    assert {f"windows of {one.record.options['past']} ticks" for one in own} == {note.split(",")[0]}


@pytest.mark.long
def test_what_windows_tell_needs_no_memory() -> None:
    assert not isinstance(RFFPSR(**OPTIONS, processes=1).fit(swings(9, 0, 60)), LowPassedModel)


@pytest.mark.long
def test_where_both_together_do_not_help_a_slow_cause_is_seen_alone() -> None:
    eager = RunningMeanSettings(better_start=np.inf)
    settings = replace(OPTIONS["settings"], running_means=eager)
    model = RFFPSR(**{**OPTIONS, "settings": settings}, processes=1).fit(slow_runs())
    assert isinstance(model, LowPassedModel)
    assert model.parts.filters.names(("u", "v"))[2].startswith("v^2 over")


def test_means_stand_beside_means() -> None:
    runs = slow_runs(count=1)
    memory, causes = (
        fit_filters(runs, (3, 6), squares=False),
        fit_filters(runs, (60,), squares=True),
    )
    both = memory.beside(causes)
    expected = [one.trajectory(runs[0]).actions[:, 2:] for one in (memory, causes)]
    np.testing.assert_array_equal(both.trajectory(runs[0]).actions[:, 2:], np.hstack(expected))
    assert both.names(("u", "v"))[2:] == (
        *memory.names(("u", "v"))[2:],
        *causes.names(("u", "v"))[2:],
    )


def test_of_many_actions_there_is_none() -> None:
    draw = np.random.default_rng(0)
    settings = RunningMeanSettings()
    for acted, wanted in ((2, 8), (3, 0)):
        run = Trajectory(draw.normal(size=(50, 1)), draw.normal(size=(50, acted)), 0.1)
        filters = fading_memory([run], settings)
        assert (0 if filters is None else len(filters.ticks)) == wanted
        assert filters is None or not filters.squared.any()
