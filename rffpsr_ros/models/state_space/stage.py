"""A stage of learning: simulations of one length, learned from stretches of recordings.

Of long recordings a step learns from some stretches only, and what suits these may go astray where
a robot seldom goes: what was learned is checked on all, and where it misses far more there than on
those that it was learned from, the worst join them, and it is learned on.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.models.state_space.dynamics import StateSpace
from rffpsr_ros.models.state_space.free_starts import FreeStarts, found_starts
from rffpsr_ros.models.state_space.gains import best_gain, motion
from rffpsr_ros.models.state_space.linear_start import free_weights
from rffpsr_ros.models.state_space.simulation import errors_by_stretch
from rffpsr_ros.models.state_space.stretches import (
    SETTLING,
    FreeStretches,
    Stretches,
    cut_free_stretches,
    cut_stretches,
)
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.gauss_newton import Effort, descend
from rffpsr_ros.numerics.levenberg_marquardt import DampingRule

LENGTHS = (50, 200, 800, 3200, 12800)
"""Ticks of the simulations that each stage learns from."""

EFFORTS = (Effort(8, 1e-2), *[Effort(20, 3e-3)] * (len(LENGTHS) - 1))
"""Steps of each stage."""

START_EFFORT = Effort(5, 0.1)
"""Steps of first states alone."""

FOLLOWED = 50
"""Ticks of the simulations that the gain is learned from."""

RULE = DampingRule(first=1e-2, easier=0.2, harder=4.0, failures=7)

RIDGE = 1e-5
"""Penalty on the distance to where a stage started, relative to the error there."""

LEAST_TICKS, MOST_TICKS = 4000, 32000
"""Ticks that a step learns from, at the least and at the most, if there are so many."""

PRODUCTS = 4e8
"""Ticks times the square of the weights, about: the time of a step."""

CHECKED_TICKS = 64000
"""Ticks that what was learned is checked on, if there are so many."""

ROUNDS = 3
"""Times that a stage is learned, each with more stretches than the last, at the most."""

MISSED_ELSEWHERE = 1.5
"""All stretches may be missed by so many times what those are that were learned from."""

ASTRAY = 10.0
"""With so many times the error of before, on all stretches, what was learned is of no use."""


def learned(system: StateSpace, runs: Sequence[Run], stage: int) -> StateSpace:
    """Return the system after a stage."""
    free = free_weights(system)
    length, size = LENGTHS[stage], int(free.sum())
    count = max(CHECKED_TICKS // length, 4)
    every = cut_free_stretches(runs, length, count)
    followed = cut_stretches(runs, FOLLOWED, _most(size, FOLLOWED))
    if not (every.simulated.counted.any() and followed.counted.any()):
        return system
    most = _most(size, length)
    chosen = np.array(evenly_spread(range(len(every.first)), most))
    checked = cut_stretches(runs, length, count, at_start=SETTLING)  # the same places
    best, least = system, ASTRAY * errors_by_stretch(system, checked).mean()
    for turn in range(ROUNDS):
        first = stage + turn == 0
        found = _learned_from(system, free, every.only(chosen), followed, EFFORTS[stage], first)
        missed = errors_by_stretch(found, checked)
        if missed.mean() <= ASTRAY * least:
            system = found
        if missed.mean() <= least:
            best, least = found, missed.mean()
        if missed.mean() <= MISSED_ELSEWHERE * missed[chosen].mean():
            break
        chosen = np.union1d(chosen, np.argsort(missed)[-(most // 2) :])
    return best


def _learned_from(
    system: StateSpace,
    free: Array,
    stretches: FreeStretches,
    followed: Stretches,
    effort: Effort,
    first: bool,
) -> StateSpace:
    """Return the system learned from stretches: what it does, and then how it is followed.

    Together they hinder each other: the gain answers for what the system does not know yet. Of a
    system that integrates first states are found alone at first: N4SID's gain finds a speed too
    slowly. Elsewhere they would answer for what the system does not know yet.
    """
    starts = found_starts(system, stretches)
    turns = [(free, effort)]
    if system.integrators.any() and first:
        turns.insert(0, (np.zeros_like(free), START_EFFORT))
    for which, effort in turns:
        problem = FreeStarts(system, which, stretches.simulated)
        point = problem.point(starts)
        error = problem.error(point)
        if not np.isfinite(error):
            return system
        weights = len(point) - starts.size
        ridges = np.r_[np.ones(weights), np.full(starts.size, 1 / len(starts))]
        found = descend(problem, point, RIDGE * error * ridges, point, effort, RULE)
        system, starts = problem.split(found)
    if stretches.first.any():
        system = system._replace(start=starts[stretches.first].mean(axis=0))
    return best_gain(system, motion(system, starts, stretches.simulated), followed, RULE)


def _most(size: int, length: int) -> int:
    """Return how many stretches of a length weights of that size are learned from, at the most."""
    ticks = min(max(PRODUCTS / size**2, LEAST_TICKS), MOST_TICKS)
    return max(round(ticks / length), 4)
