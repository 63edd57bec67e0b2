"""Bounds of observations are learned where a signal is held at one, and nowhere else."""

import numpy as np
import pytest

from rffpsr_ros.data.saturation import Bounds, learned_bounds
from rffpsr_ros.numerics.arrays import Array


def wave(ticks: int = 400, noise: float = 0.0, seed: int = 0) -> Array:
    """A slow wave between -2 and 2, as a column."""
    draw = np.random.default_rng(seed)
    phase = np.arange(ticks) / 20
    return np.asarray(2 * np.sin(phase) + noise * draw.standard_normal(ticks))[:, None]


def test_a_clipped_sensor_shows_its_ends() -> None:
    bounds = learned_bounds([np.clip(wave(noise=0.01), -1.5, 1.2)])
    assert bounds == Bounds(np.array([-1.5]), np.array([1.2]))


def test_one_end_of_one_observation() -> None:
    columns = np.hstack([wave(), np.minimum(wave(), 1.0)])
    bounds = learned_bounds([columns[:150], columns[150:]])
    assert bounds is not None
    assert bounds.low.tolist() == [-np.inf, -np.inf]
    assert bounds.high.tolist() == [np.inf, 1.0]


@pytest.mark.parametrize(
    "signal",
    {
        "free": wave(),
        "noisy": wave(noise=0.3),
        "coarse": np.round(wave(), 1),
        "held for several ticks": np.repeat(wave(80), 7, axis=0),
        "rises, then rests": np.minimum(np.arange(100.0), 60)[:, None],
        "rests, then rises": np.maximum(np.arange(100.0), 60)[:, None],
        "stands still in many places": np.repeat(wave(40, seed=1), np.tile([1, 12], 20), axis=0),
        "touches its end": np.minimum(wave(), 1.999),
    }.items(),
    ids=lambda item: item[0],
)
def test_signals_without_bounds(signal: tuple[str, Array]) -> None:
    assert learned_bounds([signal[1]]) is None


def test_an_on_off_signal_has_two_bounds() -> None:
    column = np.repeat([0.0, 1.0, 0.0, 1.0, 0.0, 1.0], 8)[:, None]
    assert learned_bounds([column]) == Bounds(np.zeros(1), np.ones(1))


def test_missing_values_end_no_stay() -> None:
    column = np.clip(wave(noise=0.01), -1.5, 1.2)
    column[::9] = np.nan
    missing = np.full((50, 1), np.nan)
    assert learned_bounds([column, missing]) == Bounds(np.array([-1.5]), np.array([1.2]))


def test_values_are_held_within() -> None:
    bounds = Bounds(np.array([-np.inf, 0.0]), np.array([1.0, np.inf]))
    values = bounds(np.array([[2.0, -1.0], [0.5, 3.0]]))
    assert values.tolist() == [[1.0, 0.0], [0.5, 3.0]]
    assert bounds.strictly_inside(values).tolist() == [[False, False], [True, True]]
