"""The innovation form's gain, from residuals v of the state and e of the observation.

Least squares give K = E[v e^T] E[e e^T]^+. States of finite windows are not quite the Kalman
filter's, and where little is noise, or columns drift, A - K C may be unstable. The gain is then
that of the stationary Kalman filter for the same noise, whose A - K C is stable wherever the output
tells the state (Van Overschee and De Moor 1996, chapter 3):

    P = A P A^T + Q - K (C P C^T + R) K^T,   K = (A P C^T + S) (C P C^T + R)^-1

    Q = E[v v^T],   R = E[e e^T],   S = E[v e^T]
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import scipy.linalg

from rffpsr_ros.numerics.arrays import Array

_NEGLIGIBLE = 1e-10
"""Singular values below this fraction of the largest are rounding."""

_LEAST_NOISE = 1e-9
"""Variance that every direction has at the least, relative to their mean: a Riccati equation
needs it."""


class Gain(NamedTuple):
    """A gain K (n, d_o), and the innovations' covariance (d_o, d_o) that goes with it."""

    gain: Array
    innovation: Array


def is_stable_gain(gain: Array, transition: Array, output: Array) -> bool:
    """Return whether all eigenvalues of A - K C are inside the unit circle."""
    return bool(np.abs(np.linalg.eigvals(transition - gain @ output)).max() < 1)


def gain_of(noise: Array, error: Array, transition: Array, output: Array) -> Gain:
    """Return the gain of rows of residuals v (N, n) and e (N, d_o), their products summed.

    It is unstable only where there is no stable one.
    """
    covariance, cross = error.T @ error, noise.T @ error
    inverse = np.linalg.pinv(covariance, rcond=_NEGLIGIBLE, hermitian=True)
    found = Gain(cross @ inverse, covariance)
    if is_stable_gain(found.gain, transition, output):
        return found
    instead = _stationary(noise.T @ noise, covariance, cross, transition, output)
    return found if instead is None else instead


def _stationary(
    noise: Array, error: Array, cross: Array, transition: Array, output: Array
) -> Gain | None:
    """Return the stationary Kalman filter's gain; None where there is none."""
    noise, error = _positive(noise), _positive(error)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
            spread = scipy.linalg.solve_discrete_are(transition.T, output.T, noise, error, s=cross)
        innovation = output @ spread @ output.T + error
        gain = np.linalg.solve(innovation, output @ spread @ transition.T + cross.T).T
    except (np.linalg.LinAlgError, ValueError):
        return None
    stable = np.isfinite(gain).all() and is_stable_gain(gain, transition, output)
    return Gain(gain, innovation) if stable else None


def _positive(covariance: Array) -> Array:
    """Return a covariance in which every direction has some variance."""
    least = _LEAST_NOISE * np.trace(covariance) / len(covariance)
    return np.asarray(covariance + least * np.eye(len(covariance)))
