"""Folds of recordings: every tick is judged once by a model that has not learned from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rffpsr_ros.episodes.trajectory import Trajectory
from rffpsr_ros.errors import InputError


class Fold(NamedTuple):
    """What to learn from, and what to judge by."""

    train: list[Trajectory]
    held_out: list[Trajectory]


def folds(trajectories: Sequence[Trajectory], count: int, shortest: int) -> list[Fold]:
    """Return ``count`` folds of whole trajectories, or of consecutive parts of a few.

    Of as many trajectories as folds or more, every ``count``-th goes into the same fold. Fewer
    are cut into ``count`` parts each, where a part has at least ``shortest`` ticks; what lies
    before and after the part held out are then two trajectories, so that nothing spans the gap.

    Raises
    ------
    InputError
        If there are too few trajectories and all of them are too short to be cut.
    """
    if len(trajectories) >= count:
        return [
            Fold(
                [t for i, t in enumerate(trajectories) if i % count != fold],
                [t for i, t in enumerate(trajectories) if i % count == fold],
            )
            for fold in range(count)
        ]
    if max(map(len, trajectories), default=0) < count * shortest:
        raise InputError(
            f"{count} folds need {count} trajectories, or one of at least {count * shortest}"
            f" ticks to cut; there are {len(trajectories)}, the longest of"
            f" {max(map(len, trajectories), default=0)} ticks"
        )
    return [_parts(trajectories, fold, count, shortest) for fold in range(count)]


def _parts(trajectories: Sequence[Trajectory], fold: int, count: int, shortest: int) -> Fold:
    """Hold out the same part of every trajectory that is long enough."""
    train, held_out = [], []
    for trajectory in trajectories:
        ticks = len(trajectory)
        if ticks < count * shortest:
            train.append(trajectory)
            continue
        first, last = ticks * fold // count, ticks * (fold + 1) // count
        held_out.append(trajectory.slice(first, last))
        train += [
            trajectory.slice(start, stop)
            for start, stop in ((0, first), (last, ticks))
            if stop > start
        ]
    return Fold(train, held_out)
