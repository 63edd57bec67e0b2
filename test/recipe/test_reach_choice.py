"""How far candidates may lie outside each other's forecasts."""

import numpy as np
import pytest

from rffpsr_ros.recipe.reach_choice import errors_within_reach, reach_of
from rffpsr_ros.recipe.settings import RecipeSettings

SETTINGS = RecipeSettings()


def test_it_is_several_times_as_far_as_on_held_out_parts() -> None:
    draw, weights = np.random.default_rng(0), np.full((3, 1, 3), 1 / 3)
    errors = [draw.normal(size=(50, 3, 1, 3)) for _ in range(4)]
    for group in errors:  # forecasts of the second lie .2 above the third's, always
        group[..., 0] = group[..., 2]
        group[..., 1] = group[..., 2] - 0.2
    reach = reach_of(errors, weights, SETTINGS)
    assert reach is not None
    np.testing.assert_allclose(reach.distance[..., 1], SETTINGS.reach * 0.2)
    np.testing.assert_array_equal(errors_within_reach(errors[0], weights, reach), errors[0])
    far = errors[0].copy()
    far[7, 1, 0, 1] -= 50  # runs away, upwards
    within = errors_within_reach(far, weights, reach)
    assert far[7, 1, 0, 0] - within[7, 1, 0, 1] == pytest.approx(SETTINGS.reach * 0.2)


def test_who_ran_away_before_may_do_so_again() -> None:
    draw = np.random.default_rng(1)
    errors = [draw.normal(size=(20, 2, 1, 3)) for _ in range(3)]
    errors[1][4, 1, 0, 1] = np.inf
    errors[2][3, :, :, :] = np.nan  # nothing was observed
    reach = reach_of(errors, np.tile([0.4, 0.3, 0.3], (2, 1, 1)), SETTINGS)
    assert reach is not None
    assert np.isinf(reach.distance[1, 0, 1])
    assert np.isfinite(reach.distance[0]).all()


def test_who_has_no_weight_or_is_alone_has_no_reach() -> None:
    draw = np.random.default_rng(2)
    errors = [draw.normal(size=(20, 2, 1, 3))]
    weights = np.array([[[0.5, 0.0, 0.5]], [[1.0, 0.0, 0.0]]])
    reach = reach_of(errors, weights, SETTINGS)
    assert reach is not None
    assert np.isfinite(reach.distance[0, 0]).tolist() == [True, False, True]
    assert np.isinf(reach.distance[1]).all()
    assert reach_of(errors, weights[[1, 1]], SETTINGS) is None
