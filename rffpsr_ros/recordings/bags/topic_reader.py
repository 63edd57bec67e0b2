"""The configured topics of a bag, and their messages as the sampler takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rosbags.typesys.store import Typestore

from rffpsr_ros.errors import InputError, did_you_mean
from rffpsr_ros.recordings.bags.diagnosis import TopicTimes
from rffpsr_ros.recordings.bags.message_types import decoded_stamp, decoder, stamp_reader
from rffpsr_ros.recordings.bags.source import BagSource, BagTopic
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.stamps import Stamp
from rffpsr_ros.signals.tracks import Decode


def topics_in(
    source: BagSource, configuration: ChannelConfiguration, path: Path
) -> dict[str, BagTopic]:
    """Return the bag's topic for each configured one; a leading slash may be left out there.

    Raises
    ------
    InputError
        If the bag lacks one, or has it with another type.
    """
    matched = {}
    for name, type_name in configuration.topics.items():
        topic = source.topics.get("/" + name.lstrip("/")) or source.topics.get(name)
        if topic is None:
            raise InputError(f"bag {path} has no topic {name}{did_you_mean(name, source.topics)}")
        if type_name and topic.type != type_name:
            raise InputError(
                f"topic {name} has type {topic.type} in bag {path}, but {type_name} in the"
                " configuration"
            )
        matched[name] = topic
    return matched


class TopicReader:
    """One topic of a bag: stamps without decoding where possible, messages when asked.

    ``times`` are the stamps seen so far.
    """

    def __init__(
        self, name: str, type_name: str, source: BagSource, store: Typestore, stamps: str
    ) -> None:
        self.name = name
        self.times = TopicTimes()
        self.undecodable = 0
        self._decode: Decode = decoder(store, type_name, source.encoding)
        self._stamp: Stamp | None = stamp_reader(store, type_name, source.encoding, stamps)

    def read(self, data: bytes, receive_ns: int) -> tuple[int, Any]:
        """Return the stamp and what is fed to the sampler."""
        if self._stamp is not None:
            stamp_ns, message = self._stamp(data, receive_ns), data
        else:
            message = self._counted(data)
            stamp_ns = decoded_stamp(message, receive_ns)
        self.times.add(stamp_ns)
        return stamp_ns, message

    def lazy(self, fed: Any) -> Any:
        """Return the message of what was fed."""
        return self._counted(fed) if self._stamp is not None else fed

    def decoded(self, data: bytes) -> Any:
        """Return the message of some bytes, for a second look: it counts nowhere."""
        return self._decode(data)

    def _counted(self, data: bytes) -> Any:
        message = self._decode(data)
        self.undecodable += message is None
        return message
