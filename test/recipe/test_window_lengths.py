"""Windows reach no further than the recordings can tell, and it is said."""

from typing import Any

import numpy as np
import pytest

from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.window_lengths import supported_windows
from rffpsr_ros.recordings.trajectory import Trajectory
from test.swings import WINDOWS_ONLY

DEFAULT = RFFPSROptions()
SETTINGS = RecipeSettings()


def runs(count: int, ticks: int, columns: int) -> list[Trajectory]:
    draw = np.random.default_rng(0)
    return [
        Trajectory(draw.normal(size=(ticks, columns)), draw.normal(size=ticks))
        for _ in range(count)
    ]


def test_what_is_usual_stays_as_it_is() -> None:
    for data in (runs(15, 100, 1), runs(1, 300, 1), runs(25, 100, 4), runs(1, 2000, 6)):
        assert supported_windows(DEFAULT, data, SETTINGS) == (DEFAULT, ())


def test_many_columns_shorten_windows_to_what_the_ticks_can_tell() -> None:
    data = runs(20, 200, 200)
    options, (note,) = supported_windows(DEFAULT, data, SETTINGS)
    for past in (options.past, options.arx_past, options.narx_past):
        assert past * 201 + 2 <= SETTINGS.weights_per_tick * 4000 < (past + 1) * 201 + 2
    assert options.refine_from == "regularised"
    assert "201 columns and only 20 recordings of 4000 ticks" in note
    asked = RFFPSROptions(refine_from="light")
    assert supported_windows(asked, data, SETTINGS)[0].refine_from == "light"


def test_windows_leave_half_of_what_short_recordings_could_teach() -> None:
    options, (note,) = supported_windows(DEFAULT, runs(100, 30, 1), SETTINGS)
    assert (options.past, options.arx_past, options.narx_past) == (10, 10, 4)
    assert options.refine_from == "both"
    assert "windows of 10 instead of 20 ticks" in note


def test_without_an_arx_term_windows_are_as_asked() -> None:
    paper = RFFPSR.paper().options
    assert supported_windows(paper, runs(2, 100, 50), SETTINGS) == (paper, ())


def test_a_length_that_was_asked_for_stays() -> None:
    asked = RFFPSROptions(past=40)
    options, _ = supported_windows(asked, runs(100, 60, 1), SETTINGS)
    assert (options.past, options.arx_past) == (40, 20)
    options, (note,) = supported_windows(asked, runs(100, 30, 1), SETTINGS)
    assert (options.past, options.arx_past) == (40, 10)
    assert "windows of 10 instead of 20 ticks" in note


@pytest.mark.long
def test_the_choice_stands_in_the_model() -> None:
    quick: dict[str, Any] = {"features": 20, "narx_features": 10, "iterations": 5}
    learner = RFFPSR(**quick, narx_learning="off", settings=WINDOWS_ONLY)
    model = learner.fit(runs(40, 30, 1))
    assert isinstance(model, EnsembleModel)
    assert model.record.options["arx_past"] == 10
    assert model.record.notes[0].startswith("windows of 10 instead of 20 ticks")
