"""Principal directions, randomised and by Gram matrix, against the dense decomposition."""

from collections.abc import Callable, Iterable

import numpy as np
import pytest

from rffpsr_ros.data.principal_directions import principal_directions, principal_directions_of_few
from rffpsr_ros.numerics.arrays import Array


def rows_with(singular: Array, count: int = 500, size: int = 80) -> Array:
    draw = np.random.default_rng(0)
    left = np.linalg.qr(draw.standard_normal((count, len(singular))))[0]
    right = np.linalg.qr(draw.standard_normal((size, len(singular))))[0]
    return np.asarray(left * singular @ right.T)


def in_chunks(rows: Array, size: int = 64) -> Callable[[], Iterable[Array]]:
    return lambda: (rows[start : start + size] for start in range(0, len(rows), size))


def test_directions_are_those_of_the_dense_decomposition() -> None:
    rows = rows_with(2.0 ** -np.arange(20))
    found = principal_directions(in_chunks(rows), 80, 8, 0.0, np.random.default_rng(0))
    dense = np.linalg.svd(rows, full_matrices=False)[2][:8].T
    np.testing.assert_allclose(found.T @ found, np.eye(8), atol=1e-12)
    np.testing.assert_allclose(np.abs(found.T @ dense), np.eye(8), atol=1e-6)


def test_weak_directions_survive_rounding() -> None:
    """Squaring without re-orthogonalising would lose what lies below the root of the precision."""
    rows = rows_with(10.0 ** -np.arange(6.0))
    found = principal_directions(in_chunks(rows), 80, 6, 0.0, np.random.default_rng(0))
    dense = np.linalg.svd(rows, full_matrices=False)[2][:6].T
    np.testing.assert_allclose(np.abs(np.diag(found.T @ dense)), 1, atol=1e-4)


@pytest.mark.parametrize(("tolerance", "kept"), [(0.0, 5), (0.3, 2), (0.03, 4)])
def test_truncation_by_relative_tolerance_with_a_cap(tolerance: float, kept: int) -> None:
    rows = rows_with(np.array([1.0, 0.5, 0.1, 0.05, 0.01, 0.005]))
    found = principal_directions(in_chunks(rows), 80, 5, tolerance, np.random.default_rng(0))
    assert found.shape == (80, kept)


def test_few_columns_need_no_sketch() -> None:
    rows = np.random.default_rng(1).standard_normal((100, 4)) * np.array([1.0, 2.0, 3.0, 4.0])
    found = principal_directions(in_chunks(rows), 4, 10, 1e-9, np.random.default_rng(0))
    dense = np.linalg.svd(rows, full_matrices=False)[2].T
    np.testing.assert_allclose(np.abs(found.T @ dense), np.eye(4), atol=1e-8)


def test_the_sign_does_not_depend_on_the_draw() -> None:
    rows = rows_with(2.0 ** -np.arange(10))
    first, second = (
        principal_directions(in_chunks(rows), 80, 4, 0.0, np.random.default_rng(seed))
        for seed in (0, 1)
    )
    np.testing.assert_allclose(first, second, atol=1e-6)


def test_directions_of_few_rows_are_those_of_the_dense_decomposition() -> None:
    rows = rows_with(2.0 ** -np.arange(12), count=30, size=200)
    found = principal_directions_of_few(rows, 8, 0.0)
    dense = np.linalg.svd(rows, full_matrices=False)[2][:8].T
    np.testing.assert_allclose(found.T @ found, np.eye(8), atol=1e-9)
    np.testing.assert_allclose(np.abs(found.T @ dense), np.eye(8), atol=1e-6)
    assert principal_directions_of_few(rows, 8, 0.1).shape[1] == 4
