"""A subsample of recordings that does not grow with them.

The two stages sum over every window. What follows them - the predictor's regression, refinement,
the filter monitor, validation - uses the same ticks again and again, and a subsample serves it as
well as hours of recordings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.recordings.trajectory import Trajectory

SUBSAMPLE = 100_000
"""Ticks of a subsample, at the most."""

STRETCH = 2000
"""Ticks of a stretch taken from a long recording."""


def subsample(
    trajectories: Sequence[Trajectory],
    generator: np.random.Generator,
    workers: Workers = THIS_PROCESS,
) -> list[Trajectory]:
    """Return trajectories in memory; of more than `SUBSAMPLE` ticks, random stretches, in order.

    Short recordings are stretches of their own, so their beginnings are among the beginnings.
    """
    chosen = list(trajectories)
    if sum(map(len, trajectories)) > SUBSAMPLE:
        stretches = [
            trajectory.slice(start, min(start + STRETCH, len(trajectory)))
            for trajectory in trajectories
            for start in range(0, len(trajectory), STRETCH)
        ]
        order = generator.permutation(len(stretches))
        ticks = np.cumsum([len(stretches[i]) for i in order])
        chosen = [stretches[i] for i in np.sort(order[ticks <= SUBSAMPLE])]
    # What is stored on a worker is read there.
    stored = [t for t in chosen if type(t) is not Trajectory]
    read = iter(workers.map(_load, stored))
    return [t if type(t) is Trajectory else next(read) for t in chosen]


def _load(trajectory: Trajectory) -> Trajectory:
    return trajectory.loaded()


ItemT = TypeVar("ItemT")


def evenly_spread(items: Sequence[ItemT], most: int) -> list[ItemT]:
    """Return all items, or ``most`` of them, evenly spread, if there are more."""
    if len(items) <= most:
        return list(items)
    return [items[i] for i in np.linspace(0, len(items) - 1, most).round().astype(int)]
