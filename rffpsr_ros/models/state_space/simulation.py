"""Simulations of a nonlinear system, side by side, and their error.

Tick by tick goes only what follows from the tick before: what actions add to it is computed for all
ticks at once, and so is all that is made of it afterwards.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.models.state_space.dynamics import HOLD, StateSpace, feature_map, placed
from rffpsr_ros.models.state_space.stretches import Stretches
from rffpsr_ros.numerics.arrays import Array


class Simulation(NamedTuple):
    """N simulations of T ticks."""

    states: Array  # x (T + 1, N, n): before each tick, and after the last one
    seen: Array  # v (T, N, f)
    features: Array  # s (T, N, f)
    expected: Array  # (T, N, d_o), within bounds


def simulate(system: StateSpace, stretches: Stretches, starts: Array) -> Simulation:
    """Return the simulations from states ``starts`` (N, n), corrected where stretches are."""
    ticks, count, _ = stretches.actions.shape
    linear, size = system.directions.shape[1], len(system.directions)
    moved = slice(size, size + system.states)
    both = np.concatenate([system.transition, system.output])
    by_input = np.concatenate([system.directions, both[:, :linear]]).T
    by_state, by_feature = by_input[: system.states], both[:, linear:].T
    given = np.concatenate([stretches.actions, np.ones((ticks, count, 1))], axis=2)
    sums = given @ by_input[system.states :]  # of v, the next state and what is expected
    features = feature_map(system)
    states, found = np.empty((ticks + 1, *starts.shape)), np.empty((ticks, count, size))
    states[0] = starts
    corrected = np.any(stretches.corrected, axis=1).tolist()
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(ticks):
            tick, following = sums[t], states[t + 1]
            tick += states[t] @ by_state
            found[t] = features(tick[:, :size])
            tick[:, size:] += found[t] @ by_feature
            np.maximum(tick[:, moved], -HOLD, out=following)
            np.minimum(following, HOLD, out=following)
            if corrected[t]:
                missed = system.bounds(tick[:, moved.stop :]) - stretches.observations[t]
                following -= _told(missed, stretches.corrected[t]) @ system.gain.T
    return Simulation(states, sums[..., :size], found, system.bounds(sums[..., moved.stop :]))


def simulation_error(
    system: StateSpace, stretches: Stretches, starts: Array | None = None
) -> float:
    """Return the mean squared error of the simulations; infinite where it is no number.

    They begin with states ``starts`` (N, n), or as an episode does.
    """
    total = float(_summed_by_stretch(system, stretches, starts).sum())
    error = total / max(int(stretches.counted.sum()), 1)
    return error if np.isfinite(error) else float("inf")


def errors_by_stretch(system: StateSpace, stretches: Stretches) -> Array:
    """Return the mean squared error of each simulation (N,); infinite where it is no number."""
    errors = _summed_by_stretch(system, stretches)
    errors /= np.maximum(stretches.counted.sum(axis=(0, 2)), 1)
    return np.nan_to_num(errors, nan=np.inf)


def first_states(system: StateSpace, stretches: Stretches) -> Array:
    """Return the states (N, n) that stretches begin with, as an episode does."""
    start = np.tile(system.start, (stretches.actions.shape[1], 1))
    if not len(stretches.actions):
        return start
    first = stretches.observations[0]
    return placed(system, start, first, np.zeros_like(first, bool))


def _summed_by_stretch(
    system: StateSpace, stretches: Stretches, starts: Array | None = None
) -> Array:
    """Return the sum of squared errors of each simulation (N,)."""
    begun = first_states(system, stretches) if starts is None else starts
    missed = simulate(system, stretches, begun).expected
    missed -= stretches.observations
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.sum(missed**2, axis=(0, 2), where=stretches.counted))


def _told(missed: Array, corrected: Array) -> Array:
    """Return what is missed (N, d_o), 0 where nothing was seen or nothing is corrected (N,)."""
    return np.where(np.isfinite(missed) & corrected[:, None], missed, 0.0)
