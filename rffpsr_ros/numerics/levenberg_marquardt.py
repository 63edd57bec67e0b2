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

    Takes half the gradient (P,) and J^T J (P, P), penalties included, of which the upper triangle
    counts. The damping grows from failure to failure. Steps are solved for in single precision,
    with parameters scaled so that the diagonal is one: what that costs in accuracy is little beside
    what damping changes, and the loss tells whether a step is good.
    """
    if not (np.isfinite(slope).all() and np.isfinite(curvature).all()):
        return None
    diagonal = np.diagonal(curvature).astype(np.float64)
    scale = 1 / np.sqrt(diagonal + _floor(diagonal))
    single = scale.astype(np.float32)
    scaled = single[:, None] * curvature.astype(np.float32, copy=False) * single
    sloping = (scale * slope).astype(np.float32)

    def step(damping: float) -> Array | None:
        np.fill_diagonal(scaled, 1 + damping)
        found = direction(sloping, scaled)
        return None if found is None else scale * found

    return first_better(point, lowest, step, loss, damping, rule)


def first_better(
    point: Array,
    lowest: float,
    step: Callable[[float], Array | None],
    loss: Callable[[Array], float],
    damping: float,
    rule: DampingRule,
) -> DampedStep | None:
    """Return the first point whose loss is below ``lowest``, by steps (P,) of growing damping.

    There may be no step for a damping.
    """
    for _ in range(rule.failures):
        moved = step(damping)
        if moved is not None:
            reached = loss(point + moved)
            if reached < lowest:
                return DampedStep(point + moved, reached, damping)
        damping *= rule.harder
    return None


def direction(slope: Array, curvature: Array) -> Array | None:
    """Return the step (P,) to where the gradient is 0; None where rounding left no such point.

    The curvature (P, P), of which the upper triangle counts, is positive definite but for that.
    """
    if not slope.size:  # which SciPy 1.10 does not solve
        return slope
    try:
        factor = scipy.linalg.cho_factor(curvature, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    return -np.asarray(scipy.linalg.cho_solve(factor, slope, check_finite=False))


def damped(curvature: Array, damping: float) -> Array:
    """Return J^T J (..., P, P) with a multiple of its diagonal, and a little of the largest."""
    diagonal = np.diagonal(curvature, axis1=-2, axis2=-1)
    added = damping * diagonal + _floor(diagonal)
    return np.asarray(curvature + added[..., None] * np.eye(added.shape[-1]))


def _floor(diagonal: Array) -> float:
    return LEAST_CURVATURE * max(float(diagonal.max(initial=0.0)), 1e-30)
