"""From the sampler's events to trajectories: one per segment."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.episodes.trajectory import Trajectory
from rffpsr_ros.signals.events import Event, SegmentEnd
from rffpsr_ros.signals.sampler import Sampler

Vector = NDArray[np.float64]


class TrajectoryBuilder:
    """Collects the ticks of each segment; rows at its end in which nothing was seen are left out.

    Parameters
    ----------
    sampler
        Where the events come from; it knows names and period.
    label
        Label of the first trajectory; later ones get a number.
    minimum_ticks
        Shorter segments are dropped.

    Attributes
    ----------
    dropped_ticks
        Ticks in segments that were too short.
    """

    def __init__(self, sampler: Sampler, label: str = "", minimum_ticks: int = 2) -> None:
        self._sampler = sampler
        self._label = label
        self._minimum_ticks = minimum_ticks
        self._built = 0
        self._observations = _Rows()
        self._actions = _Rows()
        self.dropped_ticks = 0

    def add(self, events: Iterable[Event]) -> list[Trajectory]:
        """Take events and return the trajectories they complete."""
        finished = []
        for event in events:
            if isinstance(event, SegmentEnd):
                finished += self._finish()
            else:
                self._observations.append(event.observation)
                self._actions.append(event.action)
        return finished

    def _finish(self) -> list[Trajectory]:
        observations, actions = self._observations.take(), self._actions.take()
        if len(observations) == 0:
            return []
        seen = np.flatnonzero(~np.isnan(observations).all(axis=1))
        length = int(seen[-1]) + 1 if len(seen) else 0
        if length < self._minimum_ticks:
            self.dropped_ticks += length
            return []
        self._built += 1
        label = self._label if self._built == 1 else f"{self._label}#{self._built}"
        return [
            Trajectory(
                observations[:length],
                actions[:length],
                self._sampler.configuration.period,
                self._sampler.observation_names,
                self._sampler.action_names,
                label,
            )
        ]


class _Rows:
    """Rows in one growing array: a list of small arrays would take ten times the memory."""

    def __init__(self) -> None:
        self._rows = np.empty((0, 0))
        self._count = 0

    def append(self, row: Vector) -> None:
        if self._count == len(self._rows):
            grown = np.empty((max(256, 2 * self._count), len(row)))
            if self._count:
                grown[: self._count] = self._rows
            self._rows = grown
        self._rows[self._count] = row
        self._count += 1

    def take(self) -> Vector:
        rows, self._rows = self._rows[: self._count], np.empty((0, 0))
        self._count = 0
        return rows
