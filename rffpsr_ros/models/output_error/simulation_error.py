"""The simulation error and how it depends on the weights: what Gauss-Newton steps need.

Least squares on one step ahead says little about a thousand steps: noise in the window pulls the
slow modes towards zero, and what a step misses adds up. Here the derivative of every simulated
observation by every weight is carried along with the simulation (Ljung 1999, output-error models).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

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
    """Return error, gradient and J^T J of the simulations at weights (P, d_o).

    Only how a tick's observations depend on those before follows tick by tick: all else is computed
    for all ticks at once.
    """
    count, past, observed = stretches.before.shape
    size = weights.size
    simulated = simulate(recurrence, weights, stretches.before, stretches.actions)
    inputs, through = _dependence(recurrence, weights, stretches, simulated)
    ticks = simulated.shape[1]
    # By weights (p, o), of all observations: first those of the ticks before, which depend on none.
    moves = np.zeros((count, past + ticks, observed, len(weights), observed))
    each = np.arange(observed)
    inside = recurrence.bounds.strictly_inside(simulated)
    moves[:, past:, each, :, each] = inputs * inside.transpose(2, 0, 1)[..., None]
    through *= inside[..., None]
    rows = moves.reshape(count, -1, size)
    for t in range(ticks):
        before, now, after = ((t + k) * observed for k in (0, past, past + 1))
        rows[:, now:after] += through[:, t] @ rows[:, before:now]
    missed = simulated - stretches.target
    seen = np.isfinite(missed)
    error, by_weight = missed[seen], rows.reshape(*moves.shape[:3], size)[:, past:][seen]
    number = max(int(np.isfinite(stretches.target).sum()), 1)
    return NormalEquations(
        float(error @ error) / number, error @ by_weight / number, by_weight.T @ by_weight / number
    )


def _dependence(
    recurrence: Recurrence, weights: Array, stretches: SimulatedStretches, simulated: Array
) -> tuple[Array, Array]:
    """Return inputs (N, L, P) of all ticks, and derivatives (N, L, d_o, m d_o) by those before."""
    count, past, observed = stretches.before.shape
    known = np.concatenate([stretches.before, simulated[:, :-1]], axis=1)
    recent, acted = (
        sliding_window_view(values, length, axis=1).swapaxes(2, 3)
        for values, length in ((known, past), (stretches.actions, past + 1))
    )
    ticks = simulated.shape[1]
    point = inputs_of(
        recurrence,
        recent.reshape(count * ticks, past, observed),
        acted.reshape(count * ticks, past + 1, -1),
    )
    through = window_jacobian(recurrence, weights, point, past * observed)
    return point.inputs.reshape(count, ticks, -1), through.reshape(count, ticks, observed, -1)
