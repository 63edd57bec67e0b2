"""Windows: the history before a tick and the extended future after it, never across two runs.

The paper's pair (history h_t, future o_{t:t+k-1} given a_{t:t+k-1}) and its extension by one tick
are cut from each run by sliding views; chunks of a fixed size keep memory independent of the
amount of data, and depend on the data only, never on who computes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.numerics.arrays import Array

CHUNK = 1024
"""Windows per chunk: large enough for matrix products, small enough for the cache's sake."""


class Windows(NamedTuple):
    """N windows around ticks t with n past and k + 1 extended future ticks.

    ``past_observations`` (N, n, d_o) and ``past_actions`` (N, n, d_a) hold o, a of t-n .. t-1;
    ``observations`` (N, k + 1, d_o) and ``actions`` (N, k + 1, d_a) those of t .. t+k.
    """

    past_observations: Array
    past_actions: Array
    observations: Array
    actions: Array

    def astype(self, dtype: type[np.floating]) -> Windows:
        """Return the same windows in another precision."""
        return Windows(*(part.astype(dtype) for part in self))

    @property
    def history(self) -> Array:
        """Return the history window h_t as rows (N, n (d_o + d_a))."""
        return flatten(self.past_observations, self.past_actions)

    @property
    def future_observations(self) -> Array:
        """Return o_{t:t+k-1} as rows (N, k d_o)."""
        return flatten(self.observations[:, :-1])

    @property
    def future_actions(self) -> Array:
        """Return a_{t:t+k-1} as rows (N, k d_a)."""
        return flatten(self.actions[:, :-1])

    @property
    def shifted_observations(self) -> Array:
        """Return o_{t+1:t+k} as rows (N, k d_o)."""
        return flatten(self.observations[:, 1:])

    @property
    def shifted_actions(self) -> Array:
        """Return a_{t+1:t+k} as rows (N, k d_a)."""
        return flatten(self.actions[:, 1:])


def flatten(*blocks: Array) -> Array:
    """Return blocks (N, ticks, d) side by side as rows (N, sum of ticks d)."""
    return np.concatenate([block.reshape(len(block), -1) for block in blocks], axis=1)


def count_windows(length: int, past: int, future: int) -> int:
    """Return how many windows a run of ``length`` ticks holds."""
    return max(0, length - past - future)


def complete_windows(observations: Array, past: int, future: int) -> NDArray[np.bool_]:
    """Return which of a run's windows (N,) miss no observation, given all of them (T, d_o)."""
    missing = np.isnan(observations).any(axis=1)
    before = np.concatenate([[0], np.cumsum(missing)])  # missing ticks before each tick
    length = past + future + 1
    return np.asarray(before[length:] == before[:-length])


def window_chunks(
    runs: Iterable[Run], past: int, future: int, chunk: int = CHUNK
) -> Iterator[Windows]:
    """Yield all windows without missing observations, in order, at most ``chunk`` at a time.

    Windows of short runs share a chunk.
    """
    waiting: list[Windows] = []
    room = chunk
    for run in runs:
        complete = complete_windows(run.observations, past, future)
        for start in range(0, len(complete), chunk):
            here = complete[start : start + chunk]
            windows = _cut(run, start, start + len(here), past, future)
            if not here.all():
                windows = Windows(*(part[here] for part in windows))
            if len(windows.actions) > room:
                yield joined_windows(waiting)
                waiting, room = [], chunk
            if len(windows.actions):
                waiting.append(windows)
                room -= len(windows.actions)
    if waiting:
        yield joined_windows(waiting)


def chunks_of(windows: Windows, chunk: int = CHUNK) -> list[Windows]:
    """Return windows in chunks of at most ``chunk``."""
    return [
        Windows(*(part[start : start + chunk] for part in windows))
        for start in range(0, len(windows.actions), chunk)
    ]


def joined_windows(parts: Sequence[Windows]) -> Windows:
    """Return windows one after the other."""
    if len(parts) == 1:
        return parts[0]
    return Windows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def first_windows(runs: Sequence[Run], future: int) -> tuple[Array, Array]:
    """Return the runs' first futures o_{1:k}, a_{1:k} as rows (N, k d_o) and (N, k d_a)."""
    complete = [
        run
        for run in runs
        if len(run.observations) >= future and not np.isnan(run.observations[:future]).any()
    ]
    return (
        np.array([run.observations[:future].ravel() for run in complete]),
        np.array([run.actions[:future].ravel() for run in complete]),
    )


def _cut(run: Run, start: int, stop: int, past: int, future: int) -> Windows:
    """Return windows number ``start`` to ``stop`` (half-open) of one run."""
    length = past + future + 1
    span = slice(start, stop + length - 1)
    # sliding_window_view puts the window axis last; bring it before the columns.
    observations = sliding_window_view(run.observations[span], length, axis=0).swapaxes(1, 2)
    actions = sliding_window_view(run.actions[span], length, axis=0).swapaxes(1, 2)
    return Windows(
        observations[:, :past], actions[:, :past], observations[:, past:], actions[:, past:]
    )
