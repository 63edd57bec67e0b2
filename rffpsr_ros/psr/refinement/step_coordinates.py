"""In what coordinates refinement moves weights, and how long a step is for each of them."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.initialisation import InitialPredictor
from rffpsr_ros.psr.predictor import TrainableParameters

LEAST_SCALE = 1e-3
"""No step's unit of a state tensor is smaller."""

LEAST_RESIDUAL = 1e-5
"""Less than this, standardised, is not taken for an error that there is to correct."""


class Coordinates:
    """Weights seen in the coordinates in which ARX and NARX term are whitened."""

    def __init__(self, predictor: InitialPredictor) -> None:
        """Take the coordinates from the predictor."""
        self._arx = predictor.base_coordinates
        self._narx = predictor.direct_coordinates
        self._base_inverse = np.linalg.pinv(self._arx)
        self._direct_inverse = np.linalg.pinv(self._narx)

    def inward(self, parameters: TrainableParameters) -> list[Array]:
        """Return the arrays that the optimiser moves."""
        return list(
            parameters._replace(
                arx=self._base_inverse @ parameters.arx,
                narx=self._direct_inverse @ parameters.narx,
            )
        )

    def outward(self, point: list[Array]) -> TrainableParameters:
        """Return the weights at a point."""
        inner = TrainableParameters(*point)
        return inner._replace(arx=self._arx @ inner.arx, narx=self._narx @ inner.narx)

    def gradient(self, gradient: TrainableParameters) -> list[Array]:
        """Return the gradient at the point, given that at the weights."""
        wide = TrainableParameters(*(part.astype(np.float64) for part in gradient))
        return list(wide._replace(arx=self._arx.T @ wide.arx, narx=self._narx.T @ wide.narx))


def step_scales(point: list[Array], unit: Array) -> list[Array]:
    """Return the unit of length of a step for each of the arrays that the optimiser moves.

    What predicts, in coordinates in which its inputs are white, moves in a ``unit`` (d_o,) that
    comes from the one-step error that there is to correct: the weights themselves, of a signal
    that is nearly its own last value, may be a thousand times that. State tensors move in units
    of their own size.
    """
    parameters = TrainableParameters(*point)
    sizes = [max(float(np.sqrt(np.mean(part**2))), LEAST_SCALE) for part in parameters[:3]]
    outputs = np.maximum(unit, LEAST_RESIDUAL)[None]
    return [*(np.array(size) for size in sizes), *([outputs] * 3)]
