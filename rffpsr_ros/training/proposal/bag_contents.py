"""What is in bags: topics with their rates, and the ranges of their numeric fields."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.bags.message_types import MessageTypes
from rffpsr_ros.recordings.bags.opening import open_bag
from rffpsr_ros.recordings.bags.source import BagSource, BagTopic
from rffpsr_ros.recordings.bags.topic_reader import TopicReader
from rffpsr_ros.training.proposal.field_ranges import FieldRange, FieldSampler

SAMPLED = 2000
"""About so many messages of a topic are decoded for the ranges of its fields."""
_GAP = 5.0
"""A gap is an interval of more than so many usual ones."""


class Timing(NamedTuple):
    """How regularly messages of a topic arrive; from stamps in seconds."""

    rate: float
    """Messages per second between gaps (1 / median interval); 0 if unknown."""
    jitter: float
    """Standard deviation of the intervals that are no gaps, as a fraction of the median."""
    gaps: int
    longest_gap: float
    jumps_back: int
    first: float
    last: float


@dataclass
class TopicContents:
    """One topic in all bags."""

    name: str
    type: str
    count: int = 0
    bytes: int = 0
    fields: list[FieldRange] = field(default_factory=list)
    problem: str = ""
    """Why its messages could not be read, if they could not."""
    asked: Sequence[str] = ()
    """Fields that were asked for, beside those that messages show of themselves."""
    misfits: dict[str, str] = field(default_factory=dict)
    """Why a field that was asked for is none, by its path; empty: no message has a value of it."""
    stamps: list[NDArray[np.int64]] = field(default_factory=list)
    """Per bag."""

    @property
    def timing(self) -> Timing:
        """Return how regularly its messages arrive."""
        parts = [stamps for stamps in self.stamps if len(stamps)]
        if not parts:
            return Timing(0.0, 0.0, 0, 0.0, 0, 0.0, 0.0)
        intervals = np.concatenate([np.diff(stamps) for stamps in parts]) / 1e9
        forward = intervals[intervals > 0]
        usual = float(np.median(forward)) if len(forward) else 0.0
        regular = forward[forward <= _GAP * usual]
        gaps = forward[forward > _GAP * usual]
        return Timing(
            1 / usual if usual else 0.0,
            float(regular.std() / usual) if len(regular) else 0.0,
            len(gaps),
            float(gaps.max()) if len(gaps) else 0.0,
            int(np.sum(intervals < 0)),
            min(float(stamps.min()) for stamps in parts) / 1e9,
            max(float(stamps.max()) for stamps in parts) / 1e9,
        )

    def filled(self, rate: float, max_gap: float) -> float:
        """Return which share of ticks at a rate a message falls into, but for gaps."""
        parts = [np.diff(stamps) / 1e9 for stamps in self.stamps]
        intervals = np.concatenate(parts) if parts else np.empty(0)
        ticks = rate * intervals[(intervals > 0) & (intervals <= max_gap)]
        return 1 - float(np.maximum(np.round(ticks) - 1, 0).sum() / max(ticks.sum(), 1.0))


Picked: TypeAlias = "tuple[TopicContents, tuple[str, ...]]"
"""A topic, and the fields of it that are taken."""


@dataclass
class BagContents:
    """All topics of some bags, by name, and what of the bags could not be read."""

    topics: dict[str, TopicContents] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)

    def timings(self) -> Mapping[str, Timing]:
        """Return the timing of every topic."""
        return {name: topic.timing for name, topic in self.topics.items()}


def read_contents(
    paths: Sequence[Path],
    types: MessageTypes,
    progress: Callable[[str, float], None],
    asked: Mapping[str, Sequence[str]] | None = None,
) -> BagContents:
    """Read bags once and return what is in them; of topics also the fields that are asked for.

    Raises
    ------
    InputError
        If a bag cannot be read.
    """
    contents = BagContents()
    wanted = {name.strip("/"): fields for name, fields in (asked or {}).items()}
    samplers: dict[str, FieldSampler] = {}
    for number, path in enumerate(paths):
        progress("reading bags", number / len(paths))
        with closing(open_bag(path)) as source:
            _read_bag(path, source, types, contents, samplers, wanted)
            contents.losses += [f"{path}: {loss}" for loss in source.losses]
    progress("reading bags", 1.0)
    for name, sampler in samplers.items():
        contents.topics[name].fields = sampler.ranges()
        contents.topics[name].asked = sampler.asked
        contents.topics[name].misfits = sampler.misfits
    return contents


def _read_bag(
    path: Path,
    source: BagSource,
    types: MessageTypes,
    contents: BagContents,
    samplers: dict[str, FieldSampler],
    wanted: Mapping[str, Sequence[str]],
) -> None:
    tallies = {}
    for topic in source.topics.values():
        known = contents.topics.setdefault(topic.name, TopicContents(topic.name, topic.type))
        if known.type != topic.type:
            raise InputError(
                f"topic {topic.name} has type {topic.type} in bag {path}, but {known.type} in a"
                " bag before"
            )
        sampler = samplers.setdefault(
            topic.name, FieldSampler(wanted.get(topic.name.strip("/"), ()))
        )
        tallies[topic.name] = _TopicTally(known, topic, source, types, path, sampler)
    for name, receive_ns, data in source.messages(tallies.keys()):
        tallies[name].add(data, receive_ns)
    for tally in tallies.values():
        tally.finish()


class _TopicTally:
    """One topic of one bag: every message's stamp, and the fields of some of them."""

    def __init__(
        self,
        contents: TopicContents,
        topic: BagTopic,
        source: BagSource,
        types: MessageTypes,
        path: Path,
        sampler: FieldSampler,
    ) -> None:
        self._contents = contents
        self._sampler = sampler
        self._every = max(1, (topic.count or 0) // SAMPLED)
        self._stamps = array("q")
        self._reader: TopicReader | None = None
        try:
            store = types.store_for([topic], path.name, source.ros_distro)
            self._reader = TopicReader(topic.name, topic.type, source, store, "header")
        except InputError as problem:
            contents.problem = str(problem)

    def add(self, data: bytes, receive_ns: int) -> None:
        """Take a message."""
        self._contents.bytes += len(data)
        if self._reader is None:
            self._stamps.append(receive_ns)
            return
        stamp_ns, fed = self._reader.read(data, receive_ns)
        if len(self._stamps) % self._every == 0:
            message = self._reader.lazy(fed)
            if message is not None:
                self._sampler.add(message)
        self._stamps.append(stamp_ns)

    def finish(self) -> None:
        """Hand over the stamps."""
        self._contents.count += len(self._stamps)
        self._contents.stamps.append(np.frombuffer(self._stamps, dtype=np.int64))
