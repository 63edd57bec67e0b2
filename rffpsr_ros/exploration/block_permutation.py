"""Permutation tests on recordings: blocks of ticks change places, so that autocorrelation stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from rffpsr_ros.numerics.arrays import Array

FEWEST_BLOCKS = 8


class Blocks(NamedTuple):
    """Blocks of equal length, cut from recordings, and which of them may change places.

    With eight recordings or more, a block changes places only with blocks of other recordings at
    the same distance from the start, so that what all recordings have in common (a scripted
    beginning, a transient) is not taken for a relation.
    """

    kept: tuple[int, ...]  # rows of each recording that fill whole blocks
    length: int
    strata: tuple[Array, ...]

    @classmethod
    def of(cls, lengths: Sequence[int], longest: int) -> Blocks | None:
        """Return blocks of ``longest`` rows or fewer, or None if there are too few of them."""
        length = max(1, min(longest, max(lengths, default=0) // 3, sum(lengths) // 20))
        counts = [rows // length for rows in lengths]
        if sum(counts) < FEWEST_BLOCKS:
            return None
        strata = tuple(_strata(counts))
        return cls(tuple(count * length for count in counts), length, strata)

    def shuffled(self, generator: np.random.Generator) -> Array:
        """Return the rows in an order in which blocks have changed places."""
        order = np.empty(sum(map(len, self.strata)), int)
        for group in self.strata:
            order[group] = generator.permutation(group)
        return np.asarray((order[:, None] * self.length + np.arange(self.length)).ravel())


def _strata(counts: Sequence[int]) -> list[Array]:
    """Return groups of block numbers that may change places."""
    position = np.concatenate([np.arange(count) for count in counts])
    if len(counts) < FEWEST_BLOCKS:
        return [np.arange(len(position))]
    groups = [np.flatnonzero(position == p) for p in range(max(counts))]
    crowded = [group for group in groups if len(group) >= FEWEST_BLOCKS]
    rest = [group for group in groups if len(group) < FEWEST_BLOCKS]
    return crowded + ([np.concatenate(rest)] if rest else [])


def orthonormal_basis(columns: Array, tolerance: float) -> Array:
    """Return an orthonormal basis of the span of columns (N, c), but for rounding."""
    basis, triangle, _ = scipy.linalg.qr(columns, mode="economic", pivoting=True)
    size = np.abs(np.diag(triangle))
    return np.asarray(basis[:, : len(size)][:, size > tolerance * np.sqrt(len(columns))])


def share_explained(basis: Array, residuals: Array) -> Array:
    """Return the share (d_a,) of the squares of ``residuals`` within the span of the basis."""
    whole = np.maximum((residuals**2).sum(axis=0), np.finfo(float).tiny)
    return np.asarray(((basis.T @ residuals) ** 2).sum(axis=0) / whole)
