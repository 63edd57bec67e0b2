"""Parts of recorded data for training, validation and test: contiguous blocks of time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.recordings.trajectory import Trajectory


def split(
    trajectories: Sequence[Trajectory], fractions: Sequence[float]
) -> tuple[list[Trajectory], ...]:
    """Cut trajectories, laid end to end, into blocks of the given shares of all ticks.

    A trajectory that crosses a boundary is cut there, so parts share no tick and keep the order
    of time; no part joins two trajectories.

    Parameters
    ----------
    trajectories
        In the order of time.
    fractions
        Shares of the parts, such as (0.7, 0.1, 0.2); a sum below 1 leaves the end out.

    Returns
    -------
    tuple of list of Trajectory
        One list per fraction; empty where the share is 0 or less than a tick.

    Raises
    ------
    InputError
        If a fraction is negative or not finite, or they sum up to 0 or to more than 1.
    """
    check_split(fractions)
    ticks = sum(len(trajectory) for trajectory in trajectories)
    edges = [round(ticks * min(1.0, math.fsum(fractions[:i]))) for i in range(len(fractions) + 1)]
    return tuple(_block(trajectories, start, stop) for start, stop in pairwise(edges))


def check_split(fractions: Sequence[float]) -> None:
    """Refuse fractions that cannot be parts of a whole.

    Raises
    ------
    InputError
        As `split`.
    """
    total = math.fsum(fractions)
    if not all(fraction >= 0 for fraction in fractions) or not 0 < total <= 1 + 1e-9:
        listed = ", ".join(f"{fraction:g}" for fraction in fractions[:10])
        raise InputError(
            f"the split {listed} is wrong; it must be shares of at least 0 with a sum of at most 1,"
            " as in 0.7,0.1,0.2"
        )


def parse_split(text: str) -> tuple[float, ...]:
    """Read fractions as they are written on the command line: ``0.7,0.1,0.2``.

    Raises
    ------
    InputError
        If they are not numbers, or cannot be parts of a whole.
    """
    try:
        fractions = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError(
            f"the split {shown(text)} is wrong; it must be numbers with commas, as in 0.7,0.1,0.2"
        ) from None
    check_split(fractions)
    return fractions


def _block(trajectories: Sequence[Trajectory], start: int, stop: int) -> list[Trajectory]:
    block = []
    position = 0
    for trajectory in trajectories:
        first, last = max(start - position, 0), min(stop - position, len(trajectory))
        if first < last:
            whole = first == 0 and last == len(trajectory)
            block.append(trajectory if whole else trajectory.slice(first, last))
        position += len(trajectory)
    return block
