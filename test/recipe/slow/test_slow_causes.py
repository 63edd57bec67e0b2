"""Which running means explain what forecasts miss."""

import numpy as np
import pytest

from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.slow.causes import slow_causes
from rffpsr_ros.recordings.trajectory import Trajectory
from test.slow_systems import slow_runs

SETTINGS = RecipeSettings()


def found(runs: list[Trajectory]) -> tuple[str, ...]:
    model = LinearARX(past=10, future=10).fit(runs)
    filters = slow_causes(model, runs, 10, SETTINGS)
    return () if filters is None else filters.names(("u", "v"))[2:]


@pytest.mark.parametrize("square", [False, True])
def test_the_cause_is_named(square: bool) -> None:
    power = "^2" if square else ""
    (name,) = found(slow_runs(square=square))[:1]
    assert name in {f"v{power} over {ticks} ticks" for ticks in (30, 60, 120)}


def test_of_a_system_without_slow_causes_none_is_named() -> None:
    assert [found(slow_runs(0.0, seed=seed)) for seed in range(5)] == [()] * 5


def test_missing_observations_are_no_errors() -> None:
    gappy = []
    for run in slow_runs():
        seen = run.observations.copy()
        seen[::7, 0] = np.nan
        gappy.append(Trajectory(seen, run.actions, action_names=("u", "v")))
    model = LinearARX(past=10, future=10).fit(slow_runs())
    filters = slow_causes(model, gappy, 10, SETTINGS)
    assert filters is not None
    assert filters.names(("u", "v"))[2].startswith("v^2")


def test_recordings_too_short_for_a_forecast_name_none() -> None:
    model = LinearARX(past=3, future=10).fit(slow_runs())
    short = [run.slice(0, 12) for run in slow_runs()]
    assert slow_causes(model, short, 10, SETTINGS) is None
