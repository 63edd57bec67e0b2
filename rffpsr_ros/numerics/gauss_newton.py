"""Damped Gauss-Newton steps on a mean squared error, near a centre; Levenberg, Marquardt."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.levenberg_marquardt import DampingRule, damped, direction, first_better


class NormalEquations(NamedTuple):
    """Mean squared error, half its gradient and J^T J, by weights as one vector (Q,)."""

    error: float
    gradient: Array  # (Q,)
    curvature: Array  # (Q, Q)

    def penalised(self, ridge: Array, distance: Array) -> NormalEquations:
        """Return the equations with penalties (Q,) on squares of a distance (Q,), by weight."""
        return self._replace(
            gradient=self.gradient + ridge * distance, curvature=self.curvature + np.diag(ridge)
        )

    def step(self, damping: float) -> Array | None:
        """Return the step (Q,) of damped equations, if there is one."""
        return direction(self.gradient, damped(self.curvature, damping))

    def finite(self) -> bool:
        """Return whether all are numbers."""
        return bool(np.isfinite(self.gradient).all() and np.isfinite(self.curvature).all())


class Equations(Protocol):
    """What a step is found from; `NormalEquations`, or such as are solved in another way."""

    def penalised(self, ridge: Array, distance: Array) -> Equations:
        """Return the equations with penalties (Q,) on squares of a distance (Q,), by weight."""
        ...

    def step(self, damping: float) -> Array | None:
        """Return the step (Q,) of damped equations, if there is one."""
        ...

    def finite(self) -> bool:
        """Return whether all are numbers."""
        ...


class SquaredError(Protocol):
    """A mean squared error of weights (Q,), and how it depends on them."""

    def error(self, weights: Array) -> float:
        """Return the error; infinite where it is no number."""
        ...

    def equations(self, weights: Array) -> Equations:
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
    ridge: float | Array,
    centre: Array,
    effort: Effort,
    rule: DampingRule,
) -> Array:
    """Return weights (Q,) of a smaller error plus ``ridge`` times the distance to a centre (Q,).

    The ridge may be one for each weight (Q,).
    """
    ridges = np.broadcast_to(ridge, start.shape)

    def penalised(point: Array) -> float:
        distance = point - centre
        return problem.error(point) + float((ridges * distance) @ distance)

    weights, lowest, damping = start, penalised(start), rule.first
    for _ in range(effort.steps):
        with np.errstate(over="ignore", invalid="ignore"):
            equations = problem.equations(weights).penalised(ridges, weights - centre)
        if not equations.finite():
            break
        step = first_better(weights, lowest, equations.step, penalised, damping, rule)
        if step is None:
            break
        gained = lowest - step.loss
        weights, lowest = step.point, step.loss
        damping = step.damping * rule.easier
        if gained < effort.least_gain * lowest:
            break
    return weights
