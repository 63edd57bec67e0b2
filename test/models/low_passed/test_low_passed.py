"""Actions and their running means: what the filters compute, and the model behind them."""

from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.models.low_passed.filters import (
    SHORT,
    LowPassFilters,
    RunningMeans,
    fit_filters,
)
from rffpsr_ros.models.low_passed.learner import LowPassed
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory
from test.slow_systems import NOISE, TICKS, slow_runs

DRAW = np.random.default_rng(0)


def missed(model: PredictiveModel[Any], runs: list[Trajectory]) -> float:
    """Return the mean squared error of the first observation, ten ticks ahead."""
    return float(np.mean([errors_by_origin(model, run, 10, 20)[:, -1, 0] ** 2 for run in runs]))


def filters_of(actions: Array) -> LowPassFilters:
    run = Trajectory(np.zeros((len(actions), 1)), actions)
    return fit_filters([run], (5, 40), squares=True)


def test_means_are_those_of_first_order_filters() -> None:
    actions = DRAW.normal(3, 2, (200, 2))
    filters = filters_of(actions)
    widened = RunningMeans(filters).along(filters.initial, actions)
    np.testing.assert_array_equal(widened[:, :2], actions)
    standard = (actions - actions.mean(0)) / actions.std(0)
    driving = [standard, standard, standard**2, standard**2]
    for place, (rows, ticks) in enumerate(zip(driving, (5, 40, 5, 40), strict=True)):
        kept = np.exp(-1 / ticks)
        expected = lfilter([1 - kept], [1, -kept], rows, axis=0)
        np.testing.assert_allclose(widened[:, 2 + 2 * place : 4 + 2 * place], expected, atol=1e-12)
    assert filters.names(("u", "v"))[2:6:3] == ("u over 5 ticks", "v over 40 ticks")
    assert filters.names(("u", "v"))[-1] == "v^2 over 40 ticks"


@pytest.mark.parametrize("ticks", [1, 7, SHORT, SHORT + 1])
def test_tick_by_tick_and_all_at_once_are_the_same(ticks: int) -> None:
    actions = DRAW.normal(size=(ticks, 2))
    filters = filters_of(actions)
    means = start = DRAW.normal(size=len(filters.ticks))
    rows = []
    for action in actions:
        means = RunningMeans(filters).after(means, action)
        rows.append(means)
    together = RunningMeans(filters).along(start, np.stack([actions, actions[::-1]]))
    np.testing.assert_allclose(together[0, :, 2:], np.array(rows), atol=1e-13)


def test_some_of_the_means_are_the_same_as_among_all() -> None:
    actions = DRAW.normal(size=(30, 2))
    filters = filters_of(actions)
    some = filters.only([3, 4])
    expected = RunningMeans(filters).along(filters.initial, actions)[:, [0, 1, 5, 6]]
    np.testing.assert_array_equal(RunningMeans(some).along(some.initial, actions), expected)


def test_a_slow_cause_is_forecast_by_its_mean() -> None:
    train, test = slow_runs(), slow_runs(seed=1)
    arx = RFFARX(past=4, future=10, features=200)
    plain, model = arx.fit(train), LowPassed(arx, (TICKS,), squares=True).fit(train)
    assert missed(model, test) - NOISE**2 < 0.7 * (missed(plain, test) - NOISE**2)
    assert model.signature == plain.signature
    for ours, theirs in zip(model.trained_range, plain.trained_range, strict=True):
        np.testing.assert_array_equal(np.array(ours), np.array(theirs))


def test_a_state_that_cannot_be_used_begins_anew_where_it_must() -> None:
    model = LowPassed(LinearARX(past=3, future=2), (9,)).fit(slow_runs(count=2, ticks=60))
    state = model.update(model.initial_state(), np.ones(2), np.ones(2))
    assert model.sound_state(state) is state
    mended = model.sound_state(state._replace(means=np.full(2, np.nan)))
    assert mended.inner is state.inner
    np.testing.assert_array_equal(mended.means, np.zeros(2))


@pytest.mark.parametrize("ticks", [(), (0.0,), (30, -1)])
def test_time_constants_are_positive(ticks: tuple[float, ...]) -> None:
    with pytest.raises(InputError, match=r"time constants are .* must be greater than 0"):
        LowPassed(LinearARX(), ticks)
