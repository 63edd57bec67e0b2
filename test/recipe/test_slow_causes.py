"""Which running means explain what forecasts miss."""

import numpy as np
import pytest

from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.slow_causes import slow_causes
from rffpsr_ros.recordings.trajectory import Trajectory

SETTINGS = RecipeSettings()
TICKS = 60


def found(runs: list[Trajectory]) -> tuple[str, ...]:
    model = LinearARX(past=10, future=10).fit(runs)
    filters = slow_causes(model, runs, 10, SETTINGS)
    return () if filters is None else filters.names(("u", "v"))[2:]


def runs(slow: float, product: float, square: bool, seed: int = 0) -> list[Trajectory]:
    """Return runs that the second action, or its square, moves slowly, alone or by a product."""
    draw, made = np.random.default_rng(seed), []
    for _ in range(4):
        actions = np.repeat(draw.uniform(-2, 2, (100, 2)), 5, axis=0)
        cause, seen, position = 0.0, [], 0.0
        for first, second in actions:
            cause += ((second**2 if square else second) - cause) / TICKS
            position = 0.8 * position + (0.3 + product * cause) * first + slow * cause
            seen.append([position, first])
        noisy = np.array(seen) + draw.normal(0, 0.1, (len(seen), 2))
        made.append(Trajectory(noisy, actions, action_names=("u", "v")))
    return made


@pytest.mark.parametrize("square", [False, True])
def test_the_cause_is_named(square: bool) -> None:
    power = "^2" if square else ""
    (name,) = found(runs(0.0, 0.5, square))[:1]
    assert name in {f"v{power} over {ticks} ticks" for ticks in (30, 60, 120)}


def test_of_a_system_without_slow_causes_none_is_named() -> None:
    assert [found(runs(0.0, 0.0, False, seed)) for seed in range(5)] == [()] * 5


def test_missing_observations_are_no_errors() -> None:
    gappy = []
    for run in runs(0.0, 0.5, True):
        seen = run.observations.copy()
        seen[::7, 0] = np.nan
        gappy.append(Trajectory(seen, run.actions, action_names=("u", "v")))
    model = LinearARX(past=10, future=10).fit(runs(0.0, 0.5, True))
    filters = slow_causes(model, gappy, 10, SETTINGS)
    assert filters is not None
    assert filters.names(("u", "v"))[2].startswith("v^2")


def test_recordings_too_short_for_a_forecast_name_none() -> None:
    model = LinearARX(past=3, future=10).fit(runs(0.0, 0.5, True))
    short = [run.slice(0, 12) for run in runs(0.0, 0.5, True)]
    assert slow_causes(model, short, 10, SETTINGS) is None
