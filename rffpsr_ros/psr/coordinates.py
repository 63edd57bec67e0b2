"""Whitened coordinates: bases in which the inputs of a linear term have unit second moments.

Gradient steps on weights of strongly correlated inputs (twenty samples of a smooth signal) make
hardly any progress; in whitened coordinates they do. Not the paper's.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.filter_step import Dynamics


def whitening(second_moment: Array, floor: float, ridge: float = 0.0) -> Array:
    """Return T (d, d) such that rows x T have nearly unit second moments.

    Directions weaker than ``floor`` times the strongest (in variance), or than ``ridge``, are not
    amplified further.
    """
    eigenvalues, vectors = scipy.linalg.eigh(second_moment)
    clipped = np.maximum(eigenvalues, 0) + floor * max(eigenvalues[-1], 1e-30) + ridge
    return np.asarray(vectors / np.sqrt(clipped))


def change_state_basis(dynamics: Dynamics, states: Array, floor: float) -> tuple[Dynamics, Array]:
    """Return dynamics and states (N, p) in coordinates where the states are white."""
    transform = whitening(states.T @ states / len(states), floor)
    inverse = np.linalg.inv(transform)
    size = len(transform)

    def by_state(tensor: Array) -> Array:
        rows = np.einsum("ip,pac->iac", inverse, tensor.reshape(size, -1, tensor.shape[1]))
        return np.asarray(rows.reshape(tensor.shape))

    extended = by_state(dynamics.extended)
    per_state = extended.reshape(len(extended), size, -1)
    turned = np.einsum("rpo,pi->rio", per_state, transform).reshape(extended.shape)
    changed = Dynamics(by_state(dynamics.covariance), turned, dynamics.initial @ transform)
    return changed, states @ transform
