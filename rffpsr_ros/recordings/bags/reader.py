"""From bags to trajectories, streamed through the same sampler that the live nodes feed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

from rffpsr_ros.errors import InputError, counted, did_you_mean
from rffpsr_ros.recordings.bags.diagnosis import never_numbers, why_no_ticks
from rffpsr_ros.recordings.bags.files import find_bags
from rffpsr_ros.recordings.bags.message_types import MessageTypes
from rffpsr_ros.recordings.bags.opening import open_bag
from rffpsr_ros.recordings.bags.read_report import BagReport, ReadReport
from rffpsr_ros.recordings.bags.source import BagTopic, share_of
from rffpsr_ros.recordings.bags.topic_reader import TopicReader, topics_in
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.recordings.trajectory_builder import TrajectoryBuilder
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.events import Event, SegmentEnd
from rffpsr_ros.signals.sampler import Sampler

BAG_ENDED = "the bag ended"
"""Why the last segment ends."""


class BagSampler:
    """One bag, read once from front to back through a sampler.

    Parameters
    ----------
    path
        A rosbag2 folder or storage file, or a ROS 1 bag.
    configuration
        Channels and rate.
    types
        Message types for bags that do not define them; default: none.

    Attributes
    ----------
    sampler
        It knows the columns' names after the first tick.
    report
        What the bag gave; complete after the last event.
    topic_types
        Type by topic, as the bag has them.

    Raises
    ------
    InputError
        If the bag cannot be read, lacks a topic, has it with another type, or a type is unknown.
    """

    def __init__(
        self, path: Path, configuration: ChannelConfiguration, types: MessageTypes | None = None
    ) -> None:
        self.path = path
        self.report = BagReport(path)
        self._read = 0
        self._source = open_bag(path)
        try:
            self._topics = topics_in(self._source, configuration, path)
            store = (types or MessageTypes()).store_for(
                list(self._topics.values()), path.name, self._source.ros_distro
            )
        except InputError:
            self._source.close()
            raise
        self.topic_types = {name: topic.type for name, topic in self._topics.items()}
        self._pace_topic = configuration.observations[0].topic
        self._paced_at_last_end = 0
        self._begun_ns: int | None = None
        self._readers: dict[str, TopicReader] = {
            topic.name: TopicReader(name, topic.type, self._source, store, configuration.stamps)
            for name, topic in self._topics.items()
        }
        self._times = {reader.name: reader.times for reader in self._readers.values()}
        self.sampler = Sampler(
            configuration, {reader.name: reader.lazy for reader in self._readers.values()}
        )

    def __enter__(self) -> BagSampler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the bag."""
        self._source.close()

    @property
    def share_read(self) -> float | None:
        """Return which share of the messages is read; None if the bag does not say how many."""
        return share_of(self._read, self._topics.values())

    def events(self) -> Iterator[Event]:
        """Yield ticks and segment ends in order; the last segment is ended too.

        Raises
        ------
        InputError
            If a field does not fit the messages, or there was not a single tick (it says why).
        """
        for events in self.events_by_message():
            yield from events

    def events_by_message(self) -> Iterator[list[Event]]:
        """Yield what `events` does, as one list for every message that completed something."""
        feed, readers = self.sampler.feed, self._readers
        for topic, receive_ns, data in self._source.messages(readers.keys()):
            self._read += 1
            reader = readers[topic]
            stamp_ns, message = reader.read(data, receive_ns)
            events = feed(reader.name, stamp_ns, message)
            if events:
                yield self._noted(events)
        stuck = self._stuck()
        yield self._noted(self.sampler.end_segment(BAG_ENDED))
        self._finish(stuck)

    def _finish(self, losses: list[str]) -> None:
        """Complete the report; refuse a bag that gave nothing or lacks a joint."""
        report, times = self.report, self._times
        report.messages = sum(topic.count for topic in times.values())
        report.late, report.duplicates = self.sampler.late, self.sampler.duplicates
        report.undecodable = sum(reader.undecodable for reader in self._readers.values())
        misfits = [f"{text} ({n} in all)" for text, n in self.sampler.misfits.items()]
        report.losses = self._source.losses + losses + self._late() + misfits
        report.topic_types = self.topic_types
        report.observation_units = self.sampler.observation_units
        report.action_units = self.sampler.action_units
        for channel, name, seen in self.sampler.names_never_found:
            if seen:
                raise InputError(
                    f"'{name}' (channel '{channel.name}') is in no message of {channel.topic} in"
                    f" {self.path}{did_you_mean(name, seen)}"
                )
        if report.ticks == 0:
            raise InputError(why_no_ticks(self.path, self.sampler, times, self._empty))

    def _empty(self) -> list[str]:
        """Return the needed columns that are never a number, as a second look shows."""
        messages = (
            (reader.name, reader.decoded(data))
            for topic, _, data in self._source.messages(self._readers.keys())
            for reader in (self._readers[topic],)
        )
        return never_numbers(self.sampler.configuration, messages)

    def _stuck(self) -> list[str]:
        """Return a sentence if the end of the bag gave no ticks although there were messages."""
        if self.sampler.running or not self.report.segment_ends:
            return []
        unused = self._times[self._pace_topic].count - self._paced_at_last_end
        if unused < 3:
            return []
        end = self.report.segment_ends[-1]
        set_back = end.cause == "time_jump" and self.sampler.configuration.stamps == "header"
        remedy = "; if a clock was set back, try --set stamps=receive" if set_back else ""
        return [
            f"nothing after the last segment could be used ({counted(unused, 'message')} of the"
            f" pace channel): {end.reason}, and then not every channel had a value{remedy}"
        ]

    def _noted(self, events: list[Event]) -> list[Event]:
        for event in events:
            if isinstance(event, SegmentEnd):
                self.report.segment_ends.append(event)
                self._paced_at_last_end = self._times[self._pace_topic].count
            else:
                self.report.ticks += 1
                self._begun_ns = event.start_ns if self._begun_ns is None else self._begun_ns
        return events

    def _late(self) -> list[str]:
        """Return a sentence if most of the bag had passed before the first tick."""
        times = self._times[self._pace_topic]
        whole = (times.last_ns - times.first_ns) / 1e9
        before = ((self._begun_ns or times.first_ns) - times.first_ns) / 1e9
        jumped = any(end.cause == "time_jump" for end in self.report.segment_ends)
        if jumped or before <= whole / 2:
            return []
        return [
            f"the first {before:.3g} s of {whole:.3g} s gave nothing, as not every channel had a"
            " value before"
        ]


def read_bags(
    paths: str | Path | Sequence[str | Path],
    configuration: ChannelConfiguration,
    *,
    ros_distro: str | None = None,
    message_paths: Sequence[str | Path] = (),
    minimum_ticks: int = 2,
    report: ReadReport | None = None,
) -> list[Trajectory]:
    """Read bags into trajectories, one per uninterrupted segment, in the order of the bags.

    Whatever of a damaged bag is readable is used; a `BagWarning` says what was lost.

    Parameters
    ----------
    paths
        Bags (rosbag2 with SQLite3 or MCAP, ROS 1), folders of bags, or patterns.
    configuration
        Channels and rate; see `rffpsr_ros.signals.load_channels`.
    ros_distro
        The distribution that recorded bags without type definitions, such as ``humble``.
    message_paths
        .msg files, or folders with them, for types that the bags do not define.
    minimum_ticks
        Shorter segments are left out.
    report
        Filled with what each bag gave, if given.

    Raises
    ------
    InputError
        If there is no bag, one cannot be read or lacks a topic or a field, gives not a single
        tick, or no segment is long enough.
    """
    trajectories = list(
        iterate_trajectories(
            paths,
            configuration,
            ros_distro=ros_distro,
            message_paths=message_paths,
            minimum_ticks=minimum_ticks,
            report=report,
        )
    )
    if not trajectories:
        raise InputError(f"no segment of the bags has {minimum_ticks} ticks")
    return trajectories


def iterate_trajectories(
    paths: str | Path | Sequence[str | Path],
    configuration: ChannelConfiguration,
    *,
    ros_distro: str | None = None,
    message_paths: Sequence[str | Path] = (),
    minimum_ticks: int = 2,
    report: ReadReport | None = None,
) -> Iterator[Trajectory]:
    """Yield the trajectories of `read_bags` one by one, each as soon as its segment has ended."""
    types = MessageTypes(ros_distro, message_paths)
    report = ReadReport() if report is None else report
    first: tuple[Trajectory, Path] | None = None
    for path in find_bags([paths] if isinstance(paths, (str, Path)) else paths):
        with closing(BagSampler(path, configuration, types)) as bag:
            builder = TrajectoryBuilder(bag.sampler, path.name, minimum_ticks)
            for events in bag.events_by_message():
                for trajectory in builder.add(events):
                    first = first or (trajectory, path)
                    check_same_columns(*first, trajectory, path)
                    yield trajectory
            bag.report.dropped_ticks = builder.dropped_ticks
            report.finish(bag.report)


def bag_topics(path: str | Path) -> dict[str, BagTopic]:
    """Return the topics of a bag by name.

    Raises
    ------
    InputError
        If the bag cannot be read.
    """
    with closing(open_bag(Path(path))) as source:
        return source.topics


def check_same_columns(first: Trajectory, path: Path, other: Trajectory, other_path: Path) -> None:
    """Refuse trajectories of two bags whose columns differ.

    Raises
    ------
    InputError
        If they do; it names one that is in one bag only.
    """
    for expected, found in (
        (first.observation_names, other.observation_names),
        (first.action_names, other.action_names),
    ):
        if expected != found:
            odd = sorted(set(expected) ^ set(found))[0]
            raise InputError(
                f"bags {path} and {other_path} differ in their columns: '{odd}' is in one only"
            )
