"""Bands from errors, and bands that adapt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.bands import COVERAGES, conformal_bands
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.recordings.trajectory import Trajectory


def test_a_new_error_is_covered_as_often_as_promised() -> None:
    draw = np.random.default_rng(0)
    shares = dict.fromkeys(COVERAGES, 0.0)
    repeats, count = 4000, 19
    for _ in range(repeats):
        errors = draw.standard_cauchy((count + 1, 1, 1))  # no distribution is assumed
        bands = conformal_bands(errors[:count])
        for coverage in COVERAGES:
            covered = abs(errors[count, 0, 0]) <= bands.half_width(coverage, 1)[0, 0]
            shares[coverage] += covered / repeats
    for coverage, share in shares.items():
        # Exactly: ceil((n + 1) c) / (n + 1), where that many errors are there.
        exact = min(np.ceil((count + 1) * coverage - 1e-9), count) / (count + 1)
        assert share == pytest.approx(exact, abs=4 * np.sqrt(0.25 / repeats))


def test_missing_observations_do_not_count() -> None:
    errors = np.array([3.0, np.nan, -1.0, 2.0, np.nan])[:, None, None]
    bands = conformal_bands(errors)
    np.testing.assert_array_equal(bands.half_width(0.5, 1), [[2.0]])
    np.testing.assert_array_equal(bands.half_width(0.99, 1), [[3.0]])
    nothing = conformal_bands(np.full((4, 1, 1), np.nan))
    assert np.isnan(nothing.half_width(0.9, 1)).all()


def test_between_known_coverages_widths_are_interpolated_and_beyond_refused() -> None:
    bands = conformal_bands(np.arange(1.0, 1000.0)[:, None, None])
    np.testing.assert_allclose(bands.half_width(0.93, 1), [[930.0]])
    with pytest.raises(InputError, match=r"coverage is 0\.999; bands are known from 0\.5 to 0\.99"):
        bands.half_width(0.999, 1)


def test_beyond_the_horizon_that_was_measured_there_is_no_band() -> None:
    width = conformal_bands(np.ones((30, 2, 3))).half_width(0.9, 4)
    assert width.shape == (4, 3)
    assert np.isnan(width[2:]).all()
    np.testing.assert_array_equal(width[:2], 1.0)


def test_a_model_file_carries_the_bands_of_any_kind_of_model(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    model = LinearARX(past=2, future=3).fit(
        [Trajectory(draw.normal(size=(60, 2)), draw.normal(size=60), 0.1)]
    )
    model.save(tmp_path / "bare.psr")
    assert load_model(tmp_path / "bare.psr").bands is None
    made = conformal_bands(draw.normal(size=(40, 3, 2)))
    model.replaced(bands=made).save(tmp_path / "banded.psr")
    bands = load_model(tmp_path / "banded.psr").bands
    assert bands is not None
    np.testing.assert_array_equal(bands.widths, made.widths)
    np.testing.assert_array_equal(bands.coverages, COVERAGES)
