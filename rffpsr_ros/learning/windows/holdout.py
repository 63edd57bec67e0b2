"""Data held out to judge choices by, when the user names no validation recordings."""

from __future__ import annotations

from collections.abc import Sequence

from rffpsr_ros.episodes.trajectory import Trajectory

WHOLE_FROM = 4
"""From so many trajectories on, whole ones are held out."""

FRACTION = 0.2


def hold_out(
    trajectories: Sequence[Trajectory], shortest: int
) -> tuple[list[Trajectory], list[Trajectory]]:
    """Return (train, validation): whole trajectories, or the last part of each.

    About a fifth is held out, spread evenly over the recordings' order. A trajectory's end is
    only cut off where it leaves at least ``shortest`` ticks on both sides; where that is possible
    nowhere, the training trajectories are also the validation ones.
    """
    if len(trajectories) >= WHOLE_FROM:
        every = round(1 / FRACTION)
        held = [i % every == every // 2 for i in range(len(trajectories))]
        return (
            [t for t, out in zip(trajectories, held, strict=True) if not out],
            [t for t, out in zip(trajectories, held, strict=True) if out],
        )
    train, validation = [], []
    for trajectory in trajectories:
        cut = round((1 - FRACTION) * len(trajectory))
        if min(cut, len(trajectory) - cut) < shortest:
            train.append(trajectory)
        else:
            train.append(trajectory.slice(0, cut))
            validation.append(trajectory.slice(cut, len(trajectory)))
    return train, validation or list(trajectories)
