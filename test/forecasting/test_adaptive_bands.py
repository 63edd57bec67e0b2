"""Bands that learn from the errors they meet."""

from __future__ import annotations

import numpy as np
import pytest

from rffpsr_ros.forecasting.adaptive_bands import LIMIT, STEP, AdaptiveBands
from rffpsr_ros.models.bands import conformal_bands

BANDS = conformal_bands(np.random.default_rng(0).normal(size=(2000, 2, 1)))


def test_they_start_as_they_were_in_training() -> None:
    np.testing.assert_array_equal(AdaptiveBands(BANDS, 0.9, 2).half_width, BANDS.half_width(0.9, 2))


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("scale", [0.2, 1.0, 7.0])
def test_the_share_is_kept_when_errors_become_other(coverage: float, scale: float) -> None:
    draw = np.random.default_rng(2)
    adaptive, hits, rounds = AdaptiveBands(BANDS, coverage, 2), np.zeros((2, 1)), 4000
    for step in range(rounds):
        drift = scale * (1 + 0.5 * np.sin(step / 200))
        errors = drift * draw.normal(size=(2, 1))
        hits += np.abs(errors) <= adaptive.half_width
        adaptive.score(errors)
    # The sum of all steps is the change of the log width, whatever the errors were.
    moved = np.log(adaptive.half_width / BANDS.half_width(coverage, 2))
    np.testing.assert_allclose(hits / rounds, coverage - moved / (STEP * rounds), atol=1e-9)
    np.testing.assert_allclose(hits / rounds, coverage, atol=0.01)


def test_what_is_missing_changes_nothing_and_widths_stay_bounded() -> None:
    adaptive = AdaptiveBands(BANDS, 0.9, 3)
    adaptive.score(np.full((3, 1), np.nan))
    np.testing.assert_array_equal(adaptive.half_width[:2], BANDS.half_width(0.9, 2))
    assert np.isnan(adaptive.half_width[2]).all()
    for _ in range(500):
        adaptive.score(np.full((3, 1), 1e12))
    np.testing.assert_allclose(adaptive.half_width[:2], LIMIT * BANDS.half_width(0.9, 2))
