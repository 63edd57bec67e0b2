"""What descriptions of several kinds have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.export.graph import (
    Node,
    Tangent,
    clip,
    constant,
    differentiated,
    exponential,
    factor,
    join,
    less,
    matmul,
    maximum,
    product,
    root,
    solve,
    take,
    total,
    wave_slopes,
    waves,
    where,
)
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.psr.sigmoid_features import SigmoidMap

FLAT = 20.0
"""From here on tanh is 1 to the last digit."""


class Vector:
    """Named parts of one vector, in order.

    Parameters
    ----------
    sizes
        Of the parts.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        ends = np.cumsum(list(sizes.values()))
        self._parts = {
            name: slice(int(end) - size, int(end))
            for (name, size), end in zip(sizes.items(), ends, strict=True)
        }

    @property
    def size(self) -> int:
        """Return how many numbers all parts have."""
        return max(part.stop for part in self._parts.values())

    def part(self, vector: Node, name: str) -> Node:
        """Return a part (size,)."""
        return vector[self._parts[name]]

    def number(self, vector: Node, name: str) -> Node:
        """Return a part of size 1 as a number."""
        return entry(vector, self._parts[name].start)

    def after(self, **parts: Node) -> Node:
        """Return the vector of all its parts."""
        assert parts.keys() == self._parts.keys()
        return join(parts[name] for name in self._parts)


def entry(vector: Node, place: int) -> Node:
    """Return one number of a vector."""
    return Node("take", (vector,), (), {"places": np.array([place])})


def standardised(scaling: Scaling, values: Node) -> Node:
    """Return standard units of values (d,)."""
    return (values - constant(scaling.mean)) / constant(scaling.deviation)


def restored(scaling: Scaling, values: Node) -> Node:
    """Return values (d,) in their own units."""
    return values * constant(scaling.deviation) + constant(scaling.mean)


def features(mapping: Features, points: Node) -> Node:
    """Return features (r,) of a point (d,)."""
    if isinstance(mapping, FeatureMap):
        return fourier(mapping.frequencies, mapping.projection / _root(mapping), points)
    if isinstance(mapping, SigmoidMap):
        sums = product(mapping.directions, points) + constant(mapping.offsets)
        projection = mapping.projection.T / np.sqrt(max(len(mapping.offsets), 1))
        return product(projection, saturated(sums))
    squared = total(points * points) + constant((mapping.points**2).sum(axis=1))
    squared = squared - product(2 * mapping.points, points)
    kernel = exponential(maximum(squared, 0.0) * (-0.5 / float(mapping.width) ** 2))
    return product(mapping.coordinates.T, kernel)


def saturated(values: Node) -> Node:
    """Return hyperbolic tangents."""
    flat = clip(values, np.array(-FLAT), np.array(FLAT))
    return constant(2.0) / (exponential(flat * -2.0) + constant(1.0)) - constant(1.0)


def _root(mapping: FeatureMap) -> float:
    return float(np.sqrt(max(len(mapping.frequencies), 1)))


def fourier(frequencies: Array, weights: Array, points: Node) -> Node:
    """Return weights (2 D, r), transposed, times cosines and sines of phases V x (D,)."""
    found = waves(product(frequencies, points))
    projection = np.ascontiguousarray(weights.T)
    # The same matrix for all directions: it is far smaller than the projection.
    slopes = wave_slopes(frequencies, projection, found)

    def along(of: Callable[[Node], Tangent]) -> Tangent:
        tangent = of(points)
        return None if tangent is None else matmul(slopes, tangent)

    return differentiated(product(projection, found), along)


def put_row(rows: Node, row: Node, place: Node) -> Node:
    """Return rows, side by side, with one in its place."""
    count = rows.size // row.size
    numbers = constant(np.repeat(np.arange(float(count)), row.size))
    here = less(maximum(numbers - place, place - numbers), 0.5)
    return where(here, take(row, np.tile(np.arange(row.size), count)), rows)


def conditioner(covariance: Node, seen: Node, ridge: float) -> Node:
    """Return v = C (C^2 + lambda)^-1 phi^o (r_o,), of symmetric C (r_o, r_o); see `filter_step`."""
    size = seen.size
    factored = factor(matmul(covariance, covariance) + constant(ridge * np.eye(size)))
    weighted = matmul(covariance, seen)
    found = solve(factored, weighted)
    residual = seen - matmul(covariance, found)

    def along(of: Callable[[Node], Tangent]) -> Tangent:
        # (C^2 + lambda) v = C phi: one solve, as in `filter_step_gradient`.
        moved, features = of(covariance), of(seen)
        if moved is None and features is None:
            return None
        change = features
        right = None
        if moved is not None:
            right = matmul(moved, residual)
            turned = matmul(moved, found)
            change = turned * -1.0 if features is None else features - turned
        assert change is not None
        through = matmul(covariance, change)
        return solve(factored, through if right is None else right + through)

    return differentiated(found, along)


def shortened(state: Node, cap: float) -> Node:
    """Return a state (p,) no longer than the cap."""
    if not np.isfinite(cap):
        return state
    squared = total(state * state)
    beyond = less(constant(cap**2), squared)
    return where(beyond, state * (constant(cap) / root(maximum(squared, 1e-60))), state)
