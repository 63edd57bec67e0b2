"""Inverses of many small symmetric positive definite matrices at once.

LAPACK is called matrix by matrix and spends most of its time on being called. Here the batch is the
innermost axis: a leaf of a few rows is inverted by sweeps over all matrices together, and two
leaves are joined by their Schur complement. At 20 rows this takes a third of the time in single
and half of it in double precision.
"""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array

LEAF = 8
"""Rows up to which sweeps are cheaper than products of halves."""

FEW = 32
"""So few matrices go to LAPACK one by one."""

TOGETHER = 256
"""Matrices swept together: what they need stays in the cache."""


def inverse_of_positive(matrices: Array) -> Array:
    """Return the inverses (N, n, n) of symmetric positive definite matrices (N, n, n)."""
    size = matrices.shape[-1]
    if len(matrices) < FEW:
        return np.linalg.inv(matrices)
    if size <= LEAF:
        return _swept(matrices)
    half = size // 2
    corner = matrices[:, :half, half:]
    first = inverse_of_positive(matrices[:, :half, :half])
    carried = first @ corner
    rest = inverse_of_positive(matrices[:, half:, half:] - corner.swapaxes(1, 2) @ carried)
    crossed = carried @ rest
    inverse = np.empty_like(matrices)
    inverse[:, :half, :half] = first + crossed @ carried.swapaxes(1, 2)
    inverse[:, :half, half:] = -crossed
    inverse[:, half:, :half] = -crossed.swapaxes(1, 2)
    inverse[:, half:, half:] = rest
    return inverse


def _swept(matrices: Array) -> Array:
    """Invert by the sweep operator; no pivoting, which positive definite matrices do not need."""
    count, size, _ = matrices.shape
    inverse = np.empty_like(matrices)
    for start in range(0, count, TOGETHER):
        rows = matrices[start : start + TOGETHER].reshape(-1, size * size)
        batch = np.array(rows.T, order="C").reshape(size, size, -1)
        change = np.empty_like(batch)
        for k in range(size):
            reciprocal = 1 / batch[k, k]
            column = batch[:, k].copy()
            row = column * reciprocal
            np.multiply(column[:, None], row[None], out=change)
            batch -= change
            batch[k] = batch[:, k] = row
            batch[k, k] = -reciprocal
        np.negative(batch, out=batch)
        inverse[start : start + TOGETHER] = batch.reshape(size * size, -1).T.reshape(-1, size, size)
    return inverse
