"""An input-output hidden Markov model by expectation maximisation: what two stages do without.

Baum and Welch's algorithm (Baum et al. 1970) with actions: from random tables it climbs the
likelihood to whatever maximum is near. All restarts climb side by side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.known_systems import IOHMM
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

FLOOR = 1e-12
"""Least expected count of a cell: none becomes impossible for ever."""


class Tables(NamedTuple):
    """The tables of R models of the form of `IOHMM`, a leading axis more."""

    transition: Array  # (R, S, A, S')
    observation: Array  # (R, S, A, O)
    start: Array  # (R, S)

    def model(self, number: int) -> IOHMM:
        """Return one of the models."""
        return IOHMM(*(part[number] for part in self))


def random_tables(seed: int, restarts: int, states: int, actions: int, observations: int) -> Tables:
    """Return tables whose rows are drawn from the uniform distribution over distributions."""
    draw = np.random.default_rng(seed)
    rows = restarts, states, actions
    return Tables(
        draw.dirichlet(np.ones(states), rows),
        draw.dirichlet(np.ones(observations), rows),
        draw.dirichlet(np.ones(states), restarts),
    )


def expectation_maximisation(
    run: Trajectory, tables: Tables, iterations: int
) -> tuple[Tables, Array]:
    """Return the tables after so many iterations, and log likelihoods a tick (iterations, R)."""
    acted, seen = run.actions[:, 0].astype(int), run.observations[:, 0].astype(int)
    history = []
    for _ in range(iterations):
        tables, likelihood = _iteration(acted, seen, tables)
        history.append(likelihood)
    return tables, np.array(history)


def _iteration(acted: Array, seen: Array, tables: Tables) -> tuple[Tables, Array]:
    ticks, restarts = len(acted), len(tables.start)
    shown = tables.observation[:, :, acted, seen].transpose(2, 0, 1)  # (T, R, S)
    led = tables.transition[:, :, acted].transpose(2, 0, 1, 3)  # (T, R, S, S')
    # Scaled forward pass: beliefs before each tick, and after its symbol was seen.
    updated = np.empty(shown.shape)
    scale = np.empty((ticks, restarts))
    belief = tables.start
    for t in range(ticks):
        joint = belief * shown[t]
        scale[t] = joint.sum(axis=1)
        updated[t] = joint / scale[t][:, None]
        belief = (updated[t][:, None] @ led[t])[:, 0]
    # Backward: how likely what follows tick t is from each state after it, in units of scales.
    later = np.ones(tables.start.shape)
    counts = [np.full(part.shape, FLOOR) for part in tables]
    transitions, observations, _ = counts
    first = tables.start
    for t in range(ticks - 1, -1, -1):
        pairs = updated[t][:, :, None] * led[t] * later[:, None]
        transitions[:, :, acted[t]] += pairs
        there = pairs.sum(axis=2)
        observations[:, :, acted[t], seen[t]] += there
        first = there
        later = shown[t] * (led[t] @ later[:, :, None])[:, :, 0] / scale[t][:, None]
    parts = (transitions, observations, first + FLOOR)
    renewed = Tables(*(part / part.sum(axis=-1, keepdims=True) for part in parts))
    return renewed, np.asarray(np.log(scale).mean(axis=0))
