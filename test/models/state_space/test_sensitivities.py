"""Simulations of a nonlinear system: sensitivities against central differences, and stretches."""

import numpy as np
import pytest

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.models.state_space.dynamics import StateSpace
from rffpsr_ros.models.state_space.sensitivities import (
    SimulatedSystem,
    learned_weights,
    normal_equations,
    simulation_error,
    with_weights,
)
from rffpsr_ros.models.state_space.stretches import AT_START, SETTLING, Stretches, cut_stretches
from rffpsr_ros.numerics.arrays import Array

STATES, OBSERVED, ACTED = 3, 2, 1
UNBOUNDED = Bounds(np.full(OBSERVED, -np.inf), np.full(OBSERVED, np.inf))
BOUNDED = Bounds(np.array([-0.2, -np.inf]), np.array([np.inf, 0.3]))


def drawn_system(bounds: Bounds, integrators: bool) -> StateSpace:
    draw = np.random.default_rng(0)
    powers = np.array([0.0, 2.0, 3.0, 0.0])
    columns = STATES + ACTED + 1
    transition = 0.2 * draw.standard_normal((STATES, columns + len(powers)))
    transition[:, :STATES] += 0.5 * np.eye(STATES)
    return StateSpace(
        transition,
        0.4 * draw.standard_normal((OBSERVED, columns + len(powers))),
        0.5 * draw.standard_normal((len(powers), columns)),
        0.2 * draw.standard_normal((STATES, OBSERVED)),
        0.3 * draw.standard_normal(STATES),
        powers,
        np.array([np.inf, 1.0, 1.0, np.inf]),
        np.array([0.0, 1.0, 1.0]) * integrators,
        bounds,
    )


def stretches_with_gaps() -> Stretches:
    draw = np.random.default_rng(1)
    runs = [
        Run(draw.standard_normal((ticks, OBSERVED)), draw.standard_normal((ticks, ACTED)))
        for ticks in (80, 33)
    ]
    runs[0].observations[40] = np.nan
    runs[1].observations[[0, 3], 1] = np.nan
    return cut_stretches(runs, 20, 9)


@pytest.mark.parametrize("integrators", [False, True])
@pytest.mark.parametrize("bounds", [UNBOUNDED, BOUNDED], ids=["free", "bounded"])
def test_gradient_against_differences(bounds: Bounds, integrators: bool) -> None:
    system, stretches = drawn_system(bounds, integrators), stretches_with_gaps()
    weights, step = learned_weights(system), 1e-5
    equations = normal_equations(system, stretches)
    assert equations.error == pytest.approx(simulation_error(system, stretches), rel=1e-12)

    def moved(change: Array) -> float:
        return simulation_error(with_weights(system, weights + change), stretches)

    expected = [
        (moved(step * along) - moved(-step * along)) / (4 * step) for along in np.eye(len(weights))
    ]
    scale = np.abs(expected).max()
    np.testing.assert_allclose(equations.gradient, expected, rtol=1e-4, atol=1e-6 * scale)


def test_curvature_predicts_the_error_of_a_system_without_noise() -> None:
    truth, stretches = drawn_system(UNBOUNDED, False), stretches_with_gaps()
    weights = learned_weights(truth)
    stretches = stretches._replace(corrected=np.zeros_like(stretches.corrected))
    exact = _simulated(truth, stretches)
    seen = stretches._replace(observations=exact, counted=np.ones_like(stretches.counted))
    curvature = normal_equations(truth, seen).curvature
    along = np.random.default_rng(2).standard_normal(len(weights))
    along[: -STATES - STATES * OBSERVED] *= 0.1
    error = simulation_error(with_weights(truth, weights + 1e-5 * along), seen)
    assert error == pytest.approx(1e-10 * along @ curvature @ along, rel=1e-3)


def _simulated(system: StateSpace, stretches: Stretches) -> Array:
    """Return what a system shows, by its equations tick by tick."""
    state = np.tile(system.start, (stretches.actions.shape[1], 1))
    shown = []
    for action in stretches.actions:
        linear = np.concatenate([state, action, np.ones((len(state), 1))], axis=1)
        v = linear @ system.directions.T
        held = np.clip(v, -1.0, 1.0)
        features = [np.tanh(v[:, 0]), held[:, 1] ** 2, held[:, 2] ** 3, np.tanh(v[:, 3])]
        inputs = np.concatenate([linear, np.stack(features, axis=1)], axis=1)
        shown.append(inputs @ system.output.T)
        state = inputs @ system.transition.T
    return np.stack(shown)


def test_only_free_weights_move() -> None:
    system, stretches = drawn_system(UNBOUNDED, False), stretches_with_gaps()
    free = np.random.default_rng(3).random(len(learned_weights(system))) < 0.5
    problem = SimulatedSystem(system, free, stretches)
    moved = learned_weights(problem.with_free(problem.start() + 1.0))
    np.testing.assert_array_equal(moved - learned_weights(system) != 0, free)
    assert problem.equations(problem.start()).curvature.shape == (free.sum(), free.sum())


def test_stretches_cover_a_recording_and_settle_before_they_count() -> None:
    length = 50
    seen = np.arange(400.0)[:, None]
    found = cut_stretches([Run(seen, np.zeros((400, 1)))], length, 99)
    counted = set(found.observations[found.counted].tolist())
    assert counted == set(map(float, range(AT_START, 400)))
    assert found.actions.shape[0] == SETTLING + length
    first = found.observations[0, :, 0] == 0
    np.testing.assert_array_equal(found.corrected.sum(axis=0), np.where(first, AT_START, SETTLING))
