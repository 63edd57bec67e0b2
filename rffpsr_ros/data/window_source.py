"""Windows of recordings, summed over block by block: memory does not grow with the recordings.

A block is a few stretches of recordings, cut by the recordings' lengths alone, each with the ticks
that its last windows need. A worker reads its block, forms the windows chunk by chunk and
returns sums; blocks are merged in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from rffpsr_ros.data.scaling import Run, Scaling, standardise
from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.data.windows import (
    CHUNK,
    Windows,
    complete_windows,
    count_windows,
    first_windows,
    joined_windows,
    window_chunks,
)
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.workers import (
    THIS_PROCESS,
    SumT,
    Workers,
    grouped,
    merged,
    merged_or_none,
)
from rffpsr_ros.recordings.trajectory import Trajectory

BLOCK = 16 * CHUNK
"""Windows per block: enough that handing it to another process costs little beside the work."""

STARTS = 10_000
"""Beginnings of recordings that the initial state is learned from, at the most."""


class Recording(Protocol):
    """A standardised recording, or a stretch of one, that is read when asked for."""

    @property
    def ticks(self) -> int:
        """Number of ticks."""
        ...

    def cut(self, start: int, stop: int) -> Recording:
        """Return the stretch of ticks ``start`` to ``stop`` (half-open)."""
        ...

    def read(self) -> Run:
        """Return the ticks."""
        ...


class RunInMemory(NamedTuple):
    """A run that is in memory."""

    run: Run

    @property
    def ticks(self) -> int:
        """Number of ticks."""
        return len(self.run.actions)

    def cut(self, start: int, stop: int) -> RunInMemory:
        """Return the stretch of ticks ``start`` to ``stop`` (half-open)."""
        return RunInMemory(Run(*(rows[start:stop] for rows in self.run)))

    def read(self) -> Run:
        """Return the ticks."""
        return self.run


class StandardisedRecording(NamedTuple):
    """A trajectory, read and standardised when asked for."""

    trajectory: Trajectory
    observation_scaling: Scaling
    action_scaling: Scaling

    @property
    def ticks(self) -> int:
        """Number of ticks."""
        return len(self.trajectory)

    def cut(self, start: int, stop: int) -> StandardisedRecording:
        """Return the stretch of ticks ``start`` to ``stop`` (half-open)."""
        return self._replace(trajectory=self.trajectory.slice(start, stop))

    def read(self) -> Run:
        """Return the ticks."""
        return standardise([self.trajectory], *self[1:])[0]


Block = Sequence[Recording]


@dataclass(frozen=True)
class WindowSource:
    """The windows of recordings with ``past`` and ``future`` ticks, and the workers on them."""

    recordings: Sequence[Recording]
    past: int
    future: int
    workers: Workers = THIS_PROCESS

    @classmethod
    def of_runs(cls, runs: Iterable[Run], past: int, future: int) -> WindowSource:
        """Return the windows of runs that are in memory."""
        return cls([RunInMemory(run) for run in runs], past, future)

    @property
    def count(self) -> int:
        """Number of windows, those with missing observations included."""
        return sum(self._windows_of(recording) for recording in self.recordings)

    def _windows_of(self, recording: Recording) -> int:
        return count_windows(recording.ticks, self.past, self.future)

    def blocks(self) -> list[Block]:
        """Return the blocks, in order; one begins where the next window would overfill the last."""
        stretches = []
        for recording in self.recordings:
            count = self._windows_of(recording)
            for start in range(0, count, BLOCK):
                stop = min(start + BLOCK, count) + self.past + self.future
                stretches.append(recording.cut(start, stop))
        return grouped(stretches, self._windows_of, BLOCK)

    def total(self, work: Callable[[Windows], SumT]) -> SumT:
        """Return the sum of a function's results over all chunks of windows.

        At least one window must be complete.
        """
        task = _BlockSum(work, self.past, self.future)
        total: SumT = merged(self.workers.map(task, self.blocks()))
        return total

    def sample(self, count: int, generator: np.random.Generator) -> Windows:
        """Return at most ``count`` windows drawn without replacement, in order.

        Those with missing observations are drawn like others and then left out.
        """
        blocks, total = self.blocks(), self.count
        drawn = np.arange(total)
        if count < total:
            drawn = np.sort(generator.choice(total, count, replace=False))
        ends = np.cumsum([sum(map(self._windows_of, block)) for block in blocks])
        places = np.split(drawn, np.searchsorted(drawn, ends[:-1]))
        picks = [
            (block, here - end + sum(map(self._windows_of, block)))
            for block, here, end in zip(blocks, places, ends, strict=True)
            if len(here)
        ]
        return joined_windows(list(self.workers.map(_SampleOfBlock(self.past, self.future), picks)))

    def starts(self) -> tuple[Array, Array]:
        """Return the recordings' first futures o_{1:k}, a_{1:k} as rows (N, k d_o) and (N, k d_a).

        Those of very many recordings are taken at even distances.
        """
        long = [recording for recording in self.recordings if recording.ticks >= self.future]
        some = evenly_spread(long, STARTS)
        first = grouped([r.cut(0, self.future) for r in some], lambda _: 1, CHUNK)
        parts = [
            part for part in self.workers.map(_FirstFutures(self.future), first) if len(part[0])
        ]
        if not parts:
            return np.empty((0, 0)), np.empty((0, 0))
        observations, actions = zip(*parts, strict=True)
        return np.concatenate(observations), np.concatenate(actions)


@dataclass(frozen=True)
class _BlockSum:
    """The sum over one block, chunk by chunk; None without a complete window."""

    work: Callable[[Windows], Any]
    past: int
    future: int

    def __call__(self, block: Block) -> Any:
        chunks = window_chunks((part.read() for part in block), self.past, self.future)
        return merged_or_none(map(self.work, chunks))


@dataclass(frozen=True)
class _SampleOfBlock:
    """The chosen windows of a block, without those that have missing observations."""

    past: int
    future: int

    def __call__(self, task: tuple[Block, Array]) -> Windows:
        block, chosen = task
        parts = []
        for recording in block:
            count = count_windows(recording.ticks, self.past, self.future)
            here = chosen[(chosen >= 0) & (chosen < count)]
            chosen = chosen - count
            parts.append(self._of_run(recording.read(), here))
        return joined_windows(parts)

    def _of_run(self, run: Run, starts: Array) -> Windows:
        starts = starts[complete_windows(run.observations, self.past, self.future)[starts]]
        rows = starts[:, None] + np.arange(self.past + self.future + 1)
        observations, actions = run.observations[rows], run.actions[rows]
        return Windows(
            observations[:, : self.past],
            actions[:, : self.past],
            observations[:, self.past :],
            actions[:, self.past :],
        )


@dataclass(frozen=True)
class _FirstFutures:
    """The first futures of recordings."""

    future: int

    def __call__(self, block: Block) -> tuple[Array, Array]:
        return first_windows([recording.read() for recording in block], self.future)
