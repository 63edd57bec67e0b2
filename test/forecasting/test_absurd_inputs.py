"""One absurd value, of any size and in any column, never shows: for every kind of model."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower, Forecast, Step
from rffpsr_ros.models.contract import PredictiveModel, TrainingRecord
from rffpsr_ros.models.ensemble.model import EnsembleModel, EnsembleParts
from rffpsr_ros.models.forecasts import forecasts
from rffpsr_ros.models.guard import LOOKED_AT_EVERY
from rffpsr_ros.models.input_gate import ONE_BY_ONE, InputGate, InputRange, TrainedRange
from rffpsr_ros.models.registry import kinds
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration
from test.models.test_contract import CASES

PERIOD_NS = 100_000_000
CHANNELS = ChannelConfiguration.from_mapping(
    {
        "rate": 10.0,
        "observation": {"inputs": ["seen"], "seen": {"topic": "/seen", "fields": ["x", "y"]}},
        "action": {"inputs": ["told"], "told": {"topic": "/told", "fields": ["a"]}},
    }
)
TICKS, STRUCK, BACK = 70, 30, 20
"""All ticks, the one with an absurd value, and those after it by which nothing is left of it."""

LARGEST = sys.float_info.max
ABSURD = (1e6, -1e30, 1e300, LARGEST, -LARGEST, float("inf"), float("-inf"))

every_kind = pytest.mark.parametrize("name", CASES)


def runs(name: str, count: int, ticks: int, seed: int) -> list[tuple[Array, Array]]:
    """Return observations (T, 2) and actions (T, 1) such as a kind learns from."""
    generator = np.random.default_rng(seed)
    if kinds()[name].discrete:
        draw = CASES[name].draw
        return [(draw(generator, ticks, 2), draw(generator, ticks, 1)) for _ in range(count)]
    made = []
    for _ in range(count):
        state, observations = generator.normal(size=2), np.empty((ticks, 2))
        actions = generator.uniform(-1, 1, (ticks, 1))
        for tick, action in enumerate(actions):
            state = np.array([[0.7, 0.2], [-0.3, 0.6]]) @ state + np.array([0.3, 0.8]) * action
            observations[tick] = state + 0.01 * generator.normal(size=2)
        made.append((observations, actions))
    return made


@cache
def served(name: str) -> PredictiveModel[Any]:
    """Return a model of a kind that knows its topics."""
    names = ("seen.x", "seen.y"), ("told.a",)
    train = [Trajectory(*run, 0.1, *names) for run in runs(name, 4, 80, 5)]
    model = CASES[name].learner.fit(train)
    return model.replaced(signature=replace(model.signature, channels=CHANNELS.to_mapping()))


def is_free(model: PredictiveModel[Any], column: int) -> bool:
    """Tell whether any value is as good as another to the gate; the model then looks itself."""
    known = model.known_range.observations
    return known is not None and bool(np.isinf(known.low[column]))


def inputs(name: str) -> tuple[Array, Array]:
    """Return a run that no model was learned from."""
    return runs(name, 1, TICKS, 11)[0]


def followed(
    follower: Follower, observations: Array, actions: Array, first: int = 0
) -> list[Forecast | None]:
    """Return the forecast after every tick, the first of which has this number."""
    made: list[Forecast | None] = []
    for tick, (seen, told) in enumerate(zip(observations, actions, strict=True), first):
        now = 10**12 + tick * PERIOD_NS
        outcomes = follower.feed("/told", now, SimpleNamespace(a=told[0]))
        message = SimpleNamespace(x=seen[0], y=seen[1])
        outcomes += follower.feed("/seen", now + PERIOD_NS, message)
        made += [outcome.forecast for outcome in outcomes if isinstance(outcome, Step)]
    return made


def forecast_values(made: Sequence[Forecast | None]) -> Array:
    """Return all forecasts (T, H, d_o); each of them must be there, and finite."""
    values = np.stack([one.values for one in made if one is not None])
    assert len(values) == len(made)
    assert np.isfinite(values).all()
    return values


@every_kind
@pytest.mark.parametrize("column", [0, 1])
def test_an_absurd_observation_is_a_missing_one(name: str, column: int) -> None:
    model = served(name)
    observations, actions = inputs(name)
    missing, struck = observations.copy(), observations.copy()
    missing[STRUCK, column] = np.nan
    expected = followed(Follower(model), missing, actions)
    knows = model.trained_range.observations is not None
    if not knows:  # a baseline that keeps nothing for long
        del expected[STRUCK - 1 : STRUCK + BACK]
    for absurd in ABSURD:
        follower = Follower(model)
        struck[STRUCK, column] = absurd
        made = followed(follower, struck, actions)
        if knows:
            gated = np.isfinite(absurd) and not is_free(model, column)
            counts = [int(gated and column == one) for one in range(2)]
            assert follower.guard.gate.observed.count.tolist() == counts
        else:
            del made[STRUCK - 1 : STRUCK + BACK]
        np.testing.assert_array_equal(forecast_values(made), forecast_values(expected))


@every_kind
def test_an_absurd_command_is_a_missing_one(name: str) -> None:
    model = served(name)
    observations, actions = inputs(name)
    missing, struck = actions.copy(), actions.copy()
    missing[STRUCK] = np.nan
    expected = forecast_values(followed(Follower(model), observations, missing))
    knows = model.trained_range.actions is not None
    for absurd in ABSURD:
        follower = Follower(model)
        struck[STRUCK] = absurd
        values = forecast_values(followed(follower, observations, struck))
        if not knows:  # a baseline that takes no notice of actions
            assert not kinds()[name].uses_actions
        np.testing.assert_array_equal(values, expected)
        assert follower.guard.gate.acted.count.tolist() == [int(knows and np.isfinite(absurd))]


@every_kind
def test_an_absurd_plan_changes_no_state_and_no_forecast_after_it(name: str) -> None:
    model = served(name)
    observations, actions = inputs(name)
    options = FollowOptions(4, "topic")
    expected = forecast_values(followed(Follower(model, options), observations, actions))
    during = slice(STRUCK - 1, STRUCK + 2)
    for absurd in ABSURD:
        follower = Follower(model, options)
        made = followed(follower, observations[:STRUCK], actions[:STRUCK])
        plan = np.array([[0.5], [absurd], [0.0]])
        now = 10**12 + STRUCK * PERIOD_NS
        if np.isfinite(absurd):
            follower.take_plan(plan, now)
        else:
            with pytest.raises(InputError, match="not finite"):
                follower.take_plan(plan, now)
        made += followed(follower, observations[STRUCK:], actions[STRUCK:], STRUCK)
        values = forecast_values(made)
        if np.isfinite(absurd) and kinds()[name].uses_actions:
            assert not np.array_equal(values[during], expected[during])
        np.testing.assert_array_equal(values[during.stop :], expected[during.stop :])


@every_kind
@pytest.mark.parametrize("compiled", [False, True])
def test_offline_the_same_is_rejected(name: str, compiled: bool) -> None:
    """The forecasts of a recording are those of a follower fed the same."""
    observations, actions = inputs(name)
    observations[STRUCK], observations[STRUCK + 2] = [1e30, -1e300], [np.nan, LARGEST]
    actions[STRUCK + 4] = -1e30
    follower = Follower(served(name), FollowOptions(start="episode", compiled=compiled))
    live = []
    for tick in range(1, TICKS - 3):  # the first sample begins the grid
        fed = slice(tick - 1, tick)
        followed(follower, observations[fed], actions[fed], fed.start)
        if follower.state is not None:
            ahead = follower.guard.gate.actions(actions[tick : tick + 3])
            live.append(follower.model.predict(follower.state, ahead))
    run = Trajectory(observations[1:], actions[1:], 0.1, ("seen.x", "seen.y"), ("told.a",))
    made = np.concatenate([chunk for _, chunk in forecasts(follower.model, run, 3)])
    # Side by side forecasts round differently, with old libraries in the fourth digit; what one
    # road rejects and the other does not would differ in the first.
    np.testing.assert_allclose(made[1 : 1 + len(live)], np.stack(live), rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("lost", [np.nan, 1e200])
def test_the_member_that_is_lost_begins_anew_and_no_other(lost: float) -> None:
    linear, still = served("kalman"), served("last_observation")
    parts = EnsembleParts((linear, still), np.full((1, 2, 2), 0.5))
    model = EnsembleModel(linear.signature, TrainingRecord(), parts)
    follower = Follower(model)
    observations, actions = inputs("kalman")
    followed(follower, observations[:12], actions[:12])
    first = follower.state.members[0]
    broken = first._replace(mean=np.full_like(first.mean, lost))
    follower.state = follower.state._replace(members=(broken, follower.state.members[1]))
    made = followed(follower, observations[12:], actions[12:], 12)
    assert follower.guard.replaced == 1
    assert follower.withheld == sum(one is None for one in made) < LOOKED_AT_EVERY
    forecast_values(made[LOOKED_AT_EVERY:])
    np.testing.assert_array_equal(follower.state.members[1].observation, observations[-1])


def test_nothing_that_is_not_finite_is_given_and_it_is_told() -> None:
    follower = Follower(served("last_observation"))
    observations, actions = inputs("last_observation")
    observations[STRUCK] = LARGEST
    made = followed(follower, observations[: STRUCK + 1], actions[: STRUCK + 1])
    assert made[-1] is None
    assert follower.withholds
    assert follower.withheld == 1
    assert follower.in_silence(1) is None
    made = followed(follower, observations[STRUCK + 1 :], actions[STRUCK + 1 :], STRUCK + 1)
    forecast_values(made)
    assert not follower.withholds


def test_a_threshold_for_each_column_and_none_at_all() -> None:
    known = TrainedRange(
        InputRange(np.array([0.0, 10.0]), np.array([2.0, 10.0])),
        InputRange(np.array([-1.0]), np.array([1.0])),
    )
    gate = InputGate(known, (2, 1), [3.0, 0.0, 1.0])
    passing = np.array([8.0, LARGEST])
    assert gate.observations(passing) is passing
    np.testing.assert_array_equal(gate.observations(np.array([8.1, np.inf])), [np.nan, np.nan])
    # The nearest trained action where there was none before; else that one.
    plan = np.array([[9.0], [0.5], [-9.0]])
    np.testing.assert_array_equal(gate.actions(plan), [[1], [0.5], [0.5]])
    np.testing.assert_array_equal(gate.action(np.array([-3.0])), [-3.0])
    np.testing.assert_array_equal(gate.action(np.array([3.1])), [-3.0])
    np.testing.assert_array_equal(gate.command(np.array([3.1])), [-3.0])
    gate.begin()
    np.testing.assert_array_equal(gate.action(np.array([3.1])), [1.0])
    assert gate.observed.count.tolist() == [1, 1]
    assert gate.acted.count.tolist() == [4]
    # A range of no width counts as a hundredth of its values.
    assert InputGate(known, (2, 1), [100.0]).observations(np.array([1.0, 20.0]))[1] == 20.0
    assert np.isnan(InputGate(known, (2, 1), [100.0]).observations(np.array([1.0, 20.1]))[1])


@pytest.mark.parametrize(
    ("thresholds", "sentence"),
    [
        ([1.0, 2.0], "2 numbers; give one for all, or 3: one for each of 2 observations"),
        ([], "0 numbers"),
        ([-1.0], "at least 0"),
        ([float("nan")], "finite"),
    ],
)
def test_thresholds_that_do_not_fit_are_refused(thresholds: list[float], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        Follower(served("mean"), FollowOptions(rejection_threshold=tuple(thresholds)))


def test_of_many_columns_the_same_is_rejected_as_of_few() -> None:
    columns = ONE_BY_ONE + 4
    known = TrainedRange(InputRange(np.zeros(columns), np.ones(columns)))
    gate = InputGate(known, (columns, 1))
    row = np.full(columns, 0.5)
    assert gate.observations(row) is row
    row[[3, 7]] = np.nan, 102.0
    np.testing.assert_array_equal(np.isnan(gate.observations(row)), np.isin(range(columns), [3, 7]))
