"""Folds: what is learned from and what is held out to judge by, in turn or once.

Whole recordings where there are enough; else recordings are cut. Every learner that holds out does
it by these functions.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from rffpsr_ros.data.summary import Columns
from rffpsr_ros.errors import InputError
from rffpsr_ros.parallel.workers import merged
from rffpsr_ros.recordings.trajectory import Trajectory

ItemT = TypeVar("ItemT")


class Fold(NamedTuple):
    """What to learn from, and what to judge by."""

    train: list[Trajectory]
    held_out: list[Trajectory]


def in_turn(items: Sequence[ItemT], count: int) -> list[tuple[list[ItemT], list[ItemT]]]:
    """Return ``count`` pairs (kept, held out): in each another one of every ``count`` items."""
    return [
        (
            [item for i, item in enumerate(items) if i % count != fold],
            [item for i, item in enumerate(items) if i % count == fold],
        )
        for fold in range(count)
    ]


def pieces_of(trajectory: Trajectory, count: int) -> list[Trajectory]:
    """Return a trajectory cut into ``count`` pieces of equal length, to a tick."""
    return list(itertools.starmap(trajectory.slice, _cuts(len(trajectory), count)))


def _cuts(length: int, count: int) -> list[tuple[int, int]]:
    """Return where each of ``count`` pieces of equal length begins and ends (half-open)."""
    return [(length * i // count, length * (i + 1) // count) for i in range(count)]


def folds(
    trajectories: Sequence[Trajectory],
    count: int,
    shortest: int,
    whole_from: int | None = None,
    rounds: int = 1,
    lasting: int = 1,
    changing: bool = False,
) -> list[Fold]:
    """Return ``count`` folds of whole trajectories, or of parts of a few.

    Of ``whole_from`` trajectories (as many as folds) or more, every ``count``-th goes into the
    same fold. Fewer are cut into ``count`` parts each, where a part has at least ``shortest``
    ticks; what lies before and after the part held out are then two trajectories, so that nothing
    spans the gap. A long trajectory is so cut up to ``rounds`` times in a row, which spreads a
    fold over it, as long as parts keep ``lasting`` ticks. If folds are ``changing``, each holds out
    the part before that of the round before: where a robot does the same again and again, every
    fold so holds out something of everything.

    Raises
    ------
    InputError
        If there are too few trajectories and all of them are too short to be cut.
    """
    cut = max(map(len, trajectories), default=0) >= count * shortest
    few = len(trajectories) < (whole_from or count)
    if len(trajectories) >= count and not (few and cut):
        return list(itertools.starmap(Fold, in_turn(trajectories, count)))
    if not cut:
        raise InputError(
            f"{count} folds need {count} trajectories, or one of at least {count * shortest}"
            f" ticks to cut; there are {len(trajectories)}, the longest of"
            f" {max(map(len, trajectories), default=0)} ticks"
        )
    return [
        _parts(trajectories, fold, count, shortest, rounds, lasting, changing)
        for fold in range(count)
    ]


def _parts(
    trajectories: Sequence[Trajectory],
    fold: int,
    count: int,
    shortest: int,
    rounds: int,
    lasting: int,
    changing: bool,
) -> Fold:
    """Hold out the same parts of every trajectory that is long enough."""
    train, held_out = [], []
    for trajectory in trajectories:
        possible = len(trajectory) // (count * shortest)
        pieces = count * min(rounds, possible, max(len(trajectory) // (count * lasting), 1))
        kept_from = 0
        for place, (first, last) in enumerate(_cuts(len(trajectory), pieces)):
            turn = place // count if changing else 0
            if (place + turn) % count != fold:
                continue
            if first > kept_from:
                train.append(trajectory.slice(kept_from, first))
            held_out.append(trajectory.slice(first, last))
            kept_from = last
        if kept_from < len(trajectory):
            train.append(trajectory.slice(kept_from, len(trajectory)))
    return Fold(train, held_out)


def with_every_column(part: Fold) -> Fold:
    """Return the fold with what alone lets a column vary moved to what is learned from.

    Of a gripper that was opened once, or a load that one recording carried, nothing could be
    learned otherwise, and so nothing judged.
    """
    kept, held_out = list(part.train), list[Trajectory]()
    known = merged(map(_columns, kept))
    for run in part.held_out:
        together = _columns(run)
        together.merge(known)
        if np.any(known.still() & ~together.still()):
            kept.append(run)
            known = together
        else:
            held_out.append(run)
    return Fold(kept, held_out) if held_out else part


def _columns(run: Trajectory) -> Columns:
    return Columns.of(np.column_stack([run.observations, run.actions]))


WHOLE_FROM = 4
"""From so many trajectories on, whole ones are held out."""

FRACTION = 0.2
"""Of the ticks, held out once, about."""


def hold_out(trajectories: Sequence[Trajectory], shortest: int) -> Fold:
    """Return what to learn from and what to judge by: whole trajectories, or the last part of each.

    About a fifth is held out, spread evenly over the recordings' order. A trajectory's end is
    only cut off where it leaves at least ``shortest`` ticks on both sides; where that is possible
    nowhere, the training trajectories are also the validation ones.
    """
    if len(trajectories) >= WHOLE_FROM:
        every = round(1 / FRACTION)
        return Fold(*in_turn(trajectories, every)[every // 2])
    train, validation = [], []
    for trajectory in trajectories:
        cut = round((1 - FRACTION) * len(trajectory))
        if min(cut, len(trajectory) - cut) < shortest:
            train.append(trajectory)
        else:
            train.append(trajectory.slice(0, cut))
            validation.append(trajectory.slice(cut, len(trajectory)))
    return Fold(train, validation or list(trajectories))
