"""The closed loops that are compared: true equations that are Drake's, and a loop that closes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pydrake")

from benchmarks.control.closed_loop import Feedback, Predictive, drive
from benchmarks.control.courses import PERIOD, WORLDS, courses, on_topics, recordings
from benchmarks.control.equations import EQUATIONS, STEPS, TrueEquations
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.simulation.system import runge_kutta


@pytest.mark.parametrize("name", WORLDS)
def test_the_equations_are_those_of_the_world(name: str) -> None:
    world = WORLDS[name]
    system = world.system()
    generator = np.random.default_rng(0)
    state = expected = np.zeros(len(system.observation_names))
    for _ in range(30):
        torque = 0.4 * generator.uniform(world.low, world.high)
        state = system.step(state, torque)
        expected = runge_kutta(EQUATIONS[name], expected, torque, PERIOD, STEPS)
        np.testing.assert_allclose(state, expected, atol=0.03)
    assert np.abs(state).max() > 0.1


def test_planning_with_the_true_equations_follows_better_than_any_linear_model() -> None:
    world = WORLDS["pendulum"]
    system = world.system()
    runs = recordings(world, system, 4, 0)
    linear = on_topics(LinearARX().fit(runs[1:], runs[:1]), system)
    true = TrueEquations.of("pendulum", linear)
    actions = np.linspace(-1, 1, 5)[:, None]
    state = true.update(true.initial_state(), actions[0], np.array([0.3, -0.5]))
    by_hand = np.zeros((5, 2, 5, 1))
    for tick in range(5):
        moved = actions.copy()
        moved[tick] += 1e-3
        change = true.predict(state, moved) - true.predict(state, actions)
        by_hand[:, :, tick, 0] = change / 1e-3
    np.testing.assert_allclose(true.jacobian(state, actions), by_hand, atol=1e-3)
    course = courses(world)["slow sines"](np.random.default_rng(0), 60)
    errors = {
        model.kind: drive(system, Predictive(world, model, 10), course, np.zeros(2)).error
        for model in (linear, true)
    }
    still = drive(system, Feedback(world, np.zeros(1), np.zeros(1)), course, np.zeros(2)).error
    assert errors["true_equations"] < errors["linear_arx"] < 0.1 * still
