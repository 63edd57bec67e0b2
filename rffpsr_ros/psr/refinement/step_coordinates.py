"""The coordinates in which refinement moves parameters, and the length of a step for each."""

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
    """Weights seen in the coordinates in which the terms beside the state's are whitened."""

    def __init__(self, predictor: InitialPredictor) -> None:
        """Take the coordinates from the predictor."""
        self._outward = predictor.coordinates
        self._inward = {name: np.linalg.pinv(part) for name, part in self._outward.items()}

    def inward(self, parameters: TrainableParameters) -> list[Array]:
        """Return the arrays that the optimiser moves."""
        return list(_times(self._inward, parameters))

    def outward(self, point: list[Array]) -> TrainableParameters:
        """Return the parameters at a point."""
        return _times(self._outward, TrainableParameters(*point))

    def gradient(self, gradient: TrainableParameters) -> list[Array]:
        """Return the gradient at the point, given that at the parameters."""
        transposed = {name: part.T for name, part in self._outward.items()}
        return list(_times(transposed, gradient.astype(np.float64)))


def _times(matrices: dict[str, Array], parameters: TrainableParameters) -> TrainableParameters:
    """Return the parameters, those that are named multiplied by their matrix from the left."""
    changed = {name: part @ getattr(parameters, name) for name, part in matrices.items()}
    return parameters._replace(**changed)


def step_scales(point: list[Array], unit: Array) -> list[Array]:
    """Return the unit of length of a step for each of the arrays that the optimiser moves.

    Weights of terms, in coordinates in which their inputs are white, move in a ``unit`` (d_o,)
    taken from the one-step error to be corrected: the weights themselves, of a signal that is
    nearly its own last value, may be a thousand times that. State tensors move in units
    of their own size.
    """
    parameters = TrainableParameters(*point)
    sizes = [max(float(np.sqrt(np.mean(part**2))), LEAST_SCALE) for part in parameters[:3]]
    outputs = np.maximum(unit, LEAST_RESIDUAL)[None]
    return [*(np.array(size) for size in sizes), *([outputs] * 3)]
