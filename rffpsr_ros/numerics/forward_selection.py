"""Which of many drawn units learning begins with: forward selection by regression.

A few units drawn by chance look past what a robot's equations bend at. Of many, one after the other
is taken with which the regression on all that were taken before it leaves least: orthogonal least
squares (Chen, Cowan and Grant 1991), here by the logarithm of what is left, summed over targets, so
that each of them counts alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array

RIDGE = 1e-3
"""Of the regression; in units of the mean square of units' values. Far smaller, units are taken
whose large weights oppose each other, and which the penalties of learning pull apart again."""

LEAST_LEFT = 1e-6
"""A single unit explains all but this share of what is left, at the most: more is rounding."""


class _Left(NamedTuple):
    """Moments of what a regression on the inputs taken so far leaves."""

    inputs: Array  # of the other inputs (K, K)
    cross: Array  # of these with the targets (K, d)
    targets: Array  # mean squares (d,)

    def without(self, taken: Array) -> _Left:
        """Return what is left after some of the inputs, which are taken, too."""
        known = self.inputs[np.ix_(taken, taken)]
        rest = np.delete(np.arange(len(self.inputs)), taken)
        shared = self.inputs[np.ix_(rest, taken)]
        at_taken = np.hstack([shared.T, self.cross[taken]])
        explained = np.linalg.solve(known, at_taken)
        of_inputs, of_targets = explained[:, : len(rest)], explained[:, len(rest) :]
        return _Left(
            self.inputs[np.ix_(rest, rest)] - shared @ of_inputs,
            self.cross[rest] - shared @ of_targets,
            self.targets - np.sum(self.cross[taken] * of_targets, axis=0),
        )

    def shares(self, each: int) -> Array:
        """Return which share (D, d) of the targets is left with one unit more, of D units."""
        count = len(self.inputs) // each
        of_units = self.inputs.reshape(each, count, each, count)
        own = np.moveaxis(np.diagonal(of_units, axis1=1, axis2=3), -1, 0)
        cross = self.cross.reshape(each, count, -1).swapaxes(0, 1)
        explained = np.sum(cross * np.linalg.solve(own, cross), axis=1)
        share: Array = 1 - explained / np.maximum(self.targets, np.finfo(float).tiny)
        return share


def selected_units(
    inputs: Array, cross: Array, targets: Array, drawn: int, each: int, wanted: int
) -> list[int]:
    """Return the places of the ``wanted`` units that regress targets best, in their order.

    The regression's inputs are the values of so many ``drawn`` units, all first values, then all
    second ones where ``each`` has two; after them what takes part in any case. Given are their mean
    products (K, K), those with the targets (K, d), and the targets' mean squares (d,).
    """
    own = drawn * each
    inputs = inputs.copy()
    diagonal = np.einsum("ii->i", inputs)
    diagonal += RIDGE * diagonal[:own].mean()
    left = _Left(inputs, cross, targets).without(np.arange(own, len(inputs)))
    places = np.arange(drawn)
    chosen: list[int] = []
    while len(chosen) < wanted:
        shares = np.maximum(left.shares(each), LEAST_LEFT)
        best = int(np.argmin(np.log(shares).sum(axis=1)))
        chosen.append(int(places[best]))
        left = left.without(best + len(places) * np.arange(each))
        places = np.delete(places, best)
    return chosen
