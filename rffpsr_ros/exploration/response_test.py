"""Does any observation respond to an action? A permutation test of each action channel.

How much of the observations' changes over a few ticks the channel's latest actions explain, against
what they explain of changes at other times.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.exploration.block_permutation import (
    Blocks,
    orthonormal_basis,
    share_explained,
)
from rffpsr_ros.numerics.arrays import Array

PERMUTATIONS = 199
CHANGE = 5
"""Ticks over which observations change."""
LAGS = 15
"""Actions that may have caused it, longer ago than most dead times."""


def response_p_values(runs: Sequence[Run], generator: np.random.Generator) -> Array:
    """Return for each action channel the chance (d_a,) of such a response if there were none.

    The response is linear, that of the most responsive observation. Runs are standardised. NaN
    where there are too few ticks.
    """
    rows = [_rows(run) for run in runs if len(run.actions) >= LAGS]
    channels = runs[0].actions.shape[1]
    blocks = Blocks.of([len(changes) for changes, _ in rows], 2 * LAGS)
    if blocks is None:
        return np.full(channels, np.nan)
    kept = [(changes[:n], acted[:n]) for (changes, acted), n in zip(rows, blocks.kept, strict=True)]
    changes = np.concatenate([part for part, _ in kept])
    changes = changes - changes.mean(axis=0)
    acted = np.concatenate([part for _, part in kept])  # (N, LAGS, d_a)
    bases = [orthonormal_basis(acted[:, :, channel], 1e-6) for channel in range(channels)]
    observed = np.array([share_explained(basis, changes).max() for basis in bases])
    at_least = np.zeros(channels)
    for _ in range(PERMUTATIONS):
        shuffled = changes[blocks.shuffled(generator)]
        at_least += [share_explained(basis, shuffled).max() for basis in bases] >= observed
    return np.asarray((1 + at_least) / (1 + PERMUTATIONS))


def _rows(run: Run) -> tuple[Array, Array]:
    """Return changes of observations (N, 3 d_o) and the actions (N, LAGS, d_a) up to each."""
    ticks = np.arange(LAGS - 1, len(run.actions))
    now, before = run.observations[ticks], run.observations[ticks - 1]
    # Over a few ticks a response stands out of noise, by its jerk out of a swing that goes on.
    jerk = now - 2 * before + run.observations[ticks - 2]
    changes = np.hstack([now - run.observations[ticks - CHANGE], now - before, jerk])
    acted = run.actions[ticks[:, None] - np.arange(LAGS)]
    complete = ~np.isnan(changes).any(axis=1)
    return changes[complete], acted[complete]
