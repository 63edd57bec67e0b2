"""Damped Gauss-Newton steps on a mean squared error, near a centre; Levenberg, Marquardt."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.levenberg_marquardt import DampingRule, damped_step


class NormalEquations(NamedTuple):
    """Mean squared error, half its gradient and J^T J, by weights as one vector (Q,)."""

    error: float
    gradient: Array  # (Q,)
    curvature: Array  # (Q, Q)


class SquaredError(Protocol):
    """A mean squared error of weights (Q,), and how it depends on them."""

    def error(self, weights: Array) -> float:
        """Return the error; infinite where it is no number."""
        ...

    def equations(self, weights: Array) -> NormalEquations:
        """Return error, gradient and J^T J."""
        ...


class Effort(NamedTuple):
    """How long descent goes on."""

    steps: int
    """At the most."""
    least_gain: float
    """A step that improves by a smaller fraction is the last one."""


def descend(
    problem: SquaredError,
    start: Array,
    ridge: float,
    centre: Array,
    effort: Effort,
    rule: DampingRule,
) -> Array:
    """Return weights (Q,) of a smaller error plus ``ridge`` times the distance to a centre (Q,)."""

    def penalised(point: Array) -> float:
        distance = point - centre
        return problem.error(point) + float(ridge * distance @ distance)

    weights, lowest, damping = start, penalised(start), rule.first
    for _ in range(effort.steps):
        with np.errstate(over="ignore", invalid="ignore"):
            equations = problem.equations(weights)
        gradient = equations.gradient + ridge * (weights - centre)
        curvature = equations.curvature + ridge * np.eye(weights.size)
        step = damped_step(weights, lowest, gradient, curvature, penalised, damping, rule)
        if step is None:
            break
        gained = lowest - step.loss
        weights, lowest = step.point, step.loss
        damping = step.damping * rule.easier
        if gained < effort.least_gain * lowest:
            break
    return weights
