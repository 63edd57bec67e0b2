"""Features that saturate: hyperbolic tangents of affine functions of a point.

Walls, friction and limits bend a robot's response within a small part of what it does, and leave it
nearly linear elsewhere. A few tangents, learned, resolve such a bend where waves take very many,
and far from the recordings they stay what they are at their edge. Not the paper's.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array, c_ordered
from rffpsr_ros.numerics.contents import holds


class SigmoidMap(NamedTuple):
    """phi(x) = U^T tanh(V x + b) / sqrt(D).

    ``directions`` (D, d) is V, ``offsets`` (D,) is b, ``projection`` (D, r) is U.
    """

    directions: Annotated[Array, holds("D", "d")]
    offsets: Annotated[Array, holds("D")]
    projection: Annotated[Array, holds("D", "r")]

    @property
    def size(self) -> int:
        """Return the number of features r."""
        return int(self.projection.shape[1])

    @property
    def inputs(self) -> int:
        """Return the number of a point's values d."""
        return int(self.directions.shape[1])

    def __call__(self, points: Array) -> Array:
        """Return features (..., r) of points (..., d)."""
        return np.asarray(self._raw(points) @ self.projection)

    def with_pullback(self, points: Array) -> tuple[Array, Array]:
        """Return the features (..., r) and the raw ones (..., D) that `pullback` needs."""
        raw = self._raw(points)
        return raw @ self.projection, raw

    def pullback(self, raw: Array, gradient: Array) -> Array:
        """Return the gradient (..., d) at the points, given that at the features (..., r)."""
        return np.asarray((gradient @ self.projection.T * sigmoid_slopes(raw)) @ self.directions)

    def weights_gradient(self, raw: Array, gradient: Array) -> Array:
        """Return the gradient (r, s) at weights of the features, given that at products (N, s)."""
        return np.asarray(self.projection.T @ (raw.T @ gradient))

    def with_jacobian(self, points: Array) -> tuple[Array, Array]:
        """Return features (N, r) of points (N, d), and their derivatives (N, r, d)."""
        features, raw = self.with_pullback(points)
        at_sums = sigmoid_slopes(raw)[:, None, :] * self.projection.T
        by_row = at_sums.reshape(-1, len(self.directions)) @ self.directions
        return features, by_row.reshape(*features.shape, -1)

    def weighted(self, weights: Array) -> SigmoidMap:
        """Return the map whose features are these times weights (r, s)."""
        return self._replace(projection=self.projection @ weights)

    def astype(self, dtype: type[np.floating]) -> SigmoidMap:
        """Return the same map computing in another precision."""
        return SigmoidMap(*(c_ordered(part.astype(dtype)) for part in self))

    def _raw(self, points: Array) -> Array:
        return sigmoids(points @ self.directions.T + self.offsets)


def sigmoids(sums: Array) -> Array:
    """Return tanh / sqrt(D), (..., D), of sums (..., D)."""
    found: Array = np.tanh(sums)
    found *= 1 / np.sqrt(max(sums.shape[-1], 1))
    return found


def sigmoid_slopes(found: Array) -> Array:
    """Return the derivatives (..., D) of `sigmoids` (..., D), each by its own sum."""
    root = found.dtype.type(np.sqrt(max(found.shape[-1], 1)))
    return np.asarray(1 / root - root * found * found)
