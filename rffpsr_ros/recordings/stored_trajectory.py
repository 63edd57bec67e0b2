"""Trajectories of any length whose ticks lie on disk.

A bag is decoded once per process, into its scratch file. What travels between processes is where
ticks come from; a process that does not have them yet reads the bag.
"""

from __future__ import annotations

import atexit
import copy
import json
import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.bags.files import find_bags
from rffpsr_ros.recordings.bags.message_types import MessageTypes
from rffpsr_ros.recordings.bags.read_report import BagReport, ReadReport
from rffpsr_ros.recordings.bags.reader import BagSampler, check_same_columns
from rffpsr_ros.recordings.trajectory import Trajectory, check_finite
from rffpsr_ros.recordings.trajectory_builder import SegmentBuilder
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.sampler import Sampler


class Segment(NamedTuple):
    """An uninterrupted run of ticks in a scratch file."""

    label: str
    ticks: int
    place: int
    observation_names: tuple[str, ...]
    action_names: tuple[str, ...]


class BagReading(NamedTuple):
    """All that the ticks of a bag depend on."""

    path: Path
    configuration: ChannelConfiguration
    ros_distro: str | None = None
    message_paths: tuple[str | Path, ...] = ()
    minimum_ticks: int = 2

    @property
    def key(self) -> str:
        """Tells readings of a process apart."""
        channels = self.configuration
        identity = [str(self.path), channels.to_mapping(), channels.columns, *map(str, self[2:])]
        return json.dumps(identity, sort_keys=True)


@dataclass
class StoredBag:
    """The segments of a bag, in the scratch file of the process that read it."""

    reading: BagReading
    segments: list[Segment]
    report: BagReport
    home: str | None = None  # the worker that has them, where there are several

    def trajectories(self) -> list[StoredTrajectory]:
        """Return a trajectory for each segment."""
        return [StoredTrajectory(self, number) for number in range(len(self.segments))]


class StoredTrajectory(Trajectory):
    """A trajectory whose ticks are read from disk whenever they are asked for.

    Slices are cheap; `loaded` gives one that is in memory.
    """

    def __init__(self, bag: StoredBag, number: int) -> None:
        segment = bag.segments[number]
        parts = {
            "period": bag.reading.configuration.period,
            "observation_names": segment.observation_names,
            "action_names": segment.action_names,
            "label": segment.label,
            "likelihood_ratios": None,
            "policy_memory": None,
            "home": bag.home,
            "_reading": bag.reading,
            "_number": number,
            "_start": 0,
            "_stop": segment.ticks,
        }
        self.__dict__.update(parts)

    home: str | None

    @property
    def observations(self) -> Array:
        """Observations (T, d_o), read from disk."""
        return self._rows()[:, : len(self.observation_names)]

    @property
    def actions(self) -> Array:
        """Actions (T, d_a), read from disk."""
        return self._rows()[:, len(self.observation_names) :]

    def _rows(self) -> Array:
        state = self.__dict__
        segment = stored(state["_reading"]).segments[state["_number"]]
        columns = len(self.observation_names) + len(self.action_names)
        rows = scratch().read(segment.place, state["_start"], state["_stop"], columns)
        rows.setflags(write=False)
        return rows

    def __len__(self) -> int:
        """Return the number of ticks T."""
        return int(self.__dict__["_stop"] - self.__dict__["_start"])

    def slice(self, start: int, stop: int) -> StoredTrajectory:
        """Return ticks ``start`` to ``stop`` (half-open) as a trajectory of its own."""
        first, last, _ = slice(start, stop).indices(len(self))
        part = copy.copy(self)
        begin = self.__dict__["_start"]
        part.__dict__.update(_start=begin + first, _stop=begin + max(first, last))
        return part

    def loaded(self) -> Trajectory:
        """Return the trajectory with its arrays in memory."""
        return Trajectory(
            self.observations,
            self.actions,
            self.period,
            self.observation_names,
            self.action_names,
            self.label,
        )


MapInOrder = Callable[[Callable[[BagReading], StoredBag], list[BagReading]], Iterable[StoredBag]]
"""Applies a function to items, here or in other processes; results come in their order."""


def store_bags(
    paths: str | Path | Sequence[str | Path],
    configuration: ChannelConfiguration,
    *,
    ros_distro: str | None = None,
    message_paths: Sequence[str | Path] = (),
    minimum_ticks: int = 2,
    report: ReadReport | None = None,
    map_in_order: MapInOrder = map,
) -> Iterator[StoredBag]:
    """Yield bags read into scratch files, as `read_bags` reads them into memory."""
    report = ReadReport() if report is None else report
    first: tuple[Trajectory, Path] | None = None
    found = find_bags([paths] if isinstance(paths, (str, Path)) else paths)
    readings = [
        BagReading(path, configuration, ros_distro, tuple(message_paths), minimum_ticks)
        for path in found
    ]
    for bag in map_in_order(stored, readings):
        for trajectory in bag.trajectories():
            first = first or (trajectory, bag.reading.path)
            check_same_columns(*first, trajectory, bag.reading.path)
        report.finish(bag.report)
        yield bag


_stored: dict[str, StoredBag] = {}
_reading_lock = threading.Lock()


def stored(reading: BagReading) -> StoredBag:
    """Return the bag as it lies in this process's scratch file; it is read if it does not yet.

    Raises
    ------
    InputError
        As `read_bags` does.
    """
    key = reading.key
    # One bag at a time: its segments lie in one piece. Decoding holds the interpreter anyway.
    with _reading_lock:
        if key not in _stored:
            _stored[key] = _read(reading)
        return _stored[key]


def _read(reading: BagReading) -> StoredBag:
    types = MessageTypes(reading.ros_distro, reading.message_paths)
    segments: list[Segment] = []
    with closing(BagSampler(reading.path, reading.configuration, types)) as bag:
        rows = _ScratchRows(bag.sampler)
        builder = SegmentBuilder(rows, reading.path.name, reading.minimum_ticks)
        for events in bag.events_by_message():
            segments += builder.add(events)
        bag.report.dropped_ticks = builder.dropped_ticks
        return StoredBag(reading, segments, bag.report)


class _ScratchRows:
    """Ticks on their way to the scratch file, some thousand at a time."""

    together = 4096

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._waiting: list[Array] = []
        self._place, self._written = scratch().end, 0

    def append(self, observation: Array, action: Array) -> None:
        self._waiting.append(np.concatenate([observation, action]))
        if len(self._waiting) == self.together:
            self._write()

    def _write(self) -> None:
        if not self._waiting:
            return
        rows = np.array(self._waiting)
        self._waiting = []
        names = self._sampler.observation_names, self._sampler.action_names
        check_finite(rows[:, : len(names[0])], rows[:, len(names[0]) :], *names, self._written)
        scratch().append(rows)
        self._written += len(rows)

    def finish(self, length: int, label: str) -> Segment:
        self._write()
        place = self._place
        self.discard()
        names = self._sampler.observation_names, self._sampler.action_names
        return Segment(label, length, place, *names)

    def discard(self) -> None:
        self._waiting = []
        self._place, self._written = scratch().end, 0


_AT_ONCE = 2**24  # bytes


class Scratch:
    """One temporary file without a name: it is gone when the process is, however that ends.

    It lies where temporary files do (the environment variable TMPDIR).
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="rffpsr_")  # noqa: SIM115 lives with the object
        self._end = 0

    @property
    def end(self) -> int:
        """Where the next rows will be put."""
        return self._end

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    def append(self, rows: Array) -> None:
        """Put rows (N, c) at the end."""
        data = rows.tobytes()
        while data:
            written = os.pwrite(self._file.fileno(), data, self._end)
            self._end += written
            data = data[written:]

    def read(self, place: int, start: int, stop: int, columns: int) -> Array:
        """Return rows ``start`` to ``stop`` (half-open) of those that begin at ``place``."""
        rows = np.empty((stop - start, columns))
        data = rows.reshape(-1).view(np.uint8)
        position, done = place + start * columns * rows.itemsize, 0
        while done < len(data):
            part = os.pread(self._file.fileno(), min(len(data) - done, _AT_ONCE), position + done)
            data[done : done + len(part)] = np.frombuffer(part, np.uint8)
            done += len(part)
        return rows


@lru_cache(maxsize=1)
def scratch() -> Scratch:
    """Return this process's scratch file, which is closed when the process ends."""
    made = Scratch()
    atexit.register(made.close)
    return made
