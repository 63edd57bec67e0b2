"""The closed loops that are compared: true equations that are Drake's, and a loop that closes."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pydrake")

from benchmarks.control.closed_loop import Feedback, Predictive, drive
from benchmarks.control.courses import WORLDS, courses, on_topics, recordings
from benchmarks.control.equations import EQUATIONS, STEPS, TrueEquations
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.simulation.system import runge_kutta


@pytest.mark.parametrize("name", ["pendulum", "arm"])
def test_the_equations_are_those_of_the_world(name: str) -> None:
    world = WORLDS[name]
    system = world.system()
    generator = np.random.default_rng(0)
    state = expected = np.array(world.rest)
    for _ in range(30):
        torque = 0.4 * generator.uniform(world.low, world.high)
        state = system.step(state, torque)
        expected = runge_kutta(EQUATIONS[name], expected, torque, world.period, STEPS)
        np.testing.assert_allclose(state, expected, atol=0.03)
    assert np.abs(state).max() > 0.1


def test_planning_with_the_true_equations_follows_better_than_any_linear_model() -> None:
    world = WORLDS["pendulum"]
    system = world.system()
    runs = recordings(world, system, 4, 0)
    linear = on_topics(LinearARX().fit(runs[1:], runs[:1]), system)
    true = TrueEquations.of(world, linear)
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
        model.kind: drive(system, Predictive(world, model, 10), course, world.rest).error
        for model in (linear, true)
    }
    still = drive(system, Feedback(world, np.zeros(1), np.zeros(1)), course, world.rest).error
    assert errors["true_equations"] < errors["linear_arx"] < 0.1 * still


def test_the_swimmers_equations_know_its_state_though_speeds_are_not_seen() -> None:
    world = WORLDS["swimmer"]
    system = world.system()
    runs = recordings(world, system, 3, 0)
    assert max(np.abs(run.observations[:, :2]).max() for run in runs) < 3  # joints do not run away
    linear = on_topics(LinearARX().fit(runs[1:], runs[:1]), system)
    true = TrueEquations.of(world, linear)
    state = true.initial_state()
    actions, observations = runs[0].actions, runs[0].observations
    for action, observation in zip(actions[:40], observations[:40], strict=True):
        state = true.update(state, action, observation)
    np.testing.assert_allclose(true.predict(state, actions[40:60]), observations[40:60], atol=1e-4)


def test_a_joint_that_turns_the_other_way_is_held_all_the_same() -> None:
    world = WORLDS["swimmer"]
    system = world.system()
    course = courses(world)["slow sines"](np.random.default_rng(0), 60)
    still = drive(system, Feedback(world, np.zeros(2), np.zeros(2)), course, world.rest).error
    held = drive(system, Feedback(world, np.full(2, 4.0), np.full(2, 0.5)), course, world.rest)
    assert held.error < 0.2 * still
