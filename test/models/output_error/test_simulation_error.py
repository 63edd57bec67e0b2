"""The simulation error: derivatives against central differences, stretches, descent."""

import numpy as np
import pytest

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.models.output_error.gauss_newton import descend
from rffpsr_ros.models.output_error.recurrence import (
    Recurrence,
    SimulatedStretches,
    input_size,
    inputs_of,
    simulate,
)
from rffpsr_ros.models.output_error.simulation_error import (
    cut_stretches,
    normal_equations,
    simulation_error,
)
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.fourier_features import FeatureMap, draw_frequencies

PAST, OBSERVED, ACTED = 3, 2, 1
UNBOUNDED = Bounds(np.full(OBSERVED, -np.inf), np.full(OBSERVED, np.inf))
BOUNDED = Bounds(np.array([-0.6, -np.inf]), np.array([np.inf, 0.5]))


def recurrence(bounds: Bounds = UNBOUNDED, limit: float = 1.5) -> Recurrence:
    draw = np.random.default_rng(0)
    window = PAST * OBSERVED + (PAST + 1) * ACTED
    projection = np.linalg.qr(draw.standard_normal((14, 5)))[0]
    features = FeatureMap(draw_frequencies(window, 7, 2.0, draw), projection)
    return Recurrence(features, np.full(window, -limit), np.full(window, limit), bounds)


def problem(bounds: Bounds, ticks: int = 12) -> tuple[Recurrence, Array, SimulatedStretches]:
    draw = np.random.default_rng(1)
    stretches = SimulatedStretches(
        0.3 * draw.standard_normal((4, PAST, OBSERVED)),
        draw.standard_normal((4, PAST + ticks, ACTED)),
        draw.standard_normal((4, ticks, OBSERVED)),
    )
    stretches.target[1, 5:] = np.nan
    stretches.target[2, 3, 0] = np.nan
    runs = recurrence(bounds)
    return runs, 0.15 * draw.standard_normal((input_size(runs), OBSERVED)), stretches


@pytest.mark.parametrize("bounds", [UNBOUNDED, BOUNDED], ids=["free", "bounded"])
def test_gradient_and_curvature_against_differences(bounds: Bounds) -> None:
    runs, weights, stretches = problem(bounds)
    made = simulate(runs, weights, stretches.before, stretches.actions)
    assert bool((made == bounds.low).any()) == (bounds is BOUNDED)
    equations = normal_equations(runs, weights, stretches)
    assert equations.error == pytest.approx(simulation_error(runs, weights, stretches), rel=1e-12)
    along = np.random.default_rng(2).standard_normal(weights.shape)
    step = 1e-6

    def moved(shift: float) -> Array:
        return simulate(runs, weights + shift * along, stretches.before, stretches.actions)

    slope = (moved(step) - moved(-step)) / (2 * step)
    seen = np.isfinite(stretches.target)
    error = np.where(seen, made - stretches.target, 0.0)
    expected = float((error * slope).sum() / seen.sum())
    assert float(equations.gradient @ along.ravel()) == pytest.approx(expected, rel=1e-6)
    squared = float((slope**2)[seen].sum() / seen.sum())
    curvature = along.ravel() @ equations.curvature @ along.ravel()
    assert float(curvature) == pytest.approx(squared, rel=1e-6)


def test_a_simulation_feeds_predictions_back() -> None:
    runs, weights, stretches = problem(BOUNDED)
    made = simulate(runs, weights, stretches.before, stretches.actions)
    seen = list(stretches.before[0])
    for t in range(stretches.target.shape[1]):
        last = np.array(seen[-PAST:])[None]
        inputs = inputs_of(runs, last, stretches.actions[:1, t : t + PAST + 1]).inputs
        seen.append(BOUNDED(seen[-1] + (inputs @ weights)[0]))
    np.testing.assert_allclose(made[0], seen[PAST:], rtol=1e-12)


def test_stretches_cover_a_run_and_leave_gaps_out() -> None:
    ticks = np.arange(30.0)
    run = Run(np.stack([ticks, ticks], 1), ticks[:, None])
    run.observations[10, 0] = np.nan
    stretches = cut_stretches([run], past=3, length=10, most=100)
    starts = stretches.before[:, -1, 1] + 1
    assert starts.tolist() == [3, 5, 7, 9, 15, 17, 19, 20]
    np.testing.assert_array_equal(stretches.target[-1, :, 1], ticks[20:])
    np.testing.assert_array_equal(stretches.actions[-1, :, 0], ticks[17:])
    assert np.isnan(stretches.target[1, 5, 0])
    assert len(cut_stretches([run], 3, 10, 4).target) == 4
    short = cut_stretches([Run(run.observations[20:], run.actions[20:])], 3, 20, 4)
    assert np.isfinite(short.target).sum() == 7 * OBSERVED


def test_descent_finds_the_weights_that_made_the_data() -> None:
    runs, weights, stretches = problem(BOUNDED, ticks=40)
    made = simulate(runs, weights, stretches.before, stretches.actions)
    start = weights + 0.02 * np.random.default_rng(3).standard_normal(weights.shape)
    stretches = stretches._replace(target=made)
    found = descend(runs, start, stretches, 0.0, start, 30)
    assert simulation_error(runs, found, stretches) < 1e-6 * simulation_error(
        runs, start, stretches
    )


def test_a_ridge_holds_weights() -> None:
    runs, weights, stretches = problem(BOUNDED)
    free_of_it = descend(runs, weights, stretches, 1e-6, weights, 5)
    held = descend(runs, weights, stretches, 1e3, weights, 5)
    assert 0 < np.abs(held - weights).max() < 1e-2 * np.abs(free_of_it - weights).max()
