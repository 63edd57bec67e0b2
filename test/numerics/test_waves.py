"""Cosines and sines by the tangent of half the phase."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.waves import write_waves


def _waves(phases: Array) -> tuple[Array, Array]:
    cosines, sines = np.empty_like(phases), np.empty_like(phases)
    write_waves(phases, cosines, sines)
    return cosines, sines


@given(arrays(np.float64, st.integers(1, 40), elements=st.floats(-1e6, 1e6)))
def test_are_cosines_and_sines(phases: Array) -> None:
    """To four units in the last place of 1, far from 0 too."""
    cosines, sines = _waves(phases)
    np.testing.assert_allclose(cosines, np.cos(phases), rtol=0, atol=9e-16)
    np.testing.assert_allclose(sines, np.sin(phases), rtol=0, atol=9e-16)


def test_where_tangents_have_poles() -> None:
    """Odd multiples of pi, as near as numbers come."""
    phases = np.arange(-999, 1000) * np.pi
    cosines, sines = _waves(np.r_[phases, np.nextafter(phases, 0), np.nextafter(phases, 1e9)])
    assert np.isfinite([cosines, sines]).all()
    np.testing.assert_allclose(cosines**2 + sines**2, 1, rtol=0, atol=2e-15)
    np.testing.assert_allclose(cosines[: len(phases)], np.cos(phases), rtol=0, atol=9e-16)


def test_small_sines_keep_their_digits() -> None:
    """Relative to themselves."""
    phases = np.logspace(-300, -1, 500)
    np.testing.assert_allclose(_waves(phases)[1], np.sin(phases), rtol=2e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_of_one_phase_are_those_of_many(dtype: type[np.floating]) -> None:
    """Bit for bit: a tick that is followed live is one of a recording."""
    phases = np.random.default_rng(0).normal(scale=9, size=(37, 53)).astype(dtype)
    together = np.empty((37, 106), dtype)
    write_waves(phases, together[:, :53], together[:, 53:])
    for place in np.ndindex(phases.shape):
        cosine, sine = _waves(phases[place].reshape(1))
        assert (cosine[0], sine[0]) == (together[place], together[place[0], 53 + place[1]])


def test_of_no_number_are_none() -> None:
    """As cosines and sines are."""
    with np.errstate(invalid="ignore"):
        assert np.isnan(_waves(np.array([np.nan, np.inf, -np.inf]))).all()
