"""Damped Gauss-Newton steps; Levenberg 1944, Marquardt 1963."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg

from rffpsr_ros.numerics.arrays import Array

LEAST_CURVATURE = 1e-9
"""Added to the curvature in any case, relative to the largest: some parameters change nothing."""


class DampingRule(NamedTuple):
    """How strongly steps are damped at first, and what success and failure do to it."""

    first: float
    """Added to the curvature, relative to its diagonal."""
    easier: float
    harder: float
    failures: int
    """After so many failures in a row there is no better point nearby."""


class DampedStep(NamedTuple):
    """A point with a smaller loss, and the damping that led to it."""

    point: Array
    loss: float
    damping: float


def damped_step(
    point: Array,
    lowest: float,
    slope: Array,
    curvature: Array,
    loss: Callable[[Array], float],
    damping: float,
    rule: DampingRule,
) -> DampedStep | None:
    """Return a point (P,) whose loss is below ``lowest``, that at ``point``; None if none is found.

    Takes half the gradient (P,) and J^T J (P, P), penalties included. The damping grows from
    failure to failure.
    """
    if not (np.isfinite(slope).all() and np.isfinite(curvature).all()):
        return None
    diagonal = np.diag(curvature)
    floor = LEAST_CURVATURE * max(float(diagonal.max()), 1e-30)
    for _ in range(rule.failures):
        step = _solved(curvature + np.diag(damping * diagonal + floor), slope)
        if step is not None:
            moved = point - step
            reached = loss(moved)
            if reached < lowest:
                return DampedStep(moved, reached, damping)
        damping *= rule.harder
    return None


def _solved(positive: Array, right: Array) -> Array | None:
    """Return the solution (P,) of a positive definite system; None where rounding made it less."""
    try:
        factor = scipy.linalg.cho_factor(positive, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(scipy.linalg.cho_solve(factor, right, check_finite=False))
