"""Simulations of a nonlinear system: sensitivities against central differences, and stretches."""

import numpy as np
import pytest

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.models.state_space.dynamics import StateSpace, advance, corrected, placed
from rffpsr_ros.models.state_space.free_starts import FreeStarts, found_starts
from rffpsr_ros.models.state_space.sensitivities import moving_weights
from rffpsr_ros.models.state_space.stretches import (
    AT_START,
    SETTLING,
    Stretches,
    cut_free_stretches,
    cut_stretches,
)
from rffpsr_ros.numerics.arrays import Array
from test.models.state_space.drawn import (
    BOUNDED,
    OBSERVED,
    STATES,
    UNBOUNDED,
    drawn_system,
    runs_with_gaps,
)


def problem_of(system: StateSpace) -> FreeStarts:
    """All weights are free but those that others decide."""
    free = np.ones(moving_weights(system).size, bool)
    if system.integrators.any():
        free[: system.transition.size].reshape(system.transition.shape)[-OBSERVED:] = False
    return FreeStarts(system, free, cut_free_stretches(runs_with_gaps(), 20, 9).simulated)


def drawn_starts(problem: FreeStarts) -> Array:
    shape = problem.stretches.actions.shape[1], STATES
    return 0.3 * np.random.default_rng(2).standard_normal(shape)


@pytest.mark.parametrize("integrators", [False, True])
@pytest.mark.parametrize("bounds", [UNBOUNDED, BOUNDED], ids=["free", "bounded"])
def test_gradient_against_differences(bounds: Bounds, integrators: bool) -> None:
    problem = problem_of(drawn_system(bounds, integrators))
    point, step = problem.point(drawn_starts(problem)), 1e-5
    equations = problem.equations(point)
    assert equations.error == pytest.approx(problem.error(point), rel=1e-12)
    expected = [
        (problem.error(point + step * along) - problem.error(point - step * along)) / (4 * step)
        for along in np.eye(len(point))
    ]
    found = np.concatenate([equations.gradient, equations.own_gradient.ravel()])
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6 * scale)


@pytest.mark.parametrize("integrators", [False, True])
def test_curvature_predicts_the_error_of_a_system_without_noise(integrators: bool) -> None:
    truth = drawn_system(UNBOUNDED, integrators)
    problem = problem_of(truth)
    starts = drawn_starts(problem)
    exact = _simulated(truth, problem.stretches, starts)
    seen = problem.stretches._replace(observations=exact, counted=np.ones_like(exact, bool))
    problem = problem._replace(stretches=seen)
    point = problem.point(starts)
    equations = problem.equations(point)
    size = len(equations.gradient)
    along = np.random.default_rng(2).standard_normal(len(point))
    along[:size] *= 0.1
    shared, own = along[:size], along[size:].reshape(starts.shape)
    predicted = (
        shared @ equations.curvature @ shared
        + np.einsum("gn,gnm,gm", own, equations.own_curvature, own)
        + 2 * np.einsum("q,gqn,gn", shared, equations.coupling, own)
    )
    assert problem.error(point + 1e-5 * along) == pytest.approx(1e-10 * predicted, rel=1e-3)


def _simulated(system: StateSpace, stretches: Stretches, state: Array) -> Array:
    """Return what a system shows, by its equations tick by tick."""
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


def test_only_free_weights_and_first_states_move() -> None:
    problem = problem_of(drawn_system(UNBOUNDED, False))
    free = np.random.default_rng(3).random(len(problem.free)) < 0.5
    problem, starts = problem._replace(free=free), drawn_starts(problem)
    system, moved = problem.split(problem.point(starts) + 1.0)
    change = moving_weights(system) - moving_weights(problem.system)
    np.testing.assert_array_equal(change != 0, free)
    np.testing.assert_allclose(moved, starts + 1.0)
    assert problem.equations(problem.point(starts)).curvature.shape == (free.sum(), free.sum())


def test_integrators_keep_what_is_seen() -> None:
    problem = problem_of(drawn_system(UNBOUNDED, True))
    system, _ = problem.split(problem.point(drawn_starts(problem)) + 0.1)
    np.testing.assert_array_equal(system.transition[-OBSERVED:], system.output)
    assert (system.output != problem.system.output).all()


def test_stretches_cover_a_recording_and_settle_before_they_count() -> None:
    length = 50
    seen = np.arange(400.0)[:, None]
    found = cut_stretches([Run(seen, np.zeros((400, 1)))], length, 99)
    counted = set(found.observations[found.counted].tolist())
    assert counted == set(map(float, range(AT_START, 400)))
    assert found.actions.shape[0] == SETTLING + length
    first = found.observations[0, :, 0] == 0
    np.testing.assert_array_equal(found.corrected.sum(axis=0), np.where(first, AT_START, SETTLING))


def test_free_stretches_count_from_their_first_tick_on_and_follow_those_before() -> None:
    seen = np.arange(400.0)[:, None]
    found = cut_free_stretches([Run(seen, -seen)], 50, 99)
    assert set(found.simulated.observations[found.simulated.counted]) == set(range(400))
    assert not found.simulated.corrected.any()
    begins = found.simulated.observations[0, :, 0]
    np.testing.assert_array_equal(found.first, begins == 0)
    later = ~found.first
    last = found.before.observations[:, later, 0]
    np.testing.assert_array_equal(last, begins[later] + np.arange(-SETTLING, 0.0)[:, None])
    inside = np.isfinite(found.simulated.observations)
    np.testing.assert_array_equal(
        found.simulated.actions[inside], -found.simulated.observations[inside]
    )


@pytest.mark.parametrize("integrators", [False, True])
def test_first_states_are_where_a_follower_is(integrators: bool) -> None:
    system, runs = drawn_system(UNBOUNDED, integrators), runs_with_gaps()
    stretches = cut_free_stretches(runs, 20, 9)
    found = found_starts(system, stretches)
    place = int(np.flatnonzero(~stretches.first)[0])
    state, seen = system.start, np.zeros(OBSERVED, bool)
    for action, observation in zip(
        stretches.before.actions[:, place], stretches.before.observations[:, place], strict=True
    ):
        state = placed(system, state, observation, seen)
        seen = seen | np.isfinite(observation)
        state = corrected(system, advance(system, state, action), observation)
    np.testing.assert_allclose(found[place], state, rtol=0, atol=1e-12)
    begun = placed(system, system.start, runs[0].observations[0], np.zeros(OBSERVED, bool))
    np.testing.assert_array_equal(found[0], begun)
