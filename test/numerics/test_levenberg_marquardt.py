"""Damped Gauss-Newton steps."""

import numpy as np
import pytest

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.levenberg_marquardt import LEAST_CURVATURE, DampingRule, damped_step

RULE = DampingRule(first=1e-2, easier=0.3, harder=4.0, failures=6)


def valley(point: Array) -> Array:
    """Rosenbrock's residuals, zero at (1, 1)."""
    return np.array([10 * (point[1] - point[0] ** 2), 1 - point[0]])


def jacobian(point: Array) -> Array:
    return np.array([[-20 * point[0], 10.0], [-1.0, 0.0]])


def loss(point: Array) -> float:
    return float(valley(point) @ valley(point))


def test_steps_descend_to_the_minimum() -> None:
    point, lowest, damping = np.array([-1.2, 1.0]), loss(np.array([-1.2, 1.0])), RULE.first
    for _ in range(60):
        slope, curvature = jacobian(point).T @ valley(point), jacobian(point).T @ jacobian(point)
        step = damped_step(point, lowest, slope, curvature, loss, damping, RULE)
        if step is None:
            break
        assert step.loss == loss(step.point)
        assert step.loss < lowest
        point, lowest, damping = step.point, step.loss, step.damping * RULE.easier
    np.testing.assert_allclose(point, 1.0, atol=1e-6)


def test_where_nothing_is_better_there_is_no_step() -> None:
    best = np.ones(2)
    slope, curvature = np.array([1.0, 0.0]), np.eye(2)
    assert damped_step(best, 0.0, slope, curvature, loss, RULE.first, RULE) is None


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_gives_no_step(bad: float) -> None:
    point = np.zeros(2)
    assert damped_step(point, 1.0, np.full(2, bad), np.eye(2), loss, 1.0, RULE) is None


def test_a_parameter_that_changes_nothing_stays() -> None:
    point, curvature = np.array([3.0, 5.0]), np.diag([1.0, 0.0])
    step = damped_step(
        point, 9.0, np.array([3.0, 0.0]), curvature, lambda p: float(p[0] ** 2), 0.0, RULE
    )
    assert step is not None
    np.testing.assert_allclose(step.point, [0.0, 5.0], atol=1e-6)


def test_a_step_solves_the_damped_equations_of_the_upper_triangle() -> None:
    """In whatever units parameters are: single precision must not show but for rounding."""
    draw = np.random.default_rng(3)
    units = 10.0 ** draw.uniform(-6, 6, 8)
    slopes = draw.standard_normal((30, 8)) * units
    slope, curvature = slopes.T @ draw.standard_normal(30), slopes.T @ slopes
    step = damped_step(
        np.zeros(8), 0.0, slope, np.triu(curvature), lambda point: -1.0, RULE.first, RULE
    )
    assert step is not None
    assert step.damping == RULE.first
    whole = curvature + LEAST_CURVATURE * curvature.max() * np.eye(8)
    whole += RULE.first * np.diag(np.diag(whole))
    wanted = -np.linalg.solve(whole, slope)
    np.testing.assert_allclose(step.point * units, wanted * units, rtol=1e-4)
