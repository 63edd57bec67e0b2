"""Gains: their derivatives against central differences, and Kalman filters of known systems."""

import numpy as np
import pytest

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.models.state_space.dynamics import StateSpace
from rffpsr_ros.models.state_space.gains import GainError, Motion, best_gain, kalman_gains, motion
from rffpsr_ros.models.state_space.simulation import first_states, simulation_error
from rffpsr_ros.models.state_space.stage import RULE
from rffpsr_ros.models.state_space.stretches import cut_free_stretches, cut_stretches
from test.models.state_space.drawn import (
    BOUNDED,
    STATES,
    UNBOUNDED,
    drawn_system,
    runs_with_gaps,
)


@pytest.mark.parametrize("integrators", [False, True])
@pytest.mark.parametrize("bounds", [UNBOUNDED, BOUNDED], ids=["free", "bounded"])
def test_gradient_against_differences(bounds: Bounds, integrators: bool) -> None:
    system = drawn_system(bounds, integrators)
    problem = GainError(system, cut_stretches(runs_with_gaps(), 20, 9))
    weights, step = system.gain.ravel(), 1e-5
    equations = problem.equations(weights)
    assert equations.error == pytest.approx(problem.error(weights), rel=1e-12)
    expected = [
        (problem.error(weights + step * along) - problem.error(weights - step * along)) / (4 * step)
        for along in np.eye(len(weights))
    ]
    np.testing.assert_allclose(equations.gradient, expected, rtol=1e-5, atol=1e-9)


def test_motion_is_that_of_simulations() -> None:
    system = drawn_system(UNBOUNDED, False)
    stretches = cut_free_stretches(runs_with_gaps(), 20, 9).simulated
    starts = first_states(system, stretches)
    known = motion(system, starts, stretches)
    weights = stretches.counted.sum(axis=(0, 1))
    error = simulation_error(system, stretches, starts)
    assert known.missed @ weights / weights.sum() == pytest.approx(error, rel=1e-9)
    assert known.changes.shape == (STATES,)
    assert (known.slopes[[0, 3]] < 1).all()


def linear(position: float, speed: float) -> StateSpace:
    """A system whose position is seen and whose speed is pushed."""
    transition = np.array([[1.0, 0.1, 0.0, 0.0, 0.0], [position, speed, 1.0, 0.0, 0.0]])
    output = np.array([[1.0, 0.0, 0.0, 0.0, 0.0]])
    nothing = np.zeros(2)
    return StateSpace(
        transition,
        output,
        np.zeros((1, 4)),
        np.zeros((2, 1)),
        nothing,
        np.zeros(1),
        np.full(1, np.inf),
        nothing,
        Bounds(np.full(1, -np.inf), np.full(1, np.inf)),
    )


def test_kalman_gains_are_stable_and_stronger_and_stronger() -> None:
    system = linear(-0.2, 1.02)  # which by itself is not stable
    transition, output = system.transition[:, :2], system.output[:, :2]
    assert np.abs(np.linalg.eigvals(transition)).max() > 1
    known = Motion(np.ones(1), np.array([0.01, 0.1]), np.array([1.0]))
    gains = list(kalman_gains(system, known))
    assert len(gains) > 8
    for gain in gains:
        assert np.abs(np.linalg.eigvals(transition - gain @ output)).max() < 1
    assert np.linalg.norm(gains[0]) < np.linalg.norm(gains[5])


def test_a_gain_that_fits_no_more_is_replaced() -> None:
    system, draw = linear(-0.2, 0.8), np.random.default_rng(0)
    push, state, seen = draw.standard_normal(600), np.zeros(2), []
    for one in push:
        seen.append(state[0] + 0.01 * draw.standard_normal())
        state = system.transition[:, :2] @ state + [0.0, one + 0.1 * draw.standard_normal()]
    run = Run(np.array(seen)[:, None], push[:, None])
    stretches = cut_stretches([run], 10, 99)
    spoilt = system._replace(gain=np.array([[3.0], [-4.0]]))
    free = cut_free_stretches([run], 10, 99).simulated
    known = motion(spoilt, first_states(spoilt, free), free)
    found = best_gain(spoilt, known, stretches, RULE)
    assert simulation_error(spoilt, stretches) > 1e6
    blind = simulation_error(system, stretches)
    assert simulation_error(found, stretches) < 0.6 * blind
    assert found.transition is spoilt.transition
