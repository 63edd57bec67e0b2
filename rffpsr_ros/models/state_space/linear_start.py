"""Where learning starts: the best linear system, by subspace identification, and idle features.

A system as N4SID finds it, of n states, or one that integrates: N4SID then learns the changes of
the observations, and n states are followed by d_o more, the observations before a tick,

    p_{t+1} = o_t,   o_t = p_t + C x_t + D a_t + e_t

No feature sees them, nor do other states: the robot does the same wherever it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.models.kalman.model import KalmanParts
from rffpsr_ros.models.n4sid.learner import N4SID
from rffpsr_ros.models.state_space.directions import drawn_directions, with_telling_features
from rffpsr_ros.models.state_space.dynamics import SATURATING, StateSpace
from rffpsr_ros.models.state_space.sensitivities import moving_weights
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

REACH = 6.0
"""Squares and cubes see values within this."""


class Structure(NamedTuple):
    """What a system looks like before anything is learned."""

    order: int
    features: int
    saturating: bool
    """Features are tanh, else squares and cubes in turn."""
    integrating: bool
    drawn: int = 0
    """So many directions are drawn, of which features begin with those that tell most; at the least
    as many as there are features."""


def linear_start(
    runs: Sequence[Run],
    structure: Structure,
    past: int,
    bounds: Bounds,
    generator: np.random.Generator,
) -> StateSpace:
    """Return the start for standardised runs; the features have no weight yet.

    Raises
    ------
    InputError
        If no such linear system can be found.
    """
    shown = [trajectory_of(run, structure.integrating) for run in runs if len(run.actions) > 1]
    linear = _in_units(N4SID(past, past, structure.order).fit(shown).parts)
    states, acted = linear.action.shape
    observed = len(linear.output)
    integrators = observed if structure.integrating else 0
    total = states + integrators
    columns, features = total + acted + 1, structure.features
    transition = np.zeros((total, columns + features))
    output = np.zeros((observed, columns + features))
    drawn = np.zeros((max(features, structure.drawn), columns))
    seen = np.r_[:states, total:columns]  # columns of x, a, 1
    transition[:states, seen] = np.hstack([linear.transition, linear.action, linear.drift])
    output[:, seen] = np.hstack([linear.output, linear.feedthrough, linear.offset])
    drawn[:, seen] = drawn_directions(len(drawn), len(seen), generator)
    gain, start = np.zeros((total, observed)), np.zeros(total)
    gain[:states] = linear.gain
    if integrators:
        output[:, states:total] = np.eye(observed)
        transition[states:] = output
        gain[states:] = np.eye(observed)
        firsts = np.stack([run.observations[0] for run in runs])
        seen_first = np.isfinite(firsts).sum(axis=0)
        start[states:] = np.nansum(firsts, axis=0) / np.maximum(seen_first, 1)
    turns = 2.0 + np.arange(features) % 2
    powers = np.full(features, SATURATING) if structure.saturating else turns
    reach = np.full(features, np.inf if structure.saturating else REACH)
    adds_up = np.repeat([0.0, 1.0], [states, integrators])
    idle = drawn[:features]
    system = StateSpace(transition, output, idle, gain, start, powers, reach, adds_up, bounds)
    return with_telling_features(system, drawn, runs)


def trajectory_of(run: Run, changes: bool) -> Trajectory:
    """Return a standardised run, or its changes, as a trajectory."""
    if not changes:
        return Trajectory(run.observations, run.actions, 1.0)
    return Trajectory(np.diff(run.observations, axis=0), run.actions[1:], 1.0)


class _Linear(NamedTuple):
    """A linear system in the units of what it was learned from; states have variance 1."""

    transition: Array
    action: Array
    drift: Array  # (n, 1)
    output: Array
    feedthrough: Array
    offset: Array  # (d_o, 1)
    gain: Array


def _in_units(parts: KalmanParts) -> _Linear:
    system, seen, acted = parts.system, parts.observation_scaling, parts.action_scaling
    spread = np.sqrt(np.diag(system.start_covariance))
    size = np.where(spread > 0, spread, 1.0)[:, None]
    action = system.action / acted.deviation / size
    unit = seen.deviation[:, None]
    feedthrough = unit * system.feedthrough / acted.deviation
    return _Linear(
        system.transition * size.T / size,
        action,
        -(action @ acted.mean)[:, None],
        unit * system.output * size.T,
        feedthrough,
        (seen.mean - feedthrough @ acted.mean)[:, None],
        system.gain / seen.deviation / size,
    )


def with_unseen_actions(system: StateSpace, count: int) -> StateSpace:
    """Return the system with so many more actions, which nothing sees."""
    end = system.directions.shape[1] - 1  # before the constant

    def wider(seeing: Array) -> Array:
        return np.insert(seeing, [end] * count, 0.0, axis=1)

    return system._replace(
        transition=wider(system.transition),
        output=wider(system.output),
        directions=wider(system.directions),
    )


def free_weights(system: StateSpace) -> Array:
    """Return which weights (P,) are learned.

    Nothing sees the integrators but themselves, nor actions that are unseen.
    """
    integrators = np.flatnonzero(system.integrators)
    seen = np.concatenate(system[:2])[:, : system.directions.shape[1]].any(axis=0)
    unseen = np.flatnonzero(~(seen | system.directions.any(axis=0)))
    parts = [np.ones(part.shape, bool) for part in system[:3]]
    for seeing in parts:
        seeing[:, integrators] = False
        seeing[:, unseen[unseen >= system.states]] = False
    parts[0][integrators] = False  # the output, which is learned
    free = np.concatenate([part.ravel() for part in parts])
    assert free.shape == moving_weights(system).shape
    return free
