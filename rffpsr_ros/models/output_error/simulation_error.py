"""The simulation error and how it depends on the weights: what Gauss-Newton steps need.

Least squares on one step ahead says little about a thousand steps: noise in the window pulls the
slow modes towards zero, and what a step misses adds up. Here the derivative of every simulated
observation by every weight is carried along with the simulation (Ljung 1999, output-error models).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.models.output_error.recurrence import (
    Recurrence,
    SimulatedStretches,
    inputs_of,
    simulate,
    window_jacobian,
)
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.gauss_newton import NormalEquations


def cut_stretches(runs: Sequence[Run], past: int, length: int, most: int) -> SimulatedStretches:
    """Cut overlapping stretches of at most ``length`` ticks, no more than ``most`` of them.

    A stretch whose first window holds a missing observation is left out. Shorter ones are padded
    with ticks that do not count.
    """
    places = [
        (run, start)
        for run in runs
        for start in _starts(len(run.actions), past, length)
        if np.isfinite(run.observations[start - past : start]).all()
    ]
    places = evenly_spread(places, most)
    observed, acted = runs[0].observations.shape[1], runs[0].actions.shape[1]
    before = np.empty((len(places), past, observed))
    actions = np.zeros((len(places), past + length, acted))
    target = np.full((len(places), length, observed), np.nan)
    for row, (run, start) in enumerate(places):
        stop = min(start + length, len(run.actions))
        before[row] = run.observations[start - past : start]
        actions[row, : past + stop - start] = run.actions[start - past : stop]
        target[row, : stop - start] = run.observations[start:stop]
    return SimulatedStretches(before, actions, target)


def _starts(ticks: int, past: int, length: int) -> list[int]:
    """Return where stretches of a run begin: five times a length, the last one at its end."""
    last = max(ticks - length, past)
    return sorted({*range(past, last, max(length // 5, 1)), last}) if ticks > past else []


def simulation_error(
    recurrence: Recurrence, weights: Array, stretches: SimulatedStretches
) -> float:
    """Return the mean squared error of the simulations; infinite where it is no number."""
    with np.errstate(over="ignore", invalid="ignore"):
        simulated = simulate(recurrence, weights, stretches.before, stretches.actions)
        missed = simulated - stretches.target
        error = float(np.mean(missed[np.isfinite(stretches.target)] ** 2))
    return error if np.isfinite(error) else float("inf")


def normal_equations(
    recurrence: Recurrence, weights: Array, stretches: SimulatedStretches
) -> NormalEquations:
    """Return error, gradient and J^T J of the simulations at weights (P, d_o)."""
    count, past, observed = stretches.before.shape
    inputs, size = len(weights), weights.size
    recent = stretches.before
    # By weights (p, o), of the last m observations: (N, m, d_o, P, d_o).
    carried = np.zeros((count, past, observed, inputs, observed))
    gradient, curvature, total = np.zeros(size), np.zeros((size, size)), 0.0
    each = np.arange(observed)
    for t in range(stretches.target.shape[1]):
        point = inputs_of(recurrence, recent, stretches.actions[:, t : t + past + 1])
        value = recent[:, -1] + point.inputs @ weights
        through = window_jacobian(recurrence, weights, point, past * observed)
        moves = (through @ carried.reshape(count, past * observed, size)).reshape(
            count, observed, inputs, observed
        )
        moves[:, each, :, each] += point.inputs
        bounded = recurrence.bounds(value)
        moves *= recurrence.bounds.strictly_inside(bounded)[:, :, None, None]
        missed = bounded - stretches.target[:, t]
        seen = np.isfinite(missed)
        error, by_weight = missed[seen], moves.reshape(count, observed, size)[seen]
        total += float(error @ error)
        gradient += error @ by_weight
        curvature += by_weight.T @ by_weight
        recent = np.concatenate([recent[:, 1:], bounded[:, None]], axis=1)
        carried = np.concatenate([carried[:, 1:], moves[:, None]], axis=1)
    number = max(int(np.isfinite(stretches.target).sum()), 1)
    return NormalEquations(total / number, gradient / number, curvature / number)
