"""The Gaussian kernel, and the map to coordinates of its features in the span of some points.

Paper, "Hilbert Space Embedding of Distributions".
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds


class KernelMap(NamedTuple):
    """Coordinates of the Gaussian kernel's features in the span of those of N points."""

    points: Annotated[Array, holds("N", "d")]  # X
    coordinates: Annotated[Array, holds("N", "r")]  # V L^{-1/2}
    width: Annotated[Array, holds(positive=True)]  # bandwidth

    @property
    def size(self) -> int:
        """Return the number of coordinates r."""
        return int(self.coordinates.shape[1])

    def __call__(self, points: Array) -> Array:
        """Return features (..., r) of points (..., d)."""
        return np.asarray(gaussian_kernel(points, self.points, self.width) @ self.coordinates)

    def with_pullback(self, points: Array) -> tuple[Array, Array]:
        """Return the features, and kernel and points side by side for `pullback`."""
        kernel = gaussian_kernel(points, self.points, self.width)
        return kernel @ self.coordinates, np.concatenate([kernel, points], axis=-1)

    def pullback(self, raw: Array, gradient: Array) -> Array:
        """Return the gradient (..., d) at the points, given that at the features (..., r)."""
        count = len(self.points)
        pulled = (gradient @ self.coordinates.T) * raw[..., :count] / self.width**2
        return np.asarray(pulled @ self.points - pulled.sum(-1, keepdims=True) * raw[..., count:])

    def weights_gradient(self, raw: Array, gradient: Array) -> Array:
        """Return the gradient (r, s) at weights of the features, given that at products (N, s)."""
        return np.asarray(self.coordinates.T @ (raw[..., : len(self.points)].T @ gradient))

    def with_jacobian(self, points: Array) -> tuple[Array, Array]:
        """Return features (N, r) of points (N, d), and their derivatives (N, r, d)."""
        kernel = gaussian_kernel(points, self.points, self.width)
        pulled = kernel[:, None] * self.coordinates.T / self.width**2
        along = pulled.sum(-1, keepdims=True) * points[:, None]
        by_row = pulled.reshape(-1, len(self.points)) @ self.points
        return kernel @ self.coordinates, by_row.reshape(along.shape) - along

    def weighted(self, weights: Array) -> KernelMap:
        """Return the map whose coordinates are these times weights (r, s)."""
        return self._replace(coordinates=self.coordinates @ weights)

    def astype(self, dtype: type[np.floating]) -> KernelMap:
        """Return the same map computing in another precision."""
        return KernelMap(*(part.astype(dtype) for part in self))


def gaussian_kernel(left: Array, right: Array, width: Array) -> Array:
    """Return exp(-|x - y|^2 / (2 width^2)) (..., N) between points (..., d) and (N, d)."""
    squared = (left**2).sum(-1)[..., None] + (right**2).sum(-1) - 2 * left @ right.T
    return np.asarray(np.exp(np.maximum(squared, 0) / (-2 * width**2)))
