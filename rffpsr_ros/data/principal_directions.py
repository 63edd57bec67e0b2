"""Principal directions of features: of many rows, in chunks, or of few, by their Gram matrix.

Of many rows by randomised subspace iteration (Halko, Martinsson and Tropp 2011, algorithm 4.4) on
the uncentred second moment, which is touched only through products with thin matrices: memory is
size times rank, time is linear in the number of rows, and every sweep re-orthogonalises, so
directions of small variance are not lost to rounding. Where there are fewer rows than columns, the
Gram matrix between them, G = V L V^T, gives all directions of their span exactly: X^T V L^{-1/2}.
This also serves features of which only inner products are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import scipy.linalg

from rffpsr_ros.data.moments import Moment
from rffpsr_ros.numerics.arrays import Array, c_ordered

OVERSAMPLING = 10
SWEEPS = 2


def principal_directions(
    chunks: Callable[[], Iterable[Array]],
    size: int,
    rank: int,
    tolerance: float,
    generator: np.random.Generator,
) -> Array:
    """Return orthonormal columns U (size, r), the leading directions of rows x (N, size).

    Parameters
    ----------
    chunks
        Called once per sweep; yields the rows chunk by chunk, the same ones each time.
    size
        Number of columns of the rows.
    rank
        Cap on r.
    tolerance
        Directions whose singular value is below ``tolerance`` times the largest are dropped.
    generator
        Draws the test matrix.

    Notes
    -----
    Signs are fixed (largest entry of each direction positive), so that the result does not depend
    on the linear algebra library's whim.
    """
    width = min(size, rank + OVERSAMPLING)
    if width == size:
        basis: Array = np.eye(size)
    else:
        basis = generator.standard_normal((size, width))
        for _ in range(SWEEPS + 1):
            basis = scipy.linalg.qr(_second_moment_times(chunks, basis), mode="economic")[0]
    compressed = Moment.zeros(width, width)
    for rows in chunks():
        inside = (rows @ basis.astype(rows.dtype)).astype(np.float64)
        compressed.add(inside, inside)
    eigenvalues, vectors = scipy.linalg.eigh(compressed.mean)
    singular = np.sqrt(np.maximum(eigenvalues[::-1], 0))
    kept = min(rank, max(1, int(np.sum(singular > tolerance * singular[0]))))
    return c_ordered(_fix_signs(basis @ vectors[:, ::-1][:, :kept]))


def gram_coordinates(gram: Array, rank: int, tolerance: float) -> tuple[Array, float]:
    """Return V L^{-1/2} (N, r) of a Gram matrix (N, N), and the share of its trace left out.

    Directions whose singular value is below ``tolerance`` times the largest are dropped, and all
    beyond ``rank``.
    """
    values, vectors = scipy.linalg.eigh(gram)
    values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1]
    kept = min(rank, max(1, int(np.sum(np.sqrt(values) > tolerance * np.sqrt(values[0])))))
    lost = 1 - float(values[:kept].sum() / values.sum())
    return vectors[:, :kept] / np.sqrt(values[:kept]), lost


def principal_directions_of_few(rows: Array, rank: int, tolerance: float) -> Array:
    """Return orthonormal columns U (size, r), the leading directions of rows (N, size)."""
    return np.asarray(rows.T @ gram_coordinates(rows @ rows.T, rank, tolerance)[0])


def _second_moment_times(chunks: Callable[[], Iterable[Array]], basis: Array) -> Array:
    product = Moment.zeros(*basis.shape)
    for rows in chunks():
        # In the rows' own precision: to convert them would take longer than the product.
        product.add(rows, rows @ basis.astype(rows.dtype))
    return product.total


def _fix_signs(directions: Array) -> Array:
    largest = np.take_along_axis(directions, np.abs(directions).argmax(0)[None], axis=0)
    return directions * np.where(largest < 0, -1.0, 1.0)
