"""Who competes: configurations of RFF-PSR by the options, and baselines that can be learned."""

import numpy as np
import pytest

from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recipe.candidates import SAFE, Candidate, baselines, configurations
from rffpsr_ros.recipe.prepare import Preparation, prepare
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory

SETTINGS = RecipeSettings()


def prepared(options: RFFPSROptions, ticks: int = 120, columns: int = 1) -> Preparation:
    draw = np.random.default_rng(0)
    runs = [
        Trajectory(draw.normal(size=(ticks, columns)), draw.normal(size=ticks)) for _ in range(9)
    ]
    return prepare(runs, None, options, SETTINGS)


def test_all_configurations_compete_where_the_options_leave_the_choice() -> None:
    found = configurations(RFFPSROptions(), RecipeSettings(short_features=5))
    assert list(found) == [SAFE, "light", "short", "long"]
    assert (found[SAFE].refine_from, found["light"].refine_from) == ("regularised", "light")
    short = found["short"]
    assert (short.arx_past, short.narx_past, short.past) == (2, 2, 20)
    assert short.narx_features == 5 * RFFPSROptions().narx_features
    assert "short" not in configurations(RFFPSROptions(short_past=0), SETTINGS)
    assert (found["long"].arx_past, found["long"].narx_past) == (20, 10)
    assert configurations(RFFPSROptions(arx_past=8), SETTINGS)["long"].narx_past == 8
    assert "long" not in configurations(RFFPSROptions(narx_past=10), SETTINGS)


@pytest.mark.parametrize(
    "asked", [RFFPSROptions(refine_from="light"), RFFPSROptions(refinement="none")]
)
def test_what_the_options_say_does_not_compete(asked: RFFPSROptions) -> None:
    assert configurations(asked, SETTINGS) == {"as given": asked}


def learned(ready: Preparation) -> list[Candidate]:
    """Return the baselines that come of recordings."""
    made = [pending.result() for pending in baselines(ready, SETTINGS)]
    return [one for one in made if one is not None]


def test_each_baseline_is_learned_on_every_fold_and_on_all_recordings() -> None:
    ready = prepared(RFFPSROptions())
    found = learned(ready)
    assert [one.name for one in found] == ["linear_arx", "n4sid", "last_observation"]
    for candidate in found:
        assert len(candidate.members) == 1
        assert len(candidate.by_fold) == len(ready.folds) == 3
    arx = found[0]
    assert len({model.record.options["ridge"] for model in [*arx.members, *arx.by_fold]}) == 1


def test_a_baseline_whose_windows_are_too_large_is_left_out() -> None:
    names = [one.name for one in learned(prepared(RFFPSROptions(), 60, 20))]
    assert names == ["linear_arx", "last_observation"]


def test_without_an_arx_term_there_are_no_baselines() -> None:
    assert learned(prepared(RFFPSROptions(arx_past=0))) == []
