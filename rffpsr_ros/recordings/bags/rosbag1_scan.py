"""Reading a ROS 1 bag record by record, as far as it goes: for bags without an index.

The format is that of the ROS 1 bag specification, version 2.0: records of a header (fields
``name=value``) and data, each with its length in front, little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO, Literal

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

from rffpsr_ros.recordings.bags.decompression import decompress
from rffpsr_ros.recordings.bags.source import BagTopic, RawMessage
from rffpsr_ros.signals.channel_parser import normalise_type

MAGIC = b"#ROSBAG V2.0\n"
_MESSAGE, _CHUNK, _CONNECTION = 2, 5, 7
_LENGTH = struct.Struct("<I")
_TIME = struct.Struct("<II")


class Rosbag1Scan:
    """A `BagSource` of whatever is readable in a ROS 1 bag, such as ``.bag.active``."""

    encoding: Literal["cdr", "ros1"] = "ros1"
    ros_distro: str | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.topics: dict[str, BagTopic] = {}
        self.losses: list[str] = []
        self._names: dict[int, str] = {}
        self._cut = False
        self._damaged_chunks = 0
        for message in self._scan():
            topic = self.topics[message.topic]
            topic.count = (topic.count or 0) + 1
        if self._damaged_chunks:
            self.losses.append(f"{self._damaged_chunks} damaged chunks of {path.name} are left out")
        if self._cut:
            self.losses.append(f"{path.name} ends in the middle of a record; the rest is lost")

    def messages(self, topics: Collection[str]) -> Iterator[RawMessage]:
        """Yield the messages of these topics in the order in which they were written."""
        return (message for message in self._scan() if message.topic in topics)

    def close(self) -> None:
        """Do nothing: the file is open only while it is read."""

    def _scan(self) -> Iterator[RawMessage]:
        self._cut = False
        self._damaged_chunks = 0
        with self.path.open("rb") as file:
            file.seek(len(MAGIC))
            while True:
                header = _header(file)
                if header is None:
                    self._cut = file.read(1) != b"" or self._cut
                    return
                data, whole = _data(file)
                self._cut = self._cut or not whole
                if header.get(b"op") == bytes([_CHUNK]):
                    yield from self._chunk(header, data, whole)
                elif whole:
                    yield from self._record(header, data)

    def _chunk(self, header: dict[bytes, bytes], data: bytes, whole: bool) -> Iterator[RawMessage]:
        compression = header.get(b"compression", b"none")
        try:
            if compression != b"none":
                data = decompress(data, compression.decode())
        except Exception:  # The decompressors have no common error.
            self._damaged_chunks += whole
            return
        position = 0
        while position < len(data):
            inner, position = _fields(data, position)
            if inner is None or position + 4 > len(data):
                return
            (length,) = _LENGTH.unpack_from(data, position)
            position += 4
            if position + length > len(data):
                return
            yield from self._record(inner, data[position : position + length])
            position += length

    def _record(self, header: dict[bytes, bytes], data: bytes) -> Iterator[RawMessage]:
        """Take note of a connection; yield a message if the record is one."""
        opcode = header.get(b"op")
        try:
            if opcode == bytes([_MESSAGE]):
                (number,) = _LENGTH.unpack(header[b"conn"])
                seconds, nanoseconds = _TIME.unpack(header[b"time"])
                if number in self._names:
                    time = seconds * 1_000_000_000 + nanoseconds
                    yield RawMessage(self._names[number], time, data)
            elif opcode == bytes([_CONNECTION]):
                self._connection(header, data)
        except (KeyError, struct.error, UnicodeDecodeError):
            self._damaged_chunks += 1

    def _connection(self, header: dict[bytes, bytes], data: bytes) -> None:
        (number,) = _LENGTH.unpack(header[b"conn"])
        parts = [part for part in header[b"topic"].decode().split("/") if part]
        topic = "/" + "/".join(parts)
        described, _ = _fields(_LENGTH.pack(len(data)) + data, 0)
        if described is None:
            raise KeyError("type")
        kind = described[b"type"].decode()
        text = described[b"message_definition"].decode()
        definition = MessageDefinition(MessageDefinitionFormat.MSG, text)
        self._names[number] = topic
        self.topics.setdefault(topic, BagTopic(topic, normalise_type(kind) or kind, 0, definition))


def _header(file: BinaryIO) -> dict[bytes, bytes] | None:
    """Return the next record's header fields; None at the end or where they make no sense."""
    start = file.tell()
    size = file.read(4)
    if len(size) == 4:
        length = _LENGTH.unpack(size)[0]
        content = file.read(length) if length < 2**20 else b""
        fields, _ = _fields(size + content, 0)
        if fields is not None:
            return fields
    file.seek(start)
    return None


def _data(file: BinaryIO) -> tuple[bytes, bool]:
    """Return the next record's data and whether they are all there."""
    size = file.read(4)
    if len(size) < 4:
        return b"", False
    length = _LENGTH.unpack(size)[0]
    data = file.read(length)
    return data, len(data) == length


def _fields(content: bytes, position: int) -> tuple[dict[bytes, bytes] | None, int]:
    """Return the ``name=value`` fields of a header and where it ends; None if it is damaged."""
    if position + 4 > len(content):
        return None, position
    end = position + 4 + _LENGTH.unpack_from(content, position)[0]
    position += 4
    fields: dict[bytes, bytes] = {}
    if end > len(content):
        return None, position
    while position + 4 <= end:
        (length,) = _LENGTH.unpack_from(content, position)
        name, separator, value = content[position + 4 : position + 4 + length].partition(b"=")
        if not separator or position + 4 + length > end:
            return None, position
        fields[name] = value
        position += 4 + length
    return fields, end
