"""Random Fourier features of the Gaussian kernel, projected onto their principal directions.

Paper, "Approximating HSE-PSR with Random Fourier Features"; Rahimi and Recht 2007.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.data.principal_directions import principal_directions
from rffpsr_ros.numerics.arrays import Array, c_ordered
from rffpsr_ros.numerics.contents import holds
from rffpsr_ros.numerics.waves import write_waves

MEDIAN_POINTS = 1000
"""Points that the median trick uses; more change the bandwidth by less than a percent."""

MEANWHILE = 2**17
"""Cosines held at a time while points are turned into features."""


def median_distance(points: Array, generator: np.random.Generator) -> float:
    """Return the median Euclidean distance between rows (N, d): the median trick.

    At most `MEDIAN_POINTS` rows, drawn without replacement, are compared. Where most of them
    coincide, the median is that of the distances between those that do not.
    """
    if len(points) > MEDIAN_POINTS:
        points = points[generator.choice(len(points), MEDIAN_POINTS, replace=False)]
    squares = np.sum(points**2, axis=1)
    squared = squares[:, None] + squares - 2 * points @ points.T
    pairs = squared[~np.tri(len(points), dtype=bool)]
    rounding = 1e-12 * squares.max()
    median = np.median(pairs)
    if median <= rounding:  # Most points coincide, as those of an on-off command do.
        apart = pairs[pairs > rounding]
        median = np.median(apart) if len(apart) else 1.0
    return float(np.sqrt(median))


def draw_frequencies(
    size: int, count: int, bandwidth: float, generator: np.random.Generator
) -> Array:
    """Return ``count`` frequencies (count, size) of the Gaussian kernel with this bandwidth."""
    return generator.standard_normal((count, size)) / bandwidth


def random_fourier_features(points: Array, frequencies: Array) -> Array:
    """Return [cos V x, sin V x] / sqrt(D), (..., 2 D), of points (..., d); Rahimi and Recht 2007.

    Inner products approach exp(-|x - y|^2 / (2 bandwidth^2)) at a rate 1 / sqrt(D).
    """
    return fourier_features_of(points @ frequencies.T)


def fourier_features_of(phases: Array) -> Array:
    """Return [cos, sin] / sqrt(D), (..., 2 D), of phases (..., D)."""
    features = waves_of_phases(phases)
    features *= 1 / np.sqrt(max(phases.shape[-1], 1))
    return features


def waves_of_phases(phases: Array) -> Array:
    """Return [cos, sin] (..., 2 D) of phases (..., D)."""
    count = phases.shape[-1]
    waves = np.empty((*phases.shape[:-1], 2 * count), phases.dtype)
    write_waves(phases, waves[..., :count], waves[..., count:])
    return waves


class FeatureMap(NamedTuple):
    """phi(x) = U^T rff(x): random Fourier features projected onto r directions.

    ``frequencies`` (D, d) is V, ``projection`` (2 D, r) is U. ``numpy`` scalars keep their type,
    so a map cast to float32 computes in float32.
    """

    frequencies: Annotated[Array, holds("D", "d")]
    projection: Annotated[Array, holds("2*D", "r")]

    @property
    def size(self) -> int:
        """Return the number of features r."""
        return int(self.projection.shape[1])

    @property
    def inputs(self) -> int:
        """Return the number of a point's values d."""
        return int(self.frequencies.shape[1])

    def __call__(self, points: Array) -> Array:
        """Return features (..., r) of points (..., d)."""
        # Few points at a time: their waves, a hundred times as many numbers, stay in the cache.
        waves = len(self.frequencies) * math.prod(points.shape[1:-1])
        together = max(MEANWHILE // max(waves, 1), 1)
        if points.ndim > 1 and len(points) > together:
            parts = [self(points[i : i + together]) for i in range(0, len(points), together)]
            return np.concatenate(parts)
        features = waves_of_phases(points @ self.frequencies.T) @ self.projection
        count = max(len(self.frequencies), 1)
        return np.asarray(features * self.projection.dtype.type(1 / np.sqrt(count)))

    def with_pullback(self, points: Array) -> tuple[Array, Array]:
        """Return the features (..., r) and the raw ones (..., 2 D) that `pullback` needs."""
        raw = random_fourier_features(points, self.frequencies)
        return raw @ self.projection, raw

    def pullback(self, raw: Array, gradient: Array) -> Array:
        """Return the gradient (..., d) at the points, given that at the features (..., r)."""
        count = len(self.frequencies)
        at_raw = gradient @ self.projection.T
        at_raw[..., count:] *= raw[..., :count]
        at_raw[..., :count] *= raw[..., count:]
        at_raw[..., count:] -= at_raw[..., :count]
        return np.asarray(at_raw[..., count:] @ self.frequencies)

    def weights_gradient(self, raw: Array, gradient: Array) -> Array:
        """Return the gradient (r, s) at weights of the features, given that at products (N, s)."""
        return np.asarray(self.projection.T @ (raw.T @ gradient))

    def with_jacobian(self, points: Array) -> tuple[Array, Array]:
        """Return features (N, r) of points (N, d), and their derivatives (N, r, d)."""
        count = len(self.frequencies)
        features, raw = self.with_pullback(points)
        at_phase = raw[:, None, :count] * self.projection.T[:, count:]
        at_phase -= raw[:, None, count:] * self.projection.T[:, :count]
        by_row = at_phase.reshape(-1, count) @ self.frequencies
        return features, by_row.reshape(*features.shape, -1)

    def weighted(self, weights: Array) -> FeatureMap:
        """Return the map whose features are these times weights (r, s)."""
        return FeatureMap(self.frequencies, self.projection @ weights)

    def astype(self, dtype: type[np.floating]) -> FeatureMap:
        """Return the same map computing in another precision."""
        return FeatureMap(*(c_ordered(part.astype(dtype)) for part in self))


def draw_feature_map(
    points: Array,
    count: int,
    bandwidth: float,
    rank: int,
    tolerance: float,
    generator: np.random.Generator,
    rows: Sequence[Array] | Callable[[], Iterable[Array]] | None = None,
) -> FeatureMap:
    """Return random Fourier features for points like these, projected.

    Parameters
    ----------
    points
        (N, d), whose median distance gives the kernel's bandwidth.
    count
        Frequencies D.
    bandwidth
        Of the kernel, as a multiple of the median distance.
    rank, tolerance
        Cap on the directions kept, and the weakest kept one; see `principal_directions`.
    generator
        Draws points to compare, then frequencies, then what finding directions needs.
    rows
        Chunks of points (n, d) that the directions are found on, by default ``points``. Features
        of a sequence are held, in the precision of its chunks; those of what a function yields
        are computed anew for each sweep.
    """
    width = bandwidth * median_distance(points, generator)
    frequencies = draw_frequencies(points.shape[1], count, width, generator)

    def features(chunk: Array) -> Array:
        return random_fourier_features(chunk, frequencies.astype(chunk.dtype, copy=False))

    if callable(rows):
        yielded = rows
        directions = principal_directions(
            lambda: map(features, yielded()), 2 * count, rank, tolerance, generator
        )
    else:
        held = [features(chunk) for chunk in (rows or [points])]
        directions = principal_directions(lambda: held, 2 * count, rank, tolerance, generator)
    return FeatureMap(frequencies, directions)
