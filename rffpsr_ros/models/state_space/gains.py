"""The gain by which a system is followed: a Kalman filter's, and steps from there.

When what a system does is learned apart from how it is followed, an old gain need not suit it, nor
even be stable. A Kalman filter of the mean linear system is; how much its states are disturbed is
tried, and told by simulations that begin where it leads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rffpsr_ros.models.kalman.stationary import stationary_gain
from rffpsr_ros.models.state_space.dynamics import StateSpace, feature_slopes, step_jacobians
from rffpsr_ros.models.state_space.sensitivities import jacobians
from rffpsr_ros.models.state_space.simulation import first_states, simulate, simulation_error
from rffpsr_ros.models.state_space.stretches import Stretches
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.gauss_newton import Effort, NormalEquations, descend
from rffpsr_ros.numerics.levenberg_marquardt import DampingRule

DISTURBED = tuple(10.0**power for power in range(-8, 7, 2))
"""Variances of what disturbs states that are tried, relative to those of their changes."""

STILL = 1e-6
"""Variance of what disturbs integrators, relative to others'."""

LEAST_VARIANCE = 1e-12
"""Of changes and of errors, in standard units."""

EFFORT = Effort(4, 1e-2)
"""Steps of the gain."""

RIDGE = 1e-5
"""Penalty on the distance to where they start, relative to the error there."""


class Motion(NamedTuple):
    """What is known of a system's simulations."""

    slopes: Array
    """Mean slopes of the features (f,)."""
    changes: Array
    """Mean squares of the changes of states from tick to tick (n,)."""
    missed: Array
    """Mean squared errors (d_o,)."""


def motion(system: StateSpace, starts: Array, stretches: Stretches) -> Motion:
    """Return what simulations from states (N, n) tell."""
    found = simulate(system, stretches, starts)
    inside = stretches.counted.any(axis=2)
    missed = np.where(stretches.counted, found.expected - stretches.observations, np.nan)
    moved = np.diff(found.states, axis=0)[inside]
    slopes = feature_slopes(system, found.seen, found.features)
    return Motion(
        slopes[inside].mean(axis=0),
        np.square(moved).mean(axis=0) + LEAST_VARIANCE,
        np.nan_to_num(np.nanmean(np.square(missed[inside]), axis=0), nan=1.0) + LEAST_VARIANCE,
    )


def kalman_gains(system: StateSpace, known: Motion) -> Iterator[Array]:
    """Yield gains (n, d_o) of Kalman filters, for each kind of disturbance of several strengths.

    States are disturbed each by itself, or as actions disturb them; integrators hardly are.
    """
    states = system.states
    by_input = step_jacobians(system, known.slopes)[1]
    transition, output = by_input[:states, :states], by_input[states:, :states]
    acting = by_input[:states, states:] @ by_input[:states, states:].T
    still = np.where(system.integrators > 0, STILL, 1.0)
    alone = np.diag(known.changes * still)
    together = acting * np.sqrt(np.outer(still, still)) + STILL * alone
    for kind in (alone, together * np.trace(alone) / np.trace(together)):
        for disturbed in DISTURBED:
            found = stationary_gain(transition, output, disturbed * kind, np.diag(known.missed))
            if found is not None:
                yield found.gain


def best_gain(
    system: StateSpace, known: Motion, stretches: Stretches, rule: DampingRule
) -> StateSpace:
    """Return the system with the gain that leads to simulations with the least error."""
    tried = [system, *(system._replace(gain=gain) for gain in kalman_gains(system, known))]
    errors = [simulation_error(one, stretches) for one in tried]
    best = int(np.argmin(errors))
    if not np.isfinite(errors[best]):
        return system
    problem = GainError(tried[best], stretches)
    start = tried[best].gain.ravel()
    return problem.with_gain(descend(problem, start, RIDGE * errors[best], start, EFFORT, rule))


class GainError(NamedTuple):
    """The mean squared error of simulations by the gain, as one vector (n * d_o,)."""

    system: StateSpace
    stretches: Stretches

    def with_gain(self, weights: Array) -> StateSpace:
        """Return the system with another gain (n * d_o,)."""
        return self.system._replace(gain=weights.reshape(self.system.gain.shape).copy())

    def error(self, weights: Array) -> float:
        """Return the error; infinite where it is no number."""
        return simulation_error(self.with_gain(weights), self.stretches)

    def equations(self, weights: Array) -> NormalEquations:
        """Return error, gradient and J^T J.

        A correction by e = o - its forecast adds K e to the next state, and so K de besides e.
        """
        system, stretches = self.with_gain(weights), self.stretches
        states, begun = system.states, first_states(system, stretches)
        simulation = simulate(system, stretches, begun)
        by_state = jacobians(system, simulation, slice(None))[1][..., :states]
        inside = system.bounds.strictly_inside(simulation.expected)
        every = simulation.expected - stretches.observations
        carried = np.zeros((*begun.shape, weights.size))
        by_itself = np.eye(states)[:, :, None]
        total, gradient, curvature = 0.0, np.zeros(weights.size), np.zeros((weights.size,) * 2)
        for t, missed in enumerate(every):
            moves = by_state[t] @ carried
            rows = moves[:, states:] * inside[t][..., None]
            counted = stretches.counted[t]
            chosen, errors = rows[counted], missed[counted]
            total += float(errors @ errors)
            gradient += errors @ chosen
            curvature += chosen.T @ chosen
            carried = moves[:, :states]
            used = np.isfinite(missed) & stretches.corrected[t][:, None]
            if used.any():
                carried = carried - np.where(used[:, None], system.gain, 0.0) @ rows
                error = np.where(used, missed, 0.0)
                carried -= (by_itself * error[:, None, None]).reshape(len(error), states, -1)
        number = max(int(stretches.counted.sum()), 1)
        return NormalEquations(total / number, gradient / number, curvature / number)
