"""Free runs and what they tell: derivatives against central differences, stretches, descent."""

import numpy as np
import pytest

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.models.output_error.gauss_newton import descend
from rffpsr_ros.models.output_error.recurrence import (
    Free,
    Recurrence,
    input_size,
    inputs_of,
    run_freely,
)
from rffpsr_ros.models.output_error.simulation_error import (
    free_stretches,
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


def problem(bounds: Bounds, ticks: int = 12) -> tuple[Recurrence, Array, Free]:
    draw = np.random.default_rng(1)
    free = Free(
        0.3 * draw.standard_normal((4, PAST, OBSERVED)),
        draw.standard_normal((4, PAST + ticks, ACTED)),
        draw.standard_normal((4, ticks, OBSERVED)),
    )
    free.target[1, 5:] = np.nan
    free.target[2, 3, 0] = np.nan
    runs = recurrence(bounds)
    return runs, 0.15 * draw.standard_normal((input_size(runs), OBSERVED)), free


@pytest.mark.parametrize("bounds", [UNBOUNDED, BOUNDED], ids=["free", "bounded"])
def test_gradient_and_curvature_against_differences(bounds: Bounds) -> None:
    runs, weights, free = problem(bounds)
    made = run_freely(runs, weights, free.before, free.actions)
    assert bool((made == bounds.low).any()) == (bounds is BOUNDED)
    equations = normal_equations(runs, weights, free)
    assert equations.error == pytest.approx(simulation_error(runs, weights, free), rel=1e-12)
    along = np.random.default_rng(2).standard_normal(weights.shape)
    step = 1e-6

    def moved(shift: float) -> Array:
        return run_freely(runs, weights + shift * along, free.before, free.actions)

    slope = (moved(step) - moved(-step)) / (2 * step)
    seen = np.isfinite(free.target)
    error = np.where(seen, made - free.target, 0.0)
    expected = float((error * slope).sum() / seen.sum())
    assert float(equations.gradient @ along.ravel()) == pytest.approx(expected, rel=1e-6)
    squared = float((slope**2)[seen].sum() / seen.sum())
    curvature = along.ravel() @ equations.curvature @ along.ravel()
    assert float(curvature) == pytest.approx(squared, rel=1e-6)


def test_a_free_run_feeds_predictions_back() -> None:
    runs, weights, free = problem(BOUNDED)
    made = run_freely(runs, weights, free.before, free.actions)
    seen = list(free.before[0])
    for t in range(free.target.shape[1]):
        last = np.array(seen[-PAST:])[None]
        inputs = inputs_of(runs, last, free.actions[:1, t : t + PAST + 1]).inputs
        seen.append(BOUNDED(seen[-1] + (inputs @ weights)[0]))
    np.testing.assert_allclose(made[0], seen[PAST:], rtol=1e-12)


def test_stretches_cover_a_run_and_leave_gaps_out() -> None:
    ticks = np.arange(30.0)
    run = Run(np.stack([ticks, ticks], 1), ticks[:, None])
    run.observations[10, 0] = np.nan
    free = free_stretches([run], past=3, length=10, most=100)
    starts = free.before[:, -1, 1] + 1
    assert starts.tolist() == [3, 5, 7, 9, 15, 17, 19, 20]
    np.testing.assert_array_equal(free.target[-1, :, 1], ticks[20:])
    np.testing.assert_array_equal(free.actions[-1, :, 0], ticks[17:])
    assert np.isnan(free.target[1, 5, 0])
    assert len(free_stretches([run], 3, 10, 4).target) == 4
    short = free_stretches([Run(run.observations[20:], run.actions[20:])], 3, 20, 4)
    assert np.isfinite(short.target).sum() == 7 * OBSERVED


def test_descent_finds_the_weights_that_made_the_data() -> None:
    runs, weights, free = problem(BOUNDED, ticks=40)
    made = run_freely(runs, weights, free.before, free.actions)
    start = weights + 0.02 * np.random.default_rng(3).standard_normal(weights.shape)
    free = free._replace(target=made)
    found = descend(runs, start, free, 0.0, start, 30)
    assert simulation_error(runs, found, free) < 1e-6 * simulation_error(runs, start, free)


def test_a_ridge_holds_weights() -> None:
    runs, weights, free = problem(BOUNDED)
    free_of_it = descend(runs, weights, free, 1e-6, weights, 5)
    held = descend(runs, weights, free, 1e3, weights, 5)
    assert 0 < np.abs(held - weights).max() < 1e-2 * np.abs(free_of_it - weights).max()
