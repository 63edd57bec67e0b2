"""Several feature maps of one row of values as one: two products, one cosine, one sine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.learning.arrays import Array


class Term(NamedTuple):
    """A feature map that reads some of a row's values."""

    frequencies: Array  # V (D, d)
    output: Array  # (2 D, r), applied to [cos V x, sin V x] / sqrt(D)
    places: Array  # (d,): where in the row its input stands


class WideMap(NamedTuple):
    """Outputs (..., r) of rows (..., i), linear in cosines, sines and a constant.

    Computes in the precision of its arrays; what comes out is in double precision.
    """

    frequencies: Array  # (i, D)
    output: Array  # (2 D + 1, r), the constant last

    def __call__(self, rows: Array) -> Array:
        """Return all terms' outputs side by side."""
        phase = np.dot(rows.astype(self.frequencies.dtype, copy=False), self.frequencies)
        count = phase.shape[-1]
        raw = np.empty((*phase.shape[:-1], 2 * count + 1), phase.dtype)
        np.cos(phase, out=raw[..., :count])
        np.sin(phase, out=raw[..., count:-1])
        raw[..., -1] = 1
        return np.asarray(np.dot(raw, self.output), np.float64)


def side_by_side(
    terms: Sequence[Term], size: int, constant: Array, dtype: type[np.floating]
) -> WideMap:
    """Return one map of rows of ``size`` values; ``constant`` (r_1,) joins the first outputs."""
    count = sum(len(term.frequencies) for term in terms)
    width = max(len(constant), sum(term.output.shape[1] for term in terms))
    frequencies, output = np.zeros((size, count)), np.zeros((2 * count + 1, width))
    row = column = 0
    for term in terms:
        here, outputs = len(term.frequencies), term.output.shape[1]
        frequencies[term.places, row : row + here] = term.frequencies.T
        scaled = term.output / np.sqrt(max(here, 1))
        output[row : row + here, column : column + outputs] = scaled[:here]
        output[count + row : count + row + here, column : column + outputs] = scaled[here:]
        row, column = row + here, column + outputs
    output[-1, : len(constant)] = constant
    return WideMap(frequencies.astype(dtype), output.astype(dtype))
