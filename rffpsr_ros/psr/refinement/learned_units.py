"""What learned features are made of: waves, or sigmoids; of which each has its strengths.

A few waves come near a function that is smooth everywhere, a few sigmoids near one with bends: of
walls, friction, limits. Held-out recordings tell which a robot is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.fourier_features import (
    FeatureMap,
    draw_frequencies,
    fourier_features_of,
    median_distance,
)
from rffpsr_ros.psr.kernel_features import KernelMap
from rffpsr_ros.psr.sigmoid_features import SigmoidMap, sigmoid_slopes, sigmoids

SPREAD = 0.5
"""Variance of a drawn direction's numbers, times the squared median distance between windows."""


class Units(Protocol):
    """D units of windows x (d,): values z (K,) of sums V x."""

    @property
    def offset(self) -> bool:
        """Whether windows end with a one, so that V ends with a unit's offset."""
        ...

    @property
    def usual(self) -> int:
        """How many are learned."""
        ...

    @property
    def periodic(self) -> bool:
        """Whether values repeat as a sum goes on."""
        ...

    @property
    def each(self) -> int:
        """How many values K / D a unit has."""
        ...

    def values(self, sums: Array) -> Array:
        """Return values (..., K) of sums (..., D)."""
        ...

    def pullback(self, values: Array, at_values: Array) -> Array:
        """Return the gradient at sums (..., D), given values and the gradient there (..., K)."""
        ...

    def drawn(self, windows: Array, count: int, generator: np.random.Generator) -> Array:
        """Return D units V to begin with, given windows (N, d) without a one."""
        ...

    def features(self, learned: Array, window_map: Array) -> Features:
        """Return the map of units V of windows that are ``window_map`` (d, d) times its points."""
        ...

    def found_in(self, features: Features, window_map: Array) -> Array | None:
        """Return the units V whose map this is; None where it is that of no such units."""
        ...


class Waves:
    """A cosine and a sine each, [cos V x, sin V x] / sqrt(D)."""

    usual = 40
    offset = False
    periodic = True
    each = 2

    def values(self, sums: Array) -> Array:
        """Return all cosines, then all sines (..., 2 D)."""
        return fourier_features_of(sums)

    def pullback(self, values: Array, at_values: Array) -> Array:
        """Return the gradient at the phases (..., D)."""
        cosine, sine = np.split(values, 2, axis=-1)
        at_cosine, at_sine = np.split(at_values, 2, axis=-1)
        return np.asarray(cosine * at_sine - sine * at_cosine)

    def drawn(self, windows: Array, count: int, generator: np.random.Generator) -> Array:
        """Return frequencies (D, d) of a Gaussian kernel."""
        return _drawn_directions(windows, count, generator)

    def features(self, learned: Array, window_map: Array) -> FeatureMap:
        """Return the map with a feature for each cosine and sine."""
        return FeatureMap(learned @ window_map, np.eye(2 * len(learned)))

    def found_in(self, features: Features, window_map: Array) -> Array | None:
        """Return the frequencies in whose cosines and sines the features do not differ."""
        if not isinstance(features, FeatureMap) or not _is_identity(features.projection):
            return None
        return _before(features.frequencies, window_map)


@dataclass(frozen=True)
class Sigmoids:
    """A hyperbolic tangent each, tanh(V [x, 1]) / sqrt(D)."""

    steepness: tuple[float, float] = (0.5, 3.0)
    """So many times as steep are units made: between these, the logarithm drawn uniformly."""

    usual = 25
    offset = True
    periodic = False
    each = 1

    def values(self, sums: Array) -> Array:
        """Return tangents (..., D)."""
        return sigmoids(sums)

    def pullback(self, values: Array, at_values: Array) -> Array:
        """Return the gradient at the sums (..., D)."""
        return np.asarray(sigmoid_slopes(values) * at_values)

    def drawn(self, windows: Array, count: int, generator: np.random.Generator) -> Array:
        """Return units (D, d + 1), each of which bends at one of the windows."""
        found = _drawn_directions(windows, count, generator)
        least, most = np.log(self.steepness)
        found *= np.exp(generator.uniform(least, most, (count, 1)))
        bends = windows[generator.integers(len(windows), size=count)]
        return np.hstack([found, -np.sum(found * bends, axis=1, keepdims=True)])

    def features(self, learned: Array, window_map: Array) -> SigmoidMap:
        """Return the map with a feature for each tangent."""
        directions = learned[:, :-1] @ window_map
        return SigmoidMap(directions, learned[:, -1], np.eye(len(learned)))

    def found_in(self, features: Features, window_map: Array) -> Array | None:
        """Return the units in whose tangents the features do not differ."""
        if not isinstance(features, SigmoidMap) or not _is_identity(features.projection):
            return None
        return np.hstack([_before(features.directions, window_map), features.offsets[:, None]])


def _before(mapped: Array, window_map: Array) -> Array:
    """Return V where this is V times the map; 0 what nothing of a window reaches."""
    window_map = window_map.astype(float)
    if window_map.any(axis=1).all():
        return np.linalg.solve(window_map.T, mapped.T.astype(float)).T
    return np.asarray(mapped.astype(float) @ np.linalg.pinv(window_map))


def _is_identity(projection: Array) -> bool:
    return np.array_equal(projection, np.eye(len(projection)))


def _drawn_directions(windows: Array, count: int, generator: np.random.Generator) -> Array:
    """Return directions (D, d), as frequencies of a Gaussian kernel are drawn."""
    bandwidth = median_distance(windows, generator) / np.sqrt(SPREAD)
    return draw_frequencies(windows.shape[1], count, bandwidth, generator)


UNITS: Mapping[str, Units] = {"waves": Waves(), "sigmoids": Sigmoids()}
"""By the names of the option ``narx_units``."""


def learned_as(features: Features) -> tuple[str, Array] | None:
    """Return the name of the units that features were learned as, and these units V (D, d_x).

    They are units of windows as they are. None of drawn features.
    """
    if isinstance(features, KernelMap):
        return None
    same = np.eye(features.inputs)
    found = ((kind, units.found_in(features, same)) for kind, units in UNITS.items())
    return next(((kind, learned) for kind, learned in found if learned is not None), None)
