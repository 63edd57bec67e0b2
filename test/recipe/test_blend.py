"""Ensemble weights, against what is known of the best ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rffpsr_ros.recipe.blend import (
    _limited_shares,
    _without_small,
    blend_weights,
    ensemble_weights,
    error_products,
)
from rffpsr_ros.recipe.settings import RecipeSettings

SETTINGS = RecipeSettings()


def weights_of(errors: list[Any]) -> Any:
    """Return the weights of candidates with errors (n, C), one horizon, one observation."""
    groups = [group[:, None, None, :] for group in errors]
    return blend_weights(error_products(groups, SETTINGS.group_share), SETTINGS)[0, 0]


def test_independent_errors_are_weighed_by_their_inverse_variance() -> None:
    draw = np.random.default_rng(0)
    deviations = np.array([1.0, 2.0])
    errors = [deviations * draw.standard_normal((20_000, 2)) for _ in range(3)]
    np.testing.assert_allclose(weights_of(errors), [0.8, 0.2], atol=0.03)


def test_a_candidate_that_only_adds_noise_to_another_gets_nothing() -> None:
    draw = np.random.default_rng(1)
    good = draw.standard_normal(5000)
    worse = good + 2 * draw.standard_normal(5000)
    np.testing.assert_allclose(weights_of([np.stack([good, worse], 1)]), [1, 0], atol=0.03)


def test_a_hopeless_candidate_does_not_change_the_others_weights() -> None:
    draw = np.random.default_rng(5)
    errors = draw.standard_normal((5000, 3)) * [1.0, 2.0, 1e4]
    np.testing.assert_allclose(weights_of([errors])[:2], weights_of([errors[:, :2]]), atol=1e-3)
    assert weights_of([errors])[2] < 1e-3


def test_one_group_with_huge_errors_does_not_decide_alone() -> None:
    draw = np.random.default_rng(2)
    usual = [np.array([1.0, 4.0]) * draw.standard_normal((500, 2)) for _ in range(9)]
    odd = np.array([400.0, 100.0]) * draw.standard_normal((500, 2))
    first, second = weights_of([*usual, odd])
    assert first > 0.75 > 0.25 > second


def test_groups_where_errors_are_large_count_more() -> None:
    draw = np.random.default_rng(6)
    usual = [np.array([1.0, 2.0]) * draw.standard_normal((500, 2)) for _ in range(6)]
    far = [np.array([12.0, 3.0]) * draw.standard_normal((500, 2)) for _ in range(4)]
    first, second = weights_of([*usual, *far])
    # A fifth of all is the most of each; these are nearly all of the mean square.
    products = np.sum([group.T @ group for group in [*usual, *far]], axis=0)
    inverse = 1 / products.diagonal()
    np.testing.assert_allclose([first, second], inverse / inverse.sum(), atol=0.1)
    assert second > 0.85


@pytest.mark.parametrize(
    "sizes", [[1, 1, 1], [5, 1, 1, 1, 1, 1, 1, 1], [9, 8, 1, 1, 1, 1, 0], [3, 0]]
)
def test_no_group_has_more_than_its_share(sizes: list[float]) -> None:
    shares = _limited_shares(np.array(sizes, float)[:, None], 0.2)[:, 0]
    most = max(0.2, 1 / np.count_nonzero(sizes))
    np.testing.assert_allclose(shares.sum(), 1)
    assert (shares <= most + 1e-12).all()
    below = np.flatnonzero((shares < most - 1e-9) & (np.array(sizes) > 0))
    ratios = shares[below] / np.array(sizes, float)[below]
    np.testing.assert_allclose(ratios, ratios[:1].repeat(len(below)))


def test_weights_add_up_to_one_at_every_horizon_and_nan_does_not_count() -> None:
    draw = np.random.default_rng(3)
    errors = draw.standard_normal((200, 4, 2, 3)) * [1.0, 1.5, 3.0]
    errors[:50, 1, 0, 2] = np.nan
    errors[:, 3, 1] = 0.0  # nothing to tell the candidates apart by
    weights = blend_weights(error_products([errors], SETTINGS.group_share), SETTINGS)
    assert weights.shape == (4, 2, 3)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(-1), 1)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_do_not_matter(scale: float) -> None:
    errors = np.random.default_rng(4).standard_normal((100, 3)) * [1.0, 1.2, 2.0]
    np.testing.assert_allclose(weights_of([scale * errors]), weights_of([errors]), atol=1e-9)


def test_who_is_nearly_as_good_takes_part_unless_it_is_clearly_better_without() -> None:
    draw = np.random.default_rng(0)
    blocks = draw.standard_normal((24, 200, 2)) @ [[1.0, 1.0], [0.0, 0.3]]  # nearly alike
    blocks[0] *= [3.0, 0.1]  # in one block only the second is any good
    errors = [list(one[..., None, None]) for one in np.moveaxis(blocks, -1, 0)]
    taking_part = {
        least: ensemble_weights(errors, np.ones(1), replace(SETTINGS, worth_leaving_out=least)) > 0
        for least in (SETTINGS.worth_leaving_out, 1.0)
    }
    assert [part.ravel().tolist() for part in taking_part.values()] == [[True, True], [False, True]]


def test_of_many_that_are_alike_no_place_is_left_without_any() -> None:
    """None of them has the weight below which one is left out, beside others."""
    weights = _without_small(np.full((2, 3, 15), 1 / 15), SETTINGS.least_weight)
    np.testing.assert_allclose(weights, 1 / 15)
    few = np.array([[[0.95, 0.05, 0.0]], [[0.0, 0.05, 0.95]]])
    np.testing.assert_allclose(
        _without_small(few, SETTINGS.least_weight), [[[1, 0, 0]], [[0, 0, 1]]]
    )
