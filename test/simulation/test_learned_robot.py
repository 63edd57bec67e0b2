"""A learned robot is a free run of its model, and says for how long to believe it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel, TrainingRecord
from rffpsr_ros.models.kalman.learner import Kalman
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.simulation.learned_robot import LearnedRobot, trusted_ticks
from rffpsr_ros.simulation.live_simulation import LiveSimulation
from test.nonlinear_runs import nonlinear_runs


@pytest.fixture(scope="module")
def linear() -> PredictiveModel[Any]:
    return Kalman(past=3, future=4).fit(nonlinear_runs(3, 150))


def test_a_linear_models_free_run_is_its_own_forecast(linear: PredictiveModel[Any]) -> None:
    robot = LearnedRobot(linear)
    actions = np.random.default_rng(0).uniform(-1, 1, (4, 2))
    state = robot.initial_state(np.random.default_rng(0))
    expected = linear.predict(linear.initial_state(), actions)
    for action, row in zip(actions, expected, strict=True):
        state = robot.step(state, action)
        np.testing.assert_allclose(robot.observe(state), row, atol=1e-9)


def test_it_runs_as_any_simulated_system(linear: PredictiveModel[Any]) -> None:
    simulation = LiveSimulation(LearnedRobot(linear), 0)
    simulation.command(0, slice(0, 2), np.array([1.0, -1.0]))
    before = simulation.look()
    for _ in range(30):
        simulation.advance()
    assert np.abs(simulation.look() - before).max() > 0.1
    low, high = LearnedRobot(linear).action_limits
    assert (low < 0).all()
    assert (high > 0).all()


def noted(model: PredictiveModel[Any], error: Any) -> PredictiveModel[Any]:
    return model.replaced(record=TrainingRecord(metrics={"validation_mse_by_observation": error}))


def test_trust_ends_where_the_error_reaches_the_variance(linear: PredictiveModel[Any]) -> None:
    single = SingleRFFPSR(
        past=3, future=3, features=20, rank=6, iterations=1, arx_past=3, narx_features=10
    ).fit(nonlinear_runs(2, 100))
    variance = single.parts.observation_scaling.deviation**2
    shares = np.array([[0.1, 0.1], [0.5, 0.9], [0.9, 1.1], [1.2, 1.5]])
    trust = trusted_ticks(noted(single, (shares * variance).tolist()))
    assert trust is not None
    assert (trust.ticks, trust.at_least) == (2, False)
    assert trust.observation == single.signature.observation_names[1]
    whole = trusted_ticks(noted(single, (0.5 * np.ones((4, 2)) * variance).tolist()))
    assert whole is not None
    assert (whole.ticks, whole.at_least) == (4, True)
    assert trusted_ticks(noted(single, None)) is None


def test_a_runaway_is_told_in_a_sentence(linear: PredictiveModel[Any]) -> None:
    robot = LearnedRobot(linear)
    state = robot.initial_state(np.random.default_rng(0))
    with pytest.raises(InputError, match="ran away"):
        robot.step(state, np.array([1e300, 0.0]))


def test_after_a_runaway_time_goes_on_from_the_start_with_no_command(
    linear: PredictiveModel[Any],
) -> None:
    simulation, untouched = (LiveSimulation(LearnedRobot(linear), 0) for _ in range(2))
    simulation.command(0, slice(0, 2), np.array([1e300, 0.0]))
    before = simulation.next_ns
    with pytest.raises(InputError, match="ran away"):
        simulation.advance()
    assert simulation.now_ns == before
    np.testing.assert_array_equal(simulation.look(), untouched.look())
    for _ in range(3):
        simulation.advance()
        untouched.advance()
        np.testing.assert_array_equal(simulation.look(), untouched.look())
