"""The ticks before a tick: windows for regressions of an observation on what precedes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.windows import CHUNK
from rffpsr_ros.numerics.arrays import Array


class TickWindows(NamedTuple):
    """What precedes N ticks, the first tick's values before a run's start, and their targets."""

    observations: Array  # (N, past, d_o)
    actions: Array  # (N, past + 1, d_a)
    target: Array  # (N, d_o)


def tick_windows(run: Run, past: int, ticks: Array) -> TickWindows:
    """Return the windows that precede the chosen ticks (N,) of a run."""
    before = np.maximum(ticks[:, None] + np.arange(-past, 0), 0)
    through = np.maximum(ticks[:, None] + np.arange(-past, 1), 0)
    return TickWindows(run.observations[before], run.actions[through], run.observations[ticks])


def tick_chunks(ticks: Array) -> Iterator[Array]:
    """Yield ticks (N,) in chunks, so that their windows need not all be held."""
    for start in range(0, len(ticks), CHUNK):
        yield ticks[start : start + CHUNK]


def settled_ticks(seen: Array, past: int) -> Array:
    """Return the ticks of a run that were seen, and all ``past`` ticks before them.

    ``seen`` (T, d_o) says what was observed. The values assumed before a run's start would bias the
    regression; only runs so short that hardly a whole window fits into them are used from their
    start.
    """
    complete = np.asarray(seen.all(axis=1))
    before = np.full(past, len(seen) < 2 * past)
    padded = np.concatenate([before, complete])
    whole = np.lib.stride_tricks.sliding_window_view(padded, past + 1).all(axis=1)
    return np.flatnonzero(whole)


def newest_ticks(past: int, observations: Array, actions: Array) -> tuple[Array, Array]:
    """Return the last ``past`` observations, and actions with the tick's own, as rows each."""
    skip = observations.shape[1] - past
    return (
        observations[:, skip:].reshape(len(observations), -1),
        actions[:, skip:].reshape(len(actions), -1),
    )
