"""The innovation form's gain, from residuals v of the state and e of the observation.

Least squares give K = E[v e^T] E[e e^T]^+. States of finite windows are not quite the Kalman
filter's, and where little is noise, or columns drift, A - K C may be unstable. The gain is then
that of the stationary Kalman filter for the same noise (`kalman/stationary.py`):

    Q = E[v v^T],   R = E[e e^T],   S = E[v e^T]
"""

from __future__ import annotations

import numpy as np

from rffpsr_ros.models.kalman.stationary import Gain, stationary_gain
from rffpsr_ros.numerics.arrays import Array

NEGLIGIBLE = 1e-10
"""Singular values below this fraction of the largest are rounding."""

_LEAST_NOISE = 1e-9
"""Variance that every direction has at the least, relative to their mean: a Riccati equation
needs it."""


def is_stable_gain(gain: Array, transition: Array, output: Array) -> bool:
    """Return whether all eigenvalues of A - K C are inside the unit circle."""
    return bool(np.abs(np.linalg.eigvals(transition - gain @ output)).max() < 1)


def gain_of(noise: Array, error: Array, transition: Array, output: Array) -> Gain:
    """Return the gain of rows of residuals v (N, n) and e (N, d_o), their products summed.

    It is unstable only where there is no stable one.
    """
    covariance, cross = error.T @ error, noise.T @ error
    inverse = np.linalg.pinv(covariance, rcond=NEGLIGIBLE, hermitian=True)
    found = Gain(cross @ inverse, covariance)
    if is_stable_gain(found.gain, transition, output):
        return found
    known = _positive(noise.T @ noise), _positive(covariance), cross
    instead = stationary_gain(transition, output, *known)
    if instead is None or not is_stable_gain(instead.gain, transition, output):
        return found
    return instead


def _positive(covariance: Array) -> Array:
    """Return a covariance in which every direction has some variance."""
    least = _LEAST_NOISE * np.trace(covariance) / len(covariance)
    return np.asarray(covariance + least * np.eye(len(covariance)))
