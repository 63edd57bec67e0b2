"""Products of rows of features, and symmetric matrices packed as their upper triangles."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.numerics.arrays import Array


def khatri_rao(left: Array, right: Array) -> Array:
    """Return the row-wise Kronecker product (N, m n) of (N, m) and (N, n); right index fastest."""
    return (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)


@lru_cache(maxsize=64)
def symmetric_half(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return row and column indices of the upper triangle of a (size, size) matrix."""
    return np.triu_indices(size)


def symmetric_products(vectors: Array) -> Array:
    """Return the distinct products x_i x_j, i <= j, of (N, m) as (N, m (m + 1) / 2).

    Products of a vector with itself are symmetric; carrying both halves would leave directions
    that no datum ever shows, in which regression weights are arbitrary.
    """
    rows, columns = symmetric_half(vectors.shape[-1])
    return vectors[..., rows] * vectors[..., columns]


def unpack_symmetric(half: Array, size: int) -> Array:
    """Return the symmetric matrices (..., size, size) with the given upper triangles."""
    return half[..., _places_in_half(size)]


@lru_cache(maxsize=64)
def _places_in_half(size: int) -> NDArray[np.intp]:
    """Return where each entry of a (size, size) matrix stands in its upper triangle."""
    rows, columns = symmetric_half(size)
    places = np.empty((size, size), np.intp)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    return places


def unpack(columns: Array, size: int) -> Array:
    """Return matrices (N, size, size) from rows that hold upper triangles or full matrices."""
    if columns.shape[-1] == size * size:
        return columns.reshape(len(columns), size, size)
    return unpack_symmetric(columns, size)


def pack_gradient(gradient: Array, columns: int) -> Array:
    """Return the gradient (N, columns) at what `unpack` read, given that at the matrices."""
    size = gradient.shape[-1]
    if columns == size * size:
        return gradient.reshape(len(gradient), columns)
    rows, others = symmetric_half(size)
    half = gradient[:, rows, others] + gradient[:, others, rows]
    half[:, rows == others] *= 0.5
    return half
