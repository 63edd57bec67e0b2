"""Loops that numba compiles, by themselves."""

import numpy as np
import pytest

pytest.importorskip("numba")

from rffpsr_ros.numerics.packing import symmetric_half
from rffpsr_ros.psr.runtime.compiled_kernels import conditioner, waves_of


def test_waves_are_cosines_and_sines() -> None:
    turns = np.linspace(-40, 40, 100_001).astype(np.float32)
    waves = np.empty(2 * len(turns), np.float32)
    waves_of(turns, waves)
    angles = turns.astype(np.float64) * (np.pi / 2)
    np.testing.assert_allclose(waves[: len(turns)], np.cos(angles), rtol=0, atol=3e-7)
    np.testing.assert_allclose(waves[len(turns) :], np.sin(angles), rtol=0, atol=3e-7)


@pytest.mark.parametrize("size", [1, 2, 6, 13])
def test_the_conditioner_solves(size: int) -> None:
    generator = np.random.default_rng(size)
    covariance = generator.normal(size=(size, size))
    covariance += covariance.T  # with negative eigenvalues, as estimated ones have
    features, solution = generator.normal(size=size), np.empty(size)
    conditioner(covariance[symmetric_half(size)], 1e-3, features, solution)
    squared = covariance @ covariance + 1e-3 * np.eye(size)
    np.testing.assert_allclose(squared @ solution, covariance @ features, atol=1e-9)
