"""What is needed of a bag, whatever its format: its topics, and their raw messages in log order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

LATEST_NS = 2**63 - 1
"""The latest time of receipt: what ROS can say, and what fits into 64 bits with a sign."""

NO_DEFINITION = MessageDefinition(MessageDefinitionFormat.NONE, "")


@dataclass
class BagTopic:
    """One topic of a bag.

    ``count`` is the number of messages, None if it is not known without reading them all.
    """

    name: str
    type: str
    count: int | None = None
    definition: MessageDefinition = NO_DEFINITION


def share_of(read: int, topics: Iterable[BagTopic]) -> float | None:
    """Return which share of the topics' messages is read; None if their number is not known."""
    counts = [topic.count for topic in topics]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts) or not sum(known):
        return None
    return min(read / sum(known), 1.0)


class RawMessage(NamedTuple):
    """A message as it was logged; ``receive_ns`` is the log time."""

    topic: str
    receive_ns: int
    data: bytes


class BagSource(Protocol):
    """A bag that can be read from front to back.

    Attributes
    ----------
    topics
        By name.
    encoding
        How messages are serialised.
    ros_distro
        The distribution that recorded it, if the bag says so.
    losses
        What could not be read, one sentence each; complete after the messages were read.
    """

    topics: dict[str, BagTopic]
    encoding: Literal["cdr", "ros1"]
    ros_distro: str | None
    losses: list[str]

    def messages(self, topics: Collection[str]) -> Iterator[RawMessage]:
        """Yield the messages of these topics in log order."""
        ...

    def close(self) -> None:
        """Release files."""
        ...


@dataclass
class ChainedSource:
    """Several storage files of one recording, one after the other."""

    parts: list[BagSource]
    topics: dict[str, BagTopic] = field(default_factory=dict)
    losses: list[str] = field(default_factory=list)
    ros_distro: str | None = None
    encoding: Literal["cdr", "ros1"] = "cdr"

    def __post_init__(self) -> None:
        for part in self.parts:
            self.losses += part.losses
            self.ros_distro = self.ros_distro or part.ros_distro
            for topic in part.topics.values():
                known = self.topics.setdefault(
                    topic.name, BagTopic(topic.name, topic.type, 0, topic.definition)
                )
                both = known.count is not None and topic.count is not None
                known.count = (known.count or 0) + (topic.count or 0) if both else None

    def messages(self, topics: Collection[str]) -> Iterator[RawMessage]:
        """Yield the messages of these topics, file by file."""
        for part in self.parts:
            noted = len(part.losses)
            yield from part.messages(topics)
            self.losses += part.losses[noted:]

    def close(self) -> None:
        """Release files."""
        for part in self.parts:
            part.close()
