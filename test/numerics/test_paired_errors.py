"""Paired comparisons: the ratio is that of the sums, and its interval holds the true one."""

import numpy as np
import pytest

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.paired_errors import (
    FEWEST_BLOCKS,
    PairedErrors,
    paired_errors,
    paired_ratio,
)


def blocks(count: int, factor: float, seed: int, shape: float = 2.0) -> tuple[Array, Array]:
    """Return errors on blocks of which some are hard for both models, the ratio ``factor``."""
    generator = np.random.default_rng(seed)
    hard = generator.gamma(shape, size=count)
    ours, theirs = (hard * generator.gamma(8.0, 1 / 8, size=count) for _ in range(2))
    return factor * ours, theirs


def test_the_ratio_is_that_of_the_sums() -> None:
    ours, theirs = blocks(20, 0.7, 0)
    ratio = paired_ratio(ours, theirs)
    assert ratio.value == pytest.approx(ours.sum() / theirs.sum(), rel=1e-12)
    assert ratio.low < ratio.value < ratio.high


@pytest.mark.parametrize("count", [8, 30])
def test_intervals_hold_the_true_ratio_as_often_as_they_say(count: int) -> None:
    held = []
    for seed in range(600):
        ratio = paired_ratio(*blocks(count, 0.7, seed))
        held.append(ratio.low <= 0.7 <= ratio.high)
    assert 0.92 < np.mean(held) < 0.98


def test_what_is_hard_for_both_does_not_widen_the_interval() -> None:
    ours, theirs = blocks(40, 0.7, 1, shape=0.3)
    paired = paired_ratio(ours, theirs)
    apart = paired_ratio(ours, np.random.default_rng(0).permutation(theirs))
    assert paired.high / paired.low < 0.6 * apart.high / apart.low


def test_few_blocks_give_no_interval() -> None:
    ratio = paired_ratio(*blocks(FEWEST_BLOCKS - 1, 0.7, 0))
    assert np.isfinite(ratio.value)
    assert np.isnan([ratio.low, ratio.high]).all()


def compared(scale: Array) -> PairedErrors:
    generator = np.random.default_rng(0)
    ours, theirs = generator.gamma(5.0, size=(2, 12, 4, 2))
    return paired_errors(ours * scale, theirs * scale, np.tile(scale, (4, 1)), "b", ("x", "y"))


def test_units_do_not_matter() -> None:
    one, other = compared(np.array([1.0, 1.0])), compared(np.array([1e6, 1e-6]))
    for name in ("overall", "by_horizon", "by_observation"):
        for part, same in zip(getattr(one, name), getattr(other, name), strict=True):
            np.testing.assert_allclose(part, same, rtol=1e-9)
    np.testing.assert_allclose(one.unexplained, other.unexplained, rtol=1e-9)


def test_a_column_that_never_varies_counts_in_no_sum() -> None:
    both = compared(np.array([1.0, 1.0]))
    still = compared(np.array([1.0, 0.0]))
    assert np.isfinite(still.overall.value)
    assert still.by_horizon.value == pytest.approx(both.by_observation.value[:, 0])


def test_json_holds_all_of_it() -> None:
    one = compared(np.array([1.0, 0.0]))
    other = PairedErrors.from_json(one.as_json())
    assert other[:3] == one[:3]
    for name in ("overall", "by_horizon", "by_observation"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    np.testing.assert_array_equal(one.unexplained, other.unexplained)
