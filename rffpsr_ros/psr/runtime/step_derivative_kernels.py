"""The derivatives of one step of the filter, as loops that numba compiles; see `filter_step`."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.compiling import part


@part
def _solved(covariance: Array, ridge: float, sides: Array) -> None:
    """Solve (C^2 + lambda) X = B in place, for a symmetric C (n, n) and B (n, m)."""
    size, columns = sides.shape
    matrix = np.dot(covariance, covariance)
    for i in range(size):
        matrix[i, i] += ridge
    for k in range(size):
        inverse = 1 / matrix[k, k]
        for i in range(k + 1, size):
            factor = matrix[k, i] * inverse
            for j in range(i, size):
                matrix[i, j] -= factor * matrix[k, j]
            for j in range(columns):
                sides[i, j] -= factor * sides[k, j]
        matrix[k, k] = inverse
    for k in range(size - 1, -1, -1):
        for i in range(k + 1, size):
            factor = matrix[k, i]
            for j in range(columns):
                sides[k, j] -= factor * sides[i, j]
        for j in range(columns):
            sides[k, j] *= matrix[k, k]


@part
def _conditions(read: Array, start: int, seen: Array, states: int) -> tuple[Array, Array]:
    """Return C (r_o, r_o) and [C phi^o, extended state] (r_o, 1 + p), of what u read."""
    size = len(seen)
    covariance, sides = np.empty((size, size)), np.empty((size, states + 1))
    place = start + states * size
    for i in range(size):
        for j in range(i, size):
            covariance[i, j] = covariance[j, i] = read[place]
            place += 1
    for i in range(size):
        total = 0.0
        for j in range(size):
            total += covariance[i, j] * seen[j]
        sides[i, 0] = total
        for p in range(states):
            sides[i, 1 + p] = read[start + p * size + i]
    return covariance, sides


@part
def _pack(by_matrix: Array, by_other: Array, left: Array, right: Array, packed: Array) -> None:
    """Write the upper triangle (r_o (r_o + 1) / 2) of left by_matrix^T - right by_other^T.

    Entries beside the diagonal stand for both places of a symmetric matrix.
    """
    place, size = 0, len(left)
    for i in range(size):
        for j in range(i, size):
            value = left[i] * by_matrix[j] - right[i] * by_other[j]
            if j > i:
                value += left[j] * by_matrix[i] - right[j] * by_other[i]
            packed[place] = value
            place += 1


@part
def step_derivatives(
    read: Array,
    start: int,
    seen: Array,
    conditioning: Array,
    following: Array,
    by_seen: Array,
    packed: Array,
) -> tuple[float, Array]:
    """Write what a filter step and its derivatives need; return the cap's factor and v (r_o,).

    ``packed`` (p, r_o (r_o + 1) / 2) is the derivative of the next state, before the cap, by the
    covariance as it is packed; ``by_seen`` (p, r_o) that by phi^o.
    """
    states, size = by_seen.shape
    covariance, sides = _conditions(read, start, seen, states)
    _solved(covariance, conditioning[0], sides)
    conditioner = sides[:, 0].copy()
    residual = seen - np.dot(covariance, conditioner)
    solved = np.ascontiguousarray(sides[:, 1:].T)
    by_seen[:] = np.dot(solved, covariance)
    square = 0.0
    for p in range(states):
        total = 0.0
        for i in range(size):
            total += read[start + p * size + i] * conditioner[i]
        following[p] = total
        square += total * total
        _pack(solved[p], by_seen[p], residual, conditioner, packed[p])
    norm = np.sqrt(square)
    return conditioning[1] / norm if norm > conditioning[1] else 1.0, conditioner


@part
def next_by(reads: Array, observed: int, conditioner: Array, packed: Array) -> Array:
    """Return the derivatives (p, k) of the next state by k inputs, given what they read (k, c)."""
    count, (states, half) = len(reads), packed.shape
    size = len(conditioner)
    narrow, start = np.empty((half, states), np.float32), observed + states * size
    for p in range(states):
        for i in range(half):
            narrow[i, p] = packed[p, i]
    columns = np.empty((count, half), np.float32)
    for k in range(count):
        for i in range(half):
            columns[k, i] = reads[k, start + i]
    through = np.dot(columns, narrow)
    found = np.empty((states, count))
    for k in range(count):
        for p in range(states):
            total = 0.0
            for i in range(size):
                total += reads[k, observed + p * size + i] * conditioner[i]
            found[p, k] = total + through[k, p]
    return found


@part
def capped(found: Array, following: Array, shrink: float) -> None:
    """Take away from derivatives (p, k) what the cap takes: it projects onto a sphere."""
    square = 0.0
    for p in range(len(following)):
        square += following[p] * following[p]
    for k in range(found.shape[1]):
        along = 0.0
        for p in range(len(following)):
            along += following[p] * found[p, k]
        for p in range(len(following)):
            found[p, k] = shrink * (found[p, k] - following[p] * along / square)
