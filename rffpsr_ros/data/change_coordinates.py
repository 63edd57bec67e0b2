"""Windows seen as where a signal is and how it has moved: the newest value, and changes per tick.

A fast sampled signal hardly differs from one tick to the next. In raw lags, its motion
lies in directions a hundred times shorter than the others, which random frequencies of one
length hardly resolve. In these coordinates each change has the size of its usual change.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.numerics.arrays import Array

ROUNDING = 1e-5
"""Of sums that would be 0, relative to what they are of."""

LEAST_CHANGE = 1e-6
"""Less than this, in standard units, is rounding and not a change."""


def usual_changes(runs: Sequence[Run]) -> Array:
    """Return the root mean square (d_o,) of observations' changes from one tick to the next."""
    changes = np.concatenate([np.diff(run.observations, axis=0) for run in runs])
    usual = np.sqrt(np.nanmean(changes**2, axis=0))
    return np.asarray(np.maximum(usual, LEAST_CHANGE))


def change_map(past: int, changes: Array, acted: int, changes_only: Sequence[int] = ()) -> Array:
    """Return T (d, d) that takes a window [last m observations, m + 1 actions] to its coordinates.

    They are, for m = ``past``, the m - 1 changes from tick to tick in units of ``changes`` (d_o,),
    the newest observation, and the actions as they are. Of the columns ``changes_only`` the newest
    observation counts as 0.
    """
    observed = len(changes)
    size = past * observed
    whole = np.eye(size + (past + 1) * acted)
    for tick in range(past - 1):
        here = np.arange(tick * observed, (tick + 1) * observed)
        whole[here, here] = -1 / changes
        whole[here, here + observed] = 1 / changes
    whole[size - observed + np.array(changes_only, dtype=int)] = 0.0
    return whole


def changes_alone(directions: Array, past: int, observed: int) -> tuple[int, ...]:
    """Return the columns of which directions (D, d) of windows of m ticks see changes alone.

    Their numbers for such a column add up to 0 over the ticks.
    """
    lags = directions[:, : past * observed].reshape(len(directions), past, observed)
    left, size = np.abs(lags.sum(axis=1)), np.abs(lags).sum(axis=1)
    return tuple(np.flatnonzero((left <= ROUNDING * size).all(axis=0)).tolist())
