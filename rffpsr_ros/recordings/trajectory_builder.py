"""From the sampler's events to trajectories: one per segment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.events import Event, SegmentEnd
from rffpsr_ros.signals.sampler import Sampler

Vector = NDArray[np.float64]
BuiltT = TypeVar("BuiltT", covariant=True)


class SegmentRows(Protocol[BuiltT]):
    """Where the ticks of a segment are put."""

    def append(self, observation: Vector, action: Vector) -> None:
        """Take a tick."""
        ...

    def finish(self, length: int, label: str) -> BuiltT:
        """Return what became of the first ``length`` ticks; begin anew."""
        ...

    def discard(self) -> None:
        """Begin anew."""
        ...


class SegmentBuilder(Generic[BuiltT]):
    """Collects the ticks of each segment; rows at its end in which nothing was seen are left out.

    Parameters
    ----------
    rows
        Where the ticks are put.
    label
        Label of the first segment; later ones get a number.
    minimum_ticks
        Shorter segments are dropped.

    Attributes
    ----------
    dropped_ticks
        Ticks in segments that were too short.
    """

    def __init__(self, rows: SegmentRows[BuiltT], label: str = "", minimum_ticks: int = 2) -> None:
        self._rows = rows
        self._label = label
        self._minimum_ticks = minimum_ticks
        self._built = 0
        self._count = 0
        self._length = 0  # up to the last row in which something was seen
        self.dropped_ticks = 0

    def add(self, events: Iterable[Event]) -> list[BuiltT]:
        """Take events and return the segments they complete."""
        finished = []
        for event in events:
            if isinstance(event, SegmentEnd):
                finished += self._finish()
                continue
            self._rows.append(event.observation, event.action)
            self._count += 1
            if not np.isnan(event.observation).all():
                self._length = self._count
        return finished

    def _finish(self) -> list[BuiltT]:
        length, self._count, self._length = self._length, 0, 0
        if length < self._minimum_ticks:
            self.dropped_ticks += length
            self._rows.discard()
            return []
        self._built += 1
        label = self._label if self._built == 1 else f"{self._label}#{self._built}"
        return [self._rows.finish(length, label)]


class TrajectoryBuilder(SegmentBuilder[Trajectory]):
    """Builds trajectories in memory; the sampler knows their names and period."""

    def __init__(self, sampler: Sampler, label: str = "", minimum_ticks: int = 2) -> None:
        super().__init__(_HeldRows(sampler), label, minimum_ticks)


class _HeldRows:
    """Two growing arrays: a list of small arrays would take ten times the memory."""

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._count = 0
        self._observations, self._actions = np.empty((0, 0)), np.empty((0, 0))

    def append(self, observation: Vector, action: Vector) -> None:
        if self._count == len(self._observations):
            self._observations = self._grown(self._observations, len(observation))
            self._actions = self._grown(self._actions, len(action))
        self._observations[self._count] = observation
        self._actions[self._count] = action
        self._count += 1

    def _grown(self, rows: Vector, columns: int) -> Vector:
        grown = np.empty((max(256, 2 * self._count), columns))
        if self._count:
            grown[: self._count] = rows
        return grown

    def finish(self, length: int, label: str) -> Trajectory:
        observations, actions = self._observations[:length], self._actions[:length]
        self.discard()
        return Trajectory(
            observations,
            actions,
            self._sampler.configuration.period,
            self._sampler.observation_names,
            self._sampler.action_names,
            label,
        )

    def discard(self) -> None:
        self._count = 0
        self._observations, self._actions = np.empty((0, 0)), np.empty((0, 0))
