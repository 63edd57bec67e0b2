"""The robot learned from raises no alarm, at any start; a robot that changed does, and soon."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from rffpsr_ros.forecasting.drift import ENOUGH, WINDOWS, DriftTest
from rffpsr_ros.forecasting.live_error import SETTLED, LiveError
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.arx.model import LinearARXModel
from rffpsr_ros.models.bands import conformal_bands
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import dataset, open_loop

HORIZON, LIMIT, STARTS = 10, 4.0, 50
SOON = 300
"""Ticks after a change by which it is told."""


class WeakMotor(SyntheticSystem):
    """The synthetic system, whose motor gives half of what is asked."""

    def step(self, state: Array, action: Array) -> Array:
        return super().step(state, 0.5 * action)


def runs(system: SyntheticSystem, count: int, ticks: int, seed: int) -> list[Trajectory]:
    low, high = system.action_limits
    return dataset(
        system,
        lambda generator: open_loop(uniform_hold(generator, low / 3, high / 3, system.period)),
        count,
        ticks,
        seed,
    )


@pytest.fixture(scope="module")
def model() -> LinearARXModel:
    learned = LinearARX(past=10, future=HORIZON).fit(runs(SyntheticSystem(), 10, 200, 0))
    errors = [
        errors_by_origin(learned, run, HORIZON, 20) for run in runs(SyntheticSystem(), 10, 100, 1)
    ]
    return learned.replaced(bands=conformal_bands(np.concatenate(errors)))


def alarms(model: LinearARXModel, run: Trajectory) -> Iterator[tuple[int, bool]]:
    """Yield after every tick how many there were, and whether there is an alarm."""
    live, state = LiveError(model, HORIZON), model.initial_state()
    for tick, (action, seen) in enumerate(zip(run.actions, run.observations, strict=True), 1):
        state = model.update(state, action, seen)
        live.step(state, action, seen)
        yield tick, live.drift.drifted(LIMIT)


@pytest.mark.long
def test_fifty_starts_with_the_robot_learned_from_raise_no_alarm(model: LinearARXModel) -> None:
    for run in runs(SyntheticSystem(), STARTS, 450, 2):
        in_mid_run = run.slice(50, 450)
        assert not any(alarm for _, alarm in alarms(model, in_mid_run))


def test_a_weak_motor_is_told_of_at_a_start_and_in_the_midst(model: LinearARXModel) -> None:
    for whole, weak in zip(
        runs(SyntheticSystem(), 5, 400, 3), runs(WeakMotor(), 5, 400, 4), strict=True
    ):
        first = next(tick for tick, alarm in alarms(model, weak) if alarm)
        assert SETTLED + (WINDOWS[1].size - 1) * HORIZON < first <= SETTLED + SOON + 5 * HORIZON
        both = Trajectory(
            np.concatenate([whole.observations, weak.observations]),
            np.concatenate([whole.actions, weak.actions]),
            whole.period,
        )
        first = next(tick for tick, alarm in alarms(model, both) if alarm)
        assert len(whole) < first <= len(whole) + SOON


def test_a_cold_state_is_not_judged(model: LinearARXModel) -> None:
    live = LiveError(model, 1)
    (run,) = runs(SyntheticSystem(), 1, 60, 5)
    state = model.initial_state()
    for tick, (action, seen) in enumerate(zip(run.actions, run.observations, strict=True)):
        live.step(state, action, seen + 1e3 * (tick < SETTLED))
    assert live.by_horizon is not None
    assert live.by_horizon.max() < 1e3
    live.interrupt()
    count = live.count
    for action, seen in zip(run.actions[:SETTLED], run.observations[:SETTLED], strict=True):
        live.step(state, action, seen + 1e3)
    assert live.count == count


def test_what_lies_outside_the_trained_range_is_told_and_not_judged(model: LinearARXModel) -> None:
    test = DriftTest(model, HORIZON)
    outside = np.full((HORIZON + 1, 1), 9.0)
    told = []
    for _ in range(ENOUGH):
        test.take(np.ones((HORIZON, 1)), outside)
        told.append(test.far)
    assert told == [False] * (ENOUGH - 1) + [True]
    assert test.ratio is None
    assert not test.drifted(LIMIT)
    for _ in range(ENOUGH):
        test.take(np.ones((HORIZON, 1)), np.zeros((HORIZON + 1, 1)))
        told.append(test.far)
    assert not told[-1]
    assert test.drifted(LIMIT)


def test_an_alarm_lasts_until_all_is_clearly_well_again(model: LinearARXModel) -> None:
    assert model.bands is not None
    width = model.bands.half_width(0.5, HORIZON)
    test, inside = DriftTest(model, HORIZON), np.zeros((HORIZON + 1, 1))

    def told(ratio: float) -> bool:
        for _ in range(ENOUGH):
            test.take(width * np.sqrt(ratio), inside)
        return test.drifted(LIMIT)

    assert not told(1.0)
    assert not told(0.9 * LIMIT)
    assert told(100.0)
    assert test.drifted(LIMIT)
    assert not told(0.4 * LIMIT)


def three(model: LinearARXModel) -> LinearARXModel:
    """Return a model of three observations, as far as errors are concerned."""
    assert model.bands is not None
    names = ("shoulder", "elbow", "wrist")
    widths = np.repeat(model.bands.widths, 3, axis=2)
    signature = replace(model.signature, observation_names=names)
    return model.replaced(signature=signature, bands=model.bands._replace(widths=widths))


def test_one_observation_is_told_of_where_it_is_forecast_worst(model: LinearARXModel) -> None:
    """Over all observations, and over all horizons, nothing is out of the ordinary."""
    arm = three(model)
    assert arm.bands is not None
    width, inside = arm.bands.half_width(0.5, HORIZON), np.zeros((HORIZON + 1, 1))
    test, errors = DriftTest(arm, HORIZON), width.copy()
    errors[:, 1] *= 3.0
    errors[6, 1] *= 2.0
    for _ in range(ENOUGH):
        test.take(errors, inside)
    assert test.ratio == pytest.approx(1.0)
    assert test.ratios == pytest.approx([1.0, 9.0, 1.0])
    assert test.drifted(LIMIT)
    assert test.alarm is not None
    assert (test.alarm.observation, test.alarm.horizon) == (1, 7)
    assert test.alarm.ratio == pytest.approx(36.0)
    assert test.alarm.misses == 1.0


def test_a_large_change_is_told_sooner_than_a_small_one(model: LinearARXModel) -> None:
    assert model.bands is not None
    width, inside = model.bands.half_width(0.5, HORIZON), np.zeros((HORIZON + 1, 1))

    def judged_before_an_alarm(ratio: float) -> int:
        test = DriftTest(model, HORIZON)
        for _ in range(ENOUGH):
            test.take(width, inside)
        count = 0
        while not test.drifted(LIMIT):
            test.take(width * np.sqrt(ratio), inside)
            count += 1
        return count

    assert judged_before_an_alarm(100.0) == WINDOWS[1].size // 2 + 1
    assert judged_before_an_alarm(3.0 * LIMIT) == ENOUGH // 2


def test_an_alarm_keeps_saying_what_began_it_as_long_as_that_is_not_well(
    model: LinearARXModel,
) -> None:
    """Then it says what else is wrong now; what is merely a little high does not count."""
    arm = three(model)
    assert arm.bands is not None
    width, inside = arm.bands.half_width(0.5, HORIZON), np.zeros((HORIZON + 1, 1))
    test = DriftTest(arm, HORIZON)

    def told(*ratios: float) -> int | None:
        for _ in range(ENOUGH):
            test.take(width * np.sqrt(ratios), inside)
            test.drifted(10.0)
        return test.alarm and test.alarm.observation

    assert told(1.0, 1.0, 100.0) == 2
    assert told(100.0, 1.0, 8.0) == 2  # no longer bad, but not well either
    assert told(100.0, 1.0, 1.0) == 0
    assert told(1.0, 100.0, 1.0) == 1
    assert told(8.0, 4.0, 8.0) is None


def test_missing_observations_and_unknown_bands_judge_nothing(model: LinearARXModel) -> None:
    nothing = DriftTest(model.replaced(bands=None), HORIZON)
    missing = DriftTest(model, HORIZON)
    beyond = DriftTest(model, 2 * HORIZON)
    for _ in range(2 * ENOUGH):
        nothing.take(np.ones((HORIZON, 1)), np.zeros((HORIZON + 1, 1)))
        missing.take(np.full((HORIZON, 1), np.nan), np.full((HORIZON + 1, 1), np.nan))
        beyond.take(np.ones((2 * HORIZON, 1)), np.zeros((2 * HORIZON + 1, 1)))
    assert nothing.ratio is None
    assert missing.ratio is None
    assert beyond.ratio is not None


def test_one_forecast_in_ten_ticks_is_judged_however_short_they_are(model: LinearARXModel) -> None:
    test = DriftTest(model, 1)
    for tick in range(10 * ENOUGH - 9):
        assert len(test.outside) == (tick + 9) // 10
        test.take(np.ones((1, 1)), np.zeros((2, 1)))
    assert len(test.outside) == ENOUGH


def test_a_swing_of_a_fast_robot_is_no_drift_and_no_place_where_it_mostly_is(
    model: LinearARXModel,
) -> None:
    """At 1000 ticks a second thirty forecasts of ten ticks are over in .3 s."""
    fast = model.replaced(signature=replace(model.signature, period=0.001))
    swing, usual = (np.full((HORIZON, 1), size) for size in (1.0, 0.0))
    worse, outside = DriftTest(fast, HORIZON), DriftTest(fast, HORIZON)
    for tick in range(0, 10_000, HORIZON):
        at_its_end = tick % 3000 < 300
        worse.take(swing if at_its_end else usual, np.zeros((HORIZON + 1, 1)))
        outside.take(usual, np.full((HORIZON + 1, 1), 9.0 * at_its_end))
        assert not worse.drifted(LIMIT)
        assert not outside.far
    for _ in range(0, 10_000, HORIZON):
        worse.take(swing, np.zeros((HORIZON + 1, 1)))
        outside.take(usual, np.full((HORIZON + 1, 1), 9.0))
    assert worse.drifted(LIMIT)
    assert outside.far


def test_without_bands_the_mean_square_of_training_is_the_measure(model: LinearARXModel) -> None:
    record = replace(model.record, metrics={"validation_mse_by_observation": [[0.04]] * HORIZON})
    live = LiveError(model.replaced(bands=None, record=record), HORIZON)
    for _ in range(ENOUGH):
        live.drift.take(np.full((HORIZON, 1), 0.6), np.zeros((HORIZON + 1, 1)))
    assert live.drift.ratio == pytest.approx(9.0)
    assert live.drift.drifted(LIMIT)
    assert not live.drift.drifted(100.0)
