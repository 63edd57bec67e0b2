"""What is in bags: topics with their rates, and the ranges of their numeric fields."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.errors import InputError
from rffpsr_ros.recordings.bags.message_types import MessageTypes
from rffpsr_ros.recordings.bags.opening import open_bag
from rffpsr_ros.recordings.bags.source import BagSource, BagTopic
from rffpsr_ros.recordings.bags.topic_reader import TopicReader
from rffpsr_ros.signals.fields.resolver import FieldResolver
from rffpsr_ros.training.proposal.numeric_fields import numeric_fields

SAMPLED = 2000
"""About so many messages of a topic are decoded for the ranges of its fields."""
_FIRST = 20
"""So many of them show which fields there are: not every message has every joint."""
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


class FieldRange(NamedTuple):
    """What a field showed in the sampled messages; NaN if it was never a number."""

    path: str
    low: float
    high: float
    missing: float
    """Fraction of values that were no finite numbers."""

    @property
    def constant(self) -> bool:
        """Tell whether it never changed."""
        return not self.high - self.low > 1e-9 * max(abs(self.low), abs(self.high))

    def span(self) -> str:
        """Return in words what it showed."""
        if self.missing == 1:
            return "never a number"
        if self.constant:
            return f"constant {self.low:.4g}"
        return f"{self.low:.4g} to {self.high:.4g}"


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
    samplers: dict[str, _FieldSampler] = {}
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
    samplers: dict[str, _FieldSampler],
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
            topic.name, _FieldSampler(wanted.get(topic.name.strip("/"), ()))
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
        sampler: _FieldSampler,
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


class _FieldSampler:
    """The fields of one topic's messages, and their values so far."""

    def __init__(self, wanted: Sequence[str] = ()) -> None:
        self._wanted = wanted
        self.asked: list[str] = []
        self._first: list[Any] = []
        self._resolver: FieldResolver | None = None
        self._rows: list[NDArray[np.float64]] = []
        self.misfits: dict[str, str] = {}

    def add(self, message: Any) -> None:
        """Take a message."""
        if self._resolver is not None:
            self._resolve(message)
            return
        self._first.append(message)
        if len(self._first) == _FIRST:
            self._begin()

    def ranges(self) -> list[FieldRange]:
        """Return what every field showed."""
        if self._resolver is None:
            self._begin()
        if self._resolver is None or not self._rows:
            return []
        values = np.stack(self._rows)
        ranges, start = [], 0
        for path, width in zip(self._paths, self._resolver.columns_per_field, strict=True):
            block = values[:, start : start + width]
            start += width
            finite = block[np.isfinite(block)]
            low, high = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
            missing = 1 - finite.size / block.size
            ranges.append(FieldRange(path, float(low), float(high), missing))
        return ranges

    def _begin(self) -> None:
        """Find out which fields there are from the first messages."""
        paths = dict.fromkeys(path for message in self._first for path in numeric_fields(message))
        found = [path for path in paths if any(_binds(path, m) for m in self._first)]
        for path in dict.fromkeys(self._wanted):
            if path not in found:
                self._look(path, found)
        self._paths = found
        if self._paths:
            self._resolver = FieldResolver(self._paths)
            for message in self._first:
                self._resolve(message)
        self._first = []

    def _look(self, path: str, found: list[str]) -> None:
        """Take a field that is asked for, or note that no message has it, or none a value of it."""
        why = [_misfit(path, message) for message in self._first]
        if None in why:
            found.append(path)
            self.asked.append(path)
        elif why:
            self.misfits[path] = "" if "" in why else str(why[0])

    def _resolve(self, message: Any) -> None:
        assert self._resolver is not None
        values = self._resolver.resolve(message)
        if values is not None:
            self._rows.append(values)


def _binds(path: str, message: Any) -> bool:
    """Tell whether a message shows a field's width."""
    return _misfit(path, message) is None


def _misfit(path: str, message: Any) -> str | None:
    """Return why a message does not show a field's width: a sentence, or empty if it may yet."""
    try:
        return "" if FieldResolver([path]).resolve(message) is None else None
    except InputError as problem:
        return str(problem)
