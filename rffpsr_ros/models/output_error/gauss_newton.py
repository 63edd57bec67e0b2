"""Damped Gauss-Newton steps on the simulation error; Levenberg 1944, Marquardt 1963."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.models.output_error.recurrence import Recurrence, SimulatedStretches
from rffpsr_ros.models.output_error.simulation_error import normal_equations, simulation_error
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.levenberg_marquardt import DampingRule, damped_step

RULE = DampingRule(first=1e-3, easier=0.2, harder=5.0, failures=6)

LEAST_GAIN = 1e-3
"""A step that improves by a smaller fraction is the last one."""


def descend(
    recurrence: Recurrence,
    start: Array,
    stretches: SimulatedStretches,
    ridge: float,
    centre: Array,
    steps: int,
) -> Array:
    """Return weights (P, d_o) of a smaller error plus ``ridge`` times the distance to a centre."""

    def penalised(point: Array) -> float:
        distance = point - centre.ravel()
        error = simulation_error(recurrence, point.reshape(centre.shape), stretches)
        return error + float(ridge * distance @ distance)

    weights, lowest, damping = start, penalised(start.ravel()), RULE.first
    for _ in range(steps):
        with np.errstate(over="ignore", invalid="ignore"):
            equations = normal_equations(recurrence, weights, stretches)
        gradient = equations.gradient + ridge * (weights - centre).ravel()
        curvature = equations.curvature + ridge * np.eye(weights.size)
        step = damped_step(weights.ravel(), lowest, gradient, curvature, penalised, damping, RULE)
        if step is None:
            break
        gained = lowest - step.loss
        weights, lowest = step.point.reshape(weights.shape), step.loss
        damping = step.damping * RULE.easier
        if gained < LEAST_GAIN * lowest:
            break
    return weights
