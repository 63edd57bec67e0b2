"""What a model misses on recordings that it has not learned from, block by block."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import errors_by_origin, targets_by_origin
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

JUDGED_TICKS = 200
"""Held-out recordings are judged in blocks of so many ticks, each a group of its own."""

JUDGED_BLOCKS = 24
"""Blocks of a fold that are judged, at the most."""


def judged_blocks(held_out: Sequence[Trajectory]) -> list[Trajectory]:
    """Return what models are judged on: whole recordings, or evenly spread blocks of long ones."""
    blocks = []
    for trajectory in held_out:
        count = max(1, len(trajectory) // JUDGED_TICKS)
        edges = [len(trajectory) * block // count for block in range(count + 1)]
        blocks += [trajectory.slice(first, last) for first, last in itertools.pairwise(edges)]
    return evenly_spread(blocks, JUDGED_BLOCKS)


def held_out_errors(
    model: PredictiveModel[Any], blocks: Sequence[Trajectory], past: int, horizon: int
) -> list[Array]:
    """Return a group of errors (n, H, d_o) for each block that is long enough to have any."""
    return [
        errors_by_origin(model, block, horizon, _settled(block, past))
        for block, _ in held_out_targets(blocks, past, horizon)
    ]


def held_out_targets(
    blocks: Sequence[Trajectory], past: int, horizon: int
) -> Iterator[tuple[Trajectory, Array]]:
    """Yield the blocks that are long enough, and what models are judged by, (n, H, d_o) each."""
    for block in blocks:
        came = targets_by_origin(block, horizon, _settled(block, past))
        if len(came):
            yield block, came


def _settled(block: Trajectory, past: int) -> int:
    """Return the first origin that counts: after the past, or a quarter of a short block."""
    return min(past, len(block) // 4)
