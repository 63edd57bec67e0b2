"""Moments: sums over windows that are added chunk by chunk, and the regressions made of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from rffpsr_ros.numerics.arrays import Array, c_ordered


@dataclass
class Moment:
    """Sum of w y x^T over windows, and of w; adding chunks in order gives the same bits.

    ``add`` is the merge of one chunk's own sum, so partial sums computed elsewhere, one per chunk
    and merged in the order of the data, give bit-identical results.
    """

    total: Array
    count: float = 0

    @classmethod
    def zeros(cls, rows: int, columns: int) -> Moment:
        """Return the empty sum of (rows, columns)."""
        return cls(np.zeros((rows, columns)))

    def add(self, left: Array, right: Array, weights: Array | None = None) -> None:
        """Add the products of ``left`` (N, rows) with ``right`` (N, columns).

        ``weights`` (N,) count windows more or less than once.
        """
        if weights is None:
            self.merge(Moment(_products(left, right), len(left)))
        else:
            weighted = right * weights[:, None]
            self.merge(Moment(_products(left, weighted), float(weights.sum())))

    def merge(self, other: Moment) -> None:
        """Add another sum."""
        self.total += other.total
        self.count += other.count

    def scaled(self, factor: float) -> Moment:
        """Return the sum in which every window counts so many times as much."""
        return Moment(factor * self.total, factor * self.count)

    @property
    def mean(self) -> Array:
        """Return the sum divided by the number of windows."""
        return self.total / (self.count if self.count > 0 else 1)


def _products(left: Array, right: Array) -> Array:
    # BLAS is twice as fast when the wide factor is the right one.
    if left.shape[1] > right.shape[1]:
        return np.asarray((right.T @ left).T)
    return np.asarray(left.T @ right)


def ridge_regression(target_input: Array, input_input: Array, ridge: float | Array) -> Array:
    """Return W (d_y, d_x), the minimiser of mean |y - W x|^2 + ridge |W|^2.

    Every input may have a ridge (d_x,) of its own.

    Takes the mean moments E[y x^T] and E[x x^T]; on means, one ridge means the same for any N.
    """
    regularised = input_input + np.diag(np.broadcast_to(ridge, len(input_input)))
    return np.asarray(scipy.linalg.solve(regularised, target_input.T, assume_a="pos")).T


@dataclass
class Regression:
    """The two moments of a linear regression of y (N, d_y) on x (N, d_x), ready to be solved."""

    target_input: Moment
    input_input: Moment

    @classmethod
    def zeros(cls, targets: int, inputs: int) -> Regression:
        """Return the empty regression."""
        return cls(Moment.zeros(targets, inputs), Moment.zeros(inputs, inputs))

    def add(self, inputs: Array, targets: Array, weights: Array | None = None) -> None:
        """Add a chunk of windows; ``weights`` (N,) count them more or less than once."""
        self.target_input.add(targets, inputs, weights)
        # What is going to be inverted is summed up in double precision in any case.
        double = inputs.astype(np.float64, copy=False)
        self.input_input.add(double, double, weights)

    def merge(self, other: Regression) -> None:
        """Add another regression's sums."""
        self.target_input.merge(other.target_input)
        self.input_input.merge(other.input_input)

    def scaled(self, factor: float) -> Regression:
        """Return the sums in which every window counts so many times as much."""
        return Regression(self.target_input.scaled(factor), self.input_input.scaled(factor))

    def solve(self, ridge: float) -> Array:
        """Return the ridge weights (d_y, d_x)."""
        return c_ordered(ridge_regression(self.target_input.mean, self.input_input.mean, ridge))
