"""Learned linear models against the systems they were learned from."""

import numpy as np
import pytest

from benchmarks.known_systems import optimal_forecasts, random_linear_system, simulate_linear
from rffpsr_ros.data.likelihood_ratios import with_gaussian_policy
from rffpsr_ros.models.kalman.learner import Kalman
from rffpsr_ros.models.kalman.linear_system import LinearSystem
from rffpsr_ros.models.kalman.model import KalmanModel
from rffpsr_ros.models.state_batches import stack_states
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

NAN = float("nan")
HORIZON = 10


def forecasts(model: KalmanModel, run: Trajectory, origins: Array) -> Array:
    """Return the model's forecasts (B, H, d_o), filtered through the run's whole past."""
    states, state = [], model.initial_state()
    for t in range(origins[-1] + 1):
        if t in origins:
            states.append(state)
        state = model.update(state, run.actions[t], run.observations[t])
    plans = run.actions[origins[:, None] + np.arange(HORIZON)]
    return model.predict(stack_states(states), plans)


@pytest.fixture(scope="module")
def system() -> LinearSystem:
    return random_linear_system(0)


@pytest.fixture(scope="module")
def model(system: LinearSystem) -> KalmanModel:
    return Kalman(past=10, order=4, ridge=1e-9).fit([simulate_linear(system, 20_000, 1)])


def test_forecasts_are_nearly_as_good_as_the_true_kalman_filters(
    system: LinearSystem, model: KalmanModel
) -> None:
    run = simulate_linear(system, 3000, 2)
    origins = np.arange(50, 2990)
    future = run.observations[origins[:, None] + np.arange(HORIZON)]
    ours = ((forecasts(model, run, origins) - future) ** 2).sum(2).mean(0)
    best = ((optimal_forecasts(system, run, origins, HORIZON) - future) ** 2).sum(2).mean(0)
    assert (ours < 1.02 * best).all()


def test_without_noise_the_system_is_found_to_six_digits() -> None:
    system = random_linear_system(1, noise=0.0)
    model = Kalman(past=8).fit([simulate_linear(system, 3000, 1)])
    run = simulate_linear(system, 400, 2)
    origins = np.arange(50, 390)
    future = run.observations[origins[:, None] + np.arange(HORIZON)]
    error = forecasts(model, run, origins) - future
    assert np.abs(error).max() < 1e-6 * run.observations.std()


def test_order_history_and_ridge_are_chosen_by_what_was_held_out(system: LinearSystem) -> None:
    model = Kalman(past=10).fit([simulate_linear(system, 5000, 1)])
    options = model.record.options
    assert 4 <= options["order"] <= 8
    assert options["past"] in (1, 2, 5, 10)
    assert len(model.record.metrics["validation_mse"]) == HORIZON


def test_weights_in_stage_one_lessen_the_error_that_feedback_makes(system: LinearSystem) -> None:
    gains = np.array([[-0.2, 0.1], [-0.1, -0.2]])
    run = simulate_linear(system, 20_000, 1, gains)
    (weighted,) = with_gaussian_policy([run], gains, np.zeros(2), np.ones(2))
    test = simulate_linear(system, 2000, 2)
    origins = np.arange(50, 1990)
    future = test.observations[origins[:, None] + np.arange(HORIZON)]
    best = ((optimal_forecasts(system, test, origins, HORIZON) - future) ** 2).mean()
    learner = Kalman(past=5, future=3, order=4, ridge=1e-9)
    plain, model = (learner.fit([one]) for one in (run, weighted))
    excess = [
        ((forecasts(one, test, origins) - future) ** 2).mean() / best - 1 for one in (plain, model)
    ]
    assert "over 3 ticks after the first, whose ratio cancels" in model.record.notes[0]
    assert excess[0] > 0.1
    assert excess[1] < 0.2 * excess[0]


def test_a_missing_observation_is_the_kalman_filters_prediction_step(model: KalmanModel) -> None:
    system, action = model.parts.system, np.array([0.3, -1.0])
    state = model.update(model.initial_state(), action, np.array([1.0, 2.0]))
    after = model.update(state, action, np.array([NAN, NAN]))
    acted = model.parts.action_scaling.apply(action)
    np.testing.assert_allclose(
        after.mean, system.transition @ state.mean + system.action @ acted, atol=1e-13
    )
    grown = system.transition @ state.covariance @ system.transition.T
    noise = system.gain @ system.innovation @ system.gain.T
    np.testing.assert_allclose(after.covariance, grown + noise, atol=1e-13)


def test_one_channel_alone_still_corrects_the_state(model: KalmanModel) -> None:
    state, action = model.initial_state(), np.zeros(2)
    silent = model.update(state, action, np.array([NAN, NAN]))
    partly = model.update(state, action, np.array([2.0, NAN]))
    assert np.trace(partly.covariance) < np.trace(silent.covariance)
    assert not np.allclose(partly.mean, silent.mean)


def test_many_recordings_from_one_state_tell_where_episodes_start() -> None:
    system = random_linear_system(3, noise=0.3)
    start = np.array([3.0, -2.0, 1.0, 2.0])
    runs = [simulate_linear(system._replace(start=start), 60, seed) for seed in range(80)]
    model = Kalman(past=5, order=5).fit(runs)  # one more for what their means leave over
    quiet = np.zeros((5, 2))
    expected = optimal_forecasts(
        system._replace(start=start), Trajectory(np.zeros((5, 2)), quiet), np.array([0]), 5
    )[0]
    error = model.predict(model.initial_state(), quiet) - expected
    assert np.abs(error).max() < 0.15 * np.abs(expected).max()


def test_an_unknown_value_is_said() -> None:
    with pytest.raises(ValueError, match="'order' is 0; it must be at least 1"):
        Kalman(order=0)
