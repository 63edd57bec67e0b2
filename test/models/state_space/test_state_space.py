"""Nonlinear state space models of systems whose truth is known."""

from pathlib import Path

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import simulation_rmse
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.n4sid.learner import N4SID
from rffpsr_ros.models.state_space.learner import (
    NonlinearStateSpace,
    least_order,
    simulation_error_of,
    stages_for,
)
from rffpsr_ros.models.state_space.model import StateSpaceModel
from rffpsr_ros.recordings.trajectory import Trajectory

NOISE = 0.002


def spring(ticks: int, seed: int, cubic: float = 0.15) -> Trajectory:
    """A damped mass on a spring that hardens with the cube of its length, its position seen."""
    draw = np.random.default_rng(seed)
    force = draw.uniform(-0.4, 0.4, ticks)
    position = speed = 0.0
    seen = []
    for pull in force:
        seen.append(position + NOISE * draw.standard_normal())
        position, speed = (
            position + 0.4 * speed,
            0.7 * speed - 0.2 * position - cubic * position**3 + pull,
        )
    return Trajectory(seen, force, 0.01)


@pytest.fixture(scope="module")
def recording() -> Trajectory:
    return spring(3000, 0)


@pytest.fixture(scope="module")
def test_run() -> Trajectory:
    return spring(1000, 1)


@pytest.fixture(scope="module")
def model(recording: Trajectory) -> StateSpaceModel:
    return NonlinearStateSpace(2, features=2, saturating=False, stages=2).fit([recording])


def test_a_cubic_spring_is_recovered_to_its_noise(
    model: StateSpaceModel, recording: Trajectory, test_run: Trajectory
) -> None:
    linear = N4SID(order=2).fit([recording])
    assert simulation_rmse(linear, test_run, 50)[0] > 10 * NOISE
    assert simulation_rmse(model, test_run, 50)[0] < 1.25 * NOISE


def test_features_that_saturate_come_close(recording: Trajectory, test_run: Trajectory) -> None:
    linear, *_, last = NonlinearStateSpace(2, features=4, stages=2).path([recording])
    errors = [simulation_rmse(one, test_run, 50)[0] for one in (linear, last)]
    assert errors[1] < 0.25 * errors[0]


def test_of_a_linear_system_it_is_as_good_as_subspace_identification() -> None:
    train, test = spring(3000, 2, cubic=0.0), spring(1000, 3, cubic=0.0)
    linear = N4SID(order=2).fit([train])
    start, *_, last = NonlinearStateSpace(2, stages=1).path([train])
    errors = [simulation_rmse(one, test, 50)[0] for one in (linear, start, last)]
    assert errors[1] == pytest.approx(errors[0], rel=1e-6)
    assert errors[2] < 1.02 * errors[0]


def test_the_linear_start_forecasts_as_n4sid(recording: Trajectory, test_run: Trajectory) -> None:
    linear = N4SID(order=2).fit([recording])
    start = NonlinearStateSpace(2, stages=0).fit([recording])
    state, other = start.initial_state(), linear.initial_state()
    seen = test_run.slice(0, 200)
    state = start.state_from_history(seen.observations, seen.actions)
    other = linear.state_from_history(seen.observations, seen.actions)
    plan = test_run.actions[200:250]
    np.testing.assert_allclose(
        start.predict(state, plan), linear.predict(other, plan), rtol=0, atol=1e-6
    )


def test_actions_that_are_not_seen_change_nothing(
    recording: Trajectory, test_run: Trajectory
) -> None:
    def with_another(run: Trajectory, seed: int) -> Trajectory:
        other = np.random.default_rng(seed).standard_normal((len(run), 1))
        return Trajectory(run.observations, np.hstack([run.actions, other]), run.period)

    learner = NonlinearStateSpace(2, stages=1, actions=1)
    wide = learner.fit([with_another(recording, 1)])
    narrow = NonlinearStateSpace(2, stages=1).fit([recording])
    assert learner.weights(1, 2) == learner.weights(1, 1)
    forecasts = []
    for model, run in (
        (narrow, test_run),
        (wide, with_another(test_run, 2)),
        (wide, with_another(test_run, 3)),
    ):
        state = model.state_from_history(run.observations[:200], run.actions[:200])
        forecasts.append(model.predict(state, run.actions[200:250]))
    np.testing.assert_array_equal(forecasts[1], forecasts[2])
    np.testing.assert_allclose(forecasts[0], forecasts[1], rtol=0, atol=1e-3 * np.ptp(forecasts[0]))
    # Nor do they when it learns on, as its record says how.
    again = NonlinearStateSpace(**wide.record.options)
    on = again.led_on(wide, [with_another(test_run, 4)]).parts.system
    for part in on[:3]:
        np.testing.assert_array_equal(part[:, on.states + 1], 0.0)
    assert (on.transition != wide.parts.system.transition).any()


def rubbing(ticks: int, seed: int, most: float) -> Trajectory:
    """Return the speed of a mass that rubs, under forces of at most so much."""
    draw = np.random.default_rng(seed)
    force = np.repeat(draw.uniform(-most, most, ticks // 10), 10)
    speed, seen = 0.0, []
    for one in force:
        seen.append(speed + NOISE * draw.standard_normal())
        speed += 0.1 * (one - np.tanh(5 * speed) - 0.3 * speed)
    return Trajectory(np.array(seen), force, 0.1)


def test_features_that_begin_where_the_linear_system_errs_go_less_astray() -> None:
    train, beyond = rubbing(2000, 0, 2.0), rubbing(1000, 1, 6.0)
    errors = [
        np.mean([np.log(simulation_rmse(one, beyond, 50)[0]) for one in models])
        for models in (
            [
                NonlinearStateSpace(1, stages=2, seed=seed, drawn=drawn).fit([train])
                for seed in range(4)
            ]
            for drawn in (0, 256)
        )
    ]
    assert errors[1] < errors[0] - np.log(2)


def test_what_integrates_does_the_same_wherever_it_is() -> None:
    draw = np.random.default_rng(4)
    push = draw.standard_normal(2000)
    speed = np.zeros(2000)
    for tick in range(1, 2000):
        speed[tick] = 0.8 * speed[tick - 1] + np.tanh(2 * push[tick - 1])
    position = np.cumsum(speed)
    model = NonlinearStateSpace(1, integrating=True, stages=2).fit(
        [Trajectory(position[:1500], push[:1500], 0.1)]
    )
    after = []
    for offset in (0.0, 1000.0):
        state = model.state_from_history(offset + position[1500:1600, None], push[1500:1600, None])
        after.append(model.predict(state, push[1600:1700, None])[:, 0] - offset)
    np.testing.assert_allclose(after[0], after[1], rtol=0, atol=1e-6)
    assert np.abs(after[0] - position[1600:1700]).max() < 0.05 * np.ptp(position[1600:1700])


def test_saved_and_followed_through_gaps(
    model: StateSpaceModel, test_run: Trajectory, tmp_path: Path
) -> None:
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    one, other = model.initial_state(), loaded.initial_state()
    for tick in range(60):
        seen = test_run.observations[tick] if tick % 5 else np.full(1, np.nan)
        one = model.update(one, test_run.actions[tick], seen)
        other = loaded.update(other, test_run.actions[tick], seen)
    plan = test_run.actions[60:90]
    np.testing.assert_array_equal(model.predict(one, plan), loaded.predict(other, plan))
    missed = model.predict(one, plan)[:, 0] - test_run.observations[60:90, 0]
    assert np.abs(missed).max() < 0.2 * test_run.observations.std()


def test_a_model_is_led_on_by_other_recordings(recording: Trajectory, test_run: Trajectory) -> None:
    learner = NonlinearStateSpace(2, 4, saturating=False)
    little = learner.fit([recording.slice(0, 150)])
    more = [recording, spring(400, 8)]
    led = learner.led_on(little, more)
    assert simulation_error_of(led, more) < simulation_error_of(little, more)
    assert simulation_rmse(led, test_run, 50)[0] < simulation_rmse(little, test_run, 50)[0]
    assert led.record.options == {**little.record.options, "stages": learner.stages}
    # Predictions are held within what all of them covered.
    low, high = led.parts.system.bounds
    for one in more:
        assert (low <= led.parts.observation_scaling.apply(one.observations).min(axis=0)).all()
        assert (high >= led.parts.observation_scaling.apply(one.observations).max(axis=0)).all()


def test_the_least_order_that_is_as_good_as_any_is_taken() -> None:
    assert least_order({1: 3.0, 2: 1.5, 4: 1.0}) == 2
    assert least_order({1: 3.0, 2: 1.7, 4: 1.0}) == 4
    assert least_order({}) == 1


def test_stages_end_where_recordings_have_no_room_for_longer_stretches(
    recording: Trajectory,
) -> None:
    assert [stages_for(ticks) for ticks in (10, 80, 81, 230, 231, 830, 831, 3230, 3231, 10**6)] == [
        *(1, 1, 2, 2, 3, 3, 4, 4, 5, 5)
    ]
    short = [recording.slice(0, 200), recording.slice(200, 400)]
    learned = [one.record.options["stages"] for one in NonlinearStateSpace(2).path(short)]
    assert learned == [0, 1, 2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"order": 0}, "'order' is 0"),
        ({"features": 0}, "'features' is 0"),
        ({"stages": 9}, "at most 5"),
        ({"seed": 1.5}, "'seed' is 1.5; it must be a whole number"),
        ({"seed": -1}, "'seed' is -1; it must be at least 0"),
        ({"saturating": "no"}, "'saturating' is 'no'; it must be True or False"),
        ({"drawn": -1}, "'drawn' is -1; it must be at least 0"),
    ],
)
def test_options_are_checked(options: dict[str, float], words: str) -> None:
    with pytest.raises(InputError, match=words):
        NonlinearStateSpace(**options)  # type: ignore[arg-type]
