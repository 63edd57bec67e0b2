"""Batched inverses against LAPACK's, and what weights of windows mean in the sums."""

import numpy as np
import pytest

from rffpsr_ros.data.moments import Regression
from rffpsr_ros.numerics.batched_inverse import inverse_of_positive


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 20, 33])
@pytest.mark.parametrize("count", [0, 1, 300])
def test_the_inverse_is_lapacks(size: int, count: int) -> None:
    draw = np.random.default_rng(size)
    factors = draw.standard_normal((count, size, size))
    matrices = factors @ factors.swapaxes(1, 2) / size + 1e-3 * np.eye(size)
    before = matrices.copy()
    found = inverse_of_positive(matrices)
    np.testing.assert_allclose(
        found @ matrices, np.broadcast_to(np.eye(size), matrices.shape), atol=1e-9
    )
    np.testing.assert_array_equal(matrices, before)


def test_single_precision_stays_single_and_is_as_good_as_lapacks() -> None:
    draw = np.random.default_rng(0)
    factors = draw.standard_normal((200, 20, 20)) / 8
    matrices = (factors @ factors.swapaxes(1, 2) + 1e-3 * np.eye(20)).astype(np.float32)
    found = inverse_of_positive(matrices)
    assert found.dtype == np.float32
    ours = np.abs(found @ matrices - np.eye(20)).max()
    lapacks = np.abs(np.linalg.inv(matrices) @ matrices - np.eye(20)).max()
    assert ours < 5 * lapacks


def test_a_weight_of_two_counts_a_window_twice() -> None:
    draw = np.random.default_rng(0)
    inputs, targets = draw.standard_normal((30, 4)), draw.standard_normal((30, 2))
    times = draw.integers(0, 3, 30)
    weighted, repeated = Regression.zeros(2, 4), Regression.zeros(2, 4)
    weighted.add(inputs, targets, times.astype(float))
    repeated.add(np.repeat(inputs, times, axis=0), np.repeat(targets, times, axis=0))
    np.testing.assert_allclose(weighted.solve(0.1), repeated.solve(0.1), rtol=1e-12)
