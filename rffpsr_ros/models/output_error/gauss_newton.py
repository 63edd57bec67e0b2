"""Damped Gauss-Newton steps on the simulation error of a recurrence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.models.output_error.recurrence import Recurrence, SimulatedStretches
from rffpsr_ros.models.output_error.simulation_error import normal_equations, simulation_error
from rffpsr_ros.numerics import gauss_newton
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.gauss_newton import Effort, NormalEquations
from rffpsr_ros.numerics.levenberg_marquardt import DampingRule

RULE = DampingRule(first=1e-3, easier=0.2, harder=5.0, failures=6)

LEAST_GAIN = 1e-3
"""A step that improves by a smaller fraction is the last one."""


class _Simulations(NamedTuple):
    """The error of simulations of a recurrence, by its weights as one vector."""

    recurrence: Recurrence
    stretches: SimulatedStretches

    def error(self, weights: Array) -> float:
        return simulation_error(self.recurrence, self._shaped(weights), self.stretches)

    def equations(self, weights: Array) -> NormalEquations:
        return normal_equations(self.recurrence, self._shaped(weights), self.stretches)

    def _shaped(self, weights: Array) -> Array:
        return weights.reshape(-1, self.stretches.target.shape[2])


def descend(
    recurrence: Recurrence,
    start: Array,
    stretches: SimulatedStretches,
    ridge: float,
    centre: Array,
    steps: int,
) -> Array:
    """Return weights (P, d_o) of a smaller error plus ``ridge`` times the distance to a centre.

    Features are computed in single precision here: their cosines take most of the time.
    """
    recurrence = recurrence._replace(features=recurrence.features.astype(np.float32))
    problem, effort = _Simulations(recurrence, stretches), Effort(steps, LEAST_GAIN)
    found = gauss_newton.descend(problem, start.ravel(), ridge, centre.ravel(), effort, RULE)
    return found.reshape(start.shape)
