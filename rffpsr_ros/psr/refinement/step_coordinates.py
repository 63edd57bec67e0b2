"""In what coordinates refinement moves weights, and how long a step is for each of them."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.initialisation import InitialPredictor
from rffpsr_ros.psr.predictor import Weights

LEAST_SCALE = 1e-3
"""No step's unit of a state tensor is smaller."""

LEAST_RESIDUAL = 1e-5
"""Less than this, standardised, is not taken for an error that there is to correct."""


class Coordinates:
    """Weights seen in the coordinates in which base and direct term are whitened."""

    def __init__(self, predictor: InitialPredictor) -> None:
        """Take the coordinates from the predictor."""
        self._base = predictor.base_coordinates
        self._direct = predictor.direct_coordinates
        self._base_inverse = np.linalg.pinv(self._base)
        self._direct_inverse = np.linalg.pinv(self._direct)

    def inward(self, weights: Weights) -> list[Array]:
        """Return the arrays that the optimiser moves."""
        return list(
            weights._replace(
                base=self._base_inverse @ weights.base,
                direct=self._direct_inverse @ weights.direct,
            )
        )

    def outward(self, point: list[Array]) -> Weights:
        """Return the weights at a point."""
        inner = Weights(*point)
        return inner._replace(base=self._base @ inner.base, direct=self._direct @ inner.direct)

    def gradient(self, gradient: Weights) -> list[Array]:
        """Return the gradient at the point, given that at the weights."""
        wide = Weights(*(part.astype(np.float64) for part in gradient))
        return list(
            wide._replace(base=self._base.T @ wide.base, direct=self._direct.T @ wide.direct)
        )


def step_scales(point: list[Array], unit: Array) -> list[Array]:
    """Return the unit of length of a step for each of the arrays that the optimiser moves.

    What predicts, in coordinates in which its inputs are white, moves in a ``unit`` (d_o,) that
    comes from the one-step error that there is to correct: the weights themselves, of a signal
    that is nearly its own last value, may be a thousand times that. State tensors move in units
    of their own size.
    """
    weights = Weights(*point)
    sizes = [max(float(np.sqrt(np.mean(part**2))), LEAST_SCALE) for part in weights[:3]]
    outputs = np.maximum(unit, LEAST_RESIDUAL)[None]
    return [*(np.array(size) for size in sizes), *([outputs] * 3)]
