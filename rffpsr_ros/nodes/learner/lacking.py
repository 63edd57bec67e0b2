"""What an episode lacks of what is to be learned from; without ROS."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.signals.fields.resolver import FieldResolver
from rffpsr_ros.signals.tracks import Decode


class Ends:
    """The first and the newest message of each topic (bytes): enough to see what all of them lack.

    Parameters
    ----------
    decode
        Returns the function from bytes to a message, by topic; that gives None for damaged bytes.
    """

    def __init__(self, decode: Callable[[str], Decode]) -> None:
        self._decode = decode
        self._data: dict[str, list[bytes]] = {}

    def take(self, topic: str, data: bytes) -> None:
        """Take a message."""
        self._data.setdefault(topic, [data])[1:] = [data]

    def messages(self, topic: str) -> list[Any]:
        """Return the first and the newest message of a topic; nothing if there was none."""
        data = self._data.get(topic, [])
        return list(map(self._decode(topic), data)) if data else []


def lacking(channels: Iterable[Channel], ends: Ends) -> str:
    """Return what an episode gave no number of, topic by topic; empty if it has everything."""
    silent: dict[str, None] = {}
    said = []
    for channel in channels:
        messages = ends.messages(channel.topic)
        if messages:
            said += _unseen(channel, messages)
        elif channel.initial is None:
            silent[channel.topic] = None
    return "; ".join([f"no message on {topic}" for topic in silent] + said)


def _unseen(channel: Channel, messages: Iterable[Any]) -> list[str]:
    """Return what none of several messages shows of a channel."""
    fields = FieldResolver(channel.fields)
    try:
        rows = [row for message in messages if (row := fields.resolve(message)) is not None]
    except InputError as problem:
        return [f"on {channel.topic}: {problem}"]
    unseen: Iterable[str] = channel.fields
    if rows:
        columns = zip(fields.column_names, np.stack(rows).T, strict=True)
        unseen = [name for name, values in columns if not np.isfinite(values).any()]
    names = ", ".join(f"{channel.name}.{name}" for name in unseen)
    return [f"no finite number for {names} on {channel.topic}"] if names else []
