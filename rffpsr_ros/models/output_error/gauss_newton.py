"""Damped Gauss-Newton steps on the error of free runs; Levenberg 1944, Marquardt 1963."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.models.output_error.recurrence import Free, Recurrence
from rffpsr_ros.models.output_error.simulation_error import normal_equations, simulation_error
from rffpsr_ros.numerics.arrays import Array

DAMPING = 1e-3
"""Added to the curvature at first, relative to its diagonal."""

EASIER, HARDER = 0.2, 5.0
"""What a step that succeeded, or failed, does to the damping."""

FAILURES = 6
"""After so many failures in a row there is no better point nearby."""

LEAST_GAIN = 1e-3
"""A step that improves by a smaller fraction is the last one."""


def descend(
    recurrence: Recurrence,
    start: Array,
    free: Free,
    ridge: float,
    centre: Array,
    steps: int,
) -> Array:
    """Return weights (P, d_o) of a smaller error plus ``ridge`` times the distance to a centre."""

    def penalised(weights: Array) -> float:
        distance = (weights - centre).ravel()
        error = simulation_error(recurrence, weights, free)
        return error + float(ridge * distance @ distance)

    weights, lowest, damping = start, penalised(start), DAMPING
    for _ in range(steps):
        with np.errstate(over="ignore", invalid="ignore"):
            equations = normal_equations(recurrence, weights, free)
        slope = equations.gradient + ridge * (weights - centre).ravel()
        curvature = equations.curvature + ridge * np.eye(weights.size)
        if not (np.isfinite(slope).all() and np.isfinite(curvature).all()):
            break
        diagonal = np.diag(curvature)
        floor = 1e-9 * max(float(diagonal.max()), 1e-30)
        for _ in range(FAILURES):
            damped = curvature + np.diag(damping * diagonal + floor)
            moved = weights - np.linalg.solve(damped, slope).reshape(weights.shape)
            reached = penalised(moved)
            if reached < lowest:
                break
            damping *= HARDER
        else:
            break
        gained = lowest - reached
        weights, lowest, damping = moved, reached, damping * EASIER
        if gained < LEAST_GAIN * lowest:
            break
    return weights
