"""The stationary Kalman filter's gain, by a Riccati equation.

    P = A P A^T + Q - K (C P C^T + R) K^T,   K = (A P C^T + S) (C P C^T + R)^-1

of a state that is disturbed with covariance Q and an observation with R; S is the covariance of
both. A - K C is stable wherever the output tells the state (Van Overschee and De Moor 1996,
chapter 3).
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import scipy.linalg

from rffpsr_ros.numerics.arrays import Array


class Gain(NamedTuple):
    """A gain K (n, d_o), and the innovations' covariance (d_o, d_o) that goes with it."""

    gain: Array
    innovation: Array


def stationary_gain(
    transition: Array, output: Array, noise: Array, error: Array, cross: Array | None = None
) -> Gain | None:
    """Return the gain for A, C, Q, R and S, by default none; None where there is none.

    It may be unstable where an equation is hardly solvable.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
            spread = scipy.linalg.solve_discrete_are(transition.T, output.T, noise, error, s=cross)
        innovation = output @ spread @ output.T + error
        moved = output @ spread @ transition.T
        gain = np.linalg.solve(innovation, moved if cross is None else moved + cross.T).T
    except (np.linalg.LinAlgError, ValueError):
        return None
    return Gain(gain, innovation) if np.isfinite(gain).all() else None
