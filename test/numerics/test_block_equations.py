"""Groups with parameters of their own: elimination against a dense solve."""

import numpy as np
import pytest

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.block_equations import BlockEquations
from rffpsr_ros.numerics.gauss_newton import Effort, NormalEquations, descend
from rffpsr_ros.numerics.levenberg_marquardt import DampingRule, damped

SHARED, GROUPS, OWN, ROWS = 3, 4, 2, 5


def drawn_rows() -> tuple[Array, Array]:
    """Rows by the shared parameters and by those of all groups, and what is missed."""
    draw = np.random.default_rng(0)
    rows = np.zeros((GROUPS, ROWS, SHARED + GROUPS * OWN))
    rows[:, :, :SHARED] = draw.standard_normal((GROUPS, ROWS, SHARED))
    for group in range(GROUPS):
        own = slice(SHARED + group * OWN, SHARED + (group + 1) * OWN)
        rows[group, :, own] = draw.standard_normal((ROWS, OWN))
    return rows.reshape(GROUPS * ROWS, -1), draw.standard_normal(GROUPS * ROWS)


def dense(rows: Array, missed: Array) -> NormalEquations:
    return NormalEquations(float(missed @ missed), rows.T @ missed, rows.T @ rows)


def in_blocks(rows: Array, missed: Array) -> BlockEquations:
    shared = rows[:, :SHARED].reshape(GROUPS, ROWS, SHARED)
    own = np.stack(
        [
            rows[g * ROWS : (g + 1) * ROWS, SHARED + g * OWN : SHARED + (g + 1) * OWN]
            for g in range(GROUPS)
        ]
    )
    errors = missed.reshape(GROUPS, ROWS)
    return BlockEquations(
        float(missed @ missed),
        np.einsum("grq,gr->q", shared, errors),
        np.einsum("grp,grq->pq", shared, shared),
        np.einsum("grn,gr->gn", own, errors),
        np.einsum("grn,grm->gnm", own, own),
        np.einsum("grq,grn->gqn", shared, own),
    )


@pytest.mark.parametrize("damping", [0.0, 0.3])
def test_a_step_is_that_of_the_dense_equations(damping: float) -> None:
    rows, missed = drawn_rows()
    ridge = np.linspace(0.1, 1.0, rows.shape[1])
    distance = np.linspace(-1.0, 1.0, rows.shape[1])
    one, other = dense(rows, missed), in_blocks(rows, missed)
    near = one.penalised(ridge, distance), other.penalised(ridge, distance)
    for whole, blocks in ((one, other), near):
        expected, found = whole.step(damping), blocks.step(damping)
        assert expected is not None
        assert found is not None
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_where_rounding_left_no_minimum_there_is_no_step() -> None:
    rows, missed = drawn_rows()
    size = rows.shape[1]
    no_minimum = dense(rows, missed)._replace(curvature=-np.eye(size))
    assert no_minimum.step(0.0) is None
    blocks = in_blocks(rows, missed)
    assert blocks._replace(curvature=-np.eye(len(blocks.gradient))).step(0.0) is None


def test_equations_that_are_no_numbers_say_so() -> None:
    equations = in_blocks(*drawn_rows())
    assert equations.finite()
    coupling = equations.coupling.copy()
    coupling[1, 2, 0] = np.nan
    assert not equations._replace(coupling=coupling).finite()


def test_damping_grows_with_each_group_s_own_diagonal() -> None:
    curvatures = np.stack([np.diag([1.0, 4.0]), np.diag([100.0, 0.0])])
    found = np.diagonal(damped(curvatures, 0.5), axis1=1, axis2=2)
    np.testing.assert_allclose(found, [[1.5, 6.0], [150.0, 0.0]], atol=1e-6)
    assert found[1, 1] > 0


class LinearRows:
    """The squared error of linear rows, whose minimum one undamped step reaches."""

    def __init__(self) -> None:
        self.rows, self.missed = drawn_rows()

    def error(self, point: Array) -> float:
        left = self.rows @ point + self.missed
        return float(left @ left)

    def equations(self, point: Array) -> BlockEquations:
        return in_blocks(self.rows, self.rows @ point + self.missed)


def test_descent_ends_at_the_minimum_and_ridges_count_each_for_its_parameter() -> None:
    problem, rule = LinearRows(), DampingRule(first=1e-6, easier=0.1, harder=4.0, failures=6)
    start = np.zeros(problem.rows.shape[1])
    found = descend(problem, start, 0.0, start, Effort(20, 1e-12), rule)
    expected = np.linalg.lstsq(problem.rows, -problem.missed, rcond=None)[0]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    ridge = np.r_[1e6, np.zeros(len(start) - 1)]
    held = descend(problem, start, ridge, start, Effort(20, 1e-12), rule)
    assert abs(held[0]) < 1e-4 < abs(found[0])
    others = np.linalg.lstsq(problem.rows[:, 1:], -problem.missed, rcond=None)[0]
    np.testing.assert_allclose(held[1:], others, atol=1e-3)


def test_with_nothing_shared_each_group_has_a_step_of_its_own() -> None:
    rows, missed = drawn_rows()
    blocks = in_blocks(rows, missed)
    alone = blocks._replace(
        gradient=blocks.gradient[:0],
        curvature=blocks.curvature[:0, :0],
        coupling=blocks.coupling[:, :0],
    )
    found = alone.step(0.0)
    assert found is not None
    expected = -np.linalg.solve(blocks.own_curvature, blocks.own_gradient[..., None])
    np.testing.assert_allclose(found, expected.ravel(), rtol=0, atol=1e-6)
