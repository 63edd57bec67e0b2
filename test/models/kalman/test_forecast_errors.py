"""Errors of many runs side by side are those of each forecast by itself."""

import numpy as np
import pytest

from benchmarks.known_systems import random_linear_system
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.models.kalman.forecast_errors import (
    forecast_errors,
    mean_squared_forecast_errors,
)
from rffpsr_ros.models.kalman.linear_system import (
    LinearState,
    LinearSystem,
    forecast_means,
    kalman_step,
)
from rffpsr_ros.numerics.arrays import Array

HORIZON, SETTLING = 4, 5
LENGTHS = (23, 9, 40)


@pytest.fixture
def system() -> LinearSystem:
    start = np.array([0.5, -1.0, 0.3, 2.0])
    return random_linear_system(2)._replace(start=start, start_covariance=np.diag(start**2))


@pytest.fixture
def runs() -> list[Run]:
    draw = np.random.default_rng(5)
    runs = [Run(*(draw.normal(size=(length, 2)) for _ in range(2))) for length in LENGTHS]
    runs[0].observations[2, 0] = runs[0].observations[11:13] = np.nan
    runs[2].observations[[0, 30], 1] = np.nan
    return runs


def one_by_one(system: LinearSystem, run: Run, exact: bool) -> Array:
    """Return errors (origins, H, d_o), origin by origin; NaN beyond the run's end."""
    state, errors = LinearState(system.start[None], system.start_covariance[None]), []
    for t, (observation, action) in enumerate(zip(run.observations, run.actions, strict=True)):
        ahead = run.actions[t : t + HORIZON]
        missed = np.full((HORIZON, 2), np.nan)
        missed[: len(ahead)] = run.observations[t : t + HORIZON]
        missed[: len(ahead)] -= forecast_means(system, state.mean[0], ahead)
        errors.append(missed)
        if exact and t < SETTLING:
            state = kalman_step(system, state, action[None], observation[None])
            continue
        error = observation - system.output @ state.mean[0] - system.feedthrough @ action
        mean = system.transition @ state.mean[0] + system.action @ action
        state = state._replace(mean=(mean + system.gain @ np.nan_to_num(error))[None])
    return np.array(errors[SETTLING:])


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_side_by_side_as_one_by_one(
    system: LinearSystem, runs: list[Run], exact: bool, whole: bool
) -> None:
    expected = [one_by_one(system, run, exact) for run in runs]
    if whole:
        expected = [errors[: len(errors) - HORIZON + 1] for errors in expected]
    found = list(forecast_errors(system, runs, HORIZON, SETTLING, exact, whole))
    assert len(found) == HORIZON
    for h, errors in enumerate(found):
        for n, alone in enumerate(expected):
            here = errors[n, : len(alone)]
            np.testing.assert_allclose(here, alone[: len(here), h], rtol=1e-9, atol=1e-12)
            assert np.isnan(errors[n, len(here) :]).all()
    squares = [np.nanmean(np.sum(errors**2, axis=2), axis=0) for errors in expected]
    together = mean_squared_forecast_errors(system, runs, HORIZON, SETTLING, exact, whole)
    np.testing.assert_allclose(together, squares, rtol=1e-9)


def test_runs_too_short_to_settle_tell_nothing(system: LinearSystem, runs: list[Run]) -> None:
    short = Run(*(part[: SETTLING - 1] for part in runs[1]))
    alone = mean_squared_forecast_errors(system, [short], HORIZON, SETTLING)
    assert np.isnan(alone).all()
    together = mean_squared_forecast_errors(system, [short, runs[1]], HORIZON, SETTLING)
    assert np.isnan(together[0]).all()
    assert np.isfinite(together[1]).all()
