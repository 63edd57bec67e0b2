"""Spectra: the area is the variance, a sine stands at its frequency, gaps are left out."""

import numpy as np
import pytest
from scipy.signal import welch

from rffpsr_ros.numerics.spectrum import spectra


def test_it_is_that_of_scipy() -> None:
    run = np.random.default_rng(0).normal(size=(1000, 2))
    found = spectra([run], 0.02)
    assert found is not None
    hertz, density = welch(run, fs=50.0, nperseg=256, detrend="constant", axis=0)
    np.testing.assert_allclose(found[0], hertz[1:])
    np.testing.assert_allclose(found[1], density[1:])


def test_runs_are_taken_together_and_gaps_left_out() -> None:
    generator = np.random.default_rng(0)
    whole = generator.normal(size=(256, 1))
    broken = generator.normal(size=(256, 1))
    broken[100] = np.nan
    one, both = spectra([whole], 0.1), spectra([whole, broken], 0.1)
    assert one is not None
    assert both is not None
    np.testing.assert_array_equal(one[1], both[1])
    assert spectra([broken], 0.1) is None
    assert spectra([whole[:15]], 0.1) is None


@pytest.mark.parametrize("hertz", [2.0, 7.5])
def test_a_sine_stands_at_its_frequency(hertz: float) -> None:
    seconds = np.arange(800) * 0.02
    found = spectra([np.sin(2 * np.pi * hertz * seconds)[:, None]], 0.02)
    assert found is not None
    assert found[0][np.argmax(found[1][:, 0])] == pytest.approx(hertz, abs=0.2)
