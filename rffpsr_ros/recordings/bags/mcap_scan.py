"""Reading an MCAP file record by record, as far as it goes: for recordings that were cut short.

The format is that of the MCAP specification, version 0 (records of an opcode, a length and a
content, little-endian).
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from os import SEEK_CUR
from pathlib import Path
from typing import BinaryIO, Literal
from zlib import crc32

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

from rffpsr_ros.recordings.bags.decompression import (
    MOST_AT_ONCE,
    TooLarge,
    decompress,
    most_of_file,
)
from rffpsr_ros.recordings.bags.library_limits import MOST_RECORDS, count_records
from rffpsr_ros.recordings.bags.source import LATEST_NS, NO_DEFINITION, BagTopic, RawMessage

MAGIC = b"\x89MCAP0\r\n"
_SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _DATA_END, _FOOTER = 0x03, 0x04, 0x05, 0x06, 0x0F, 0x02
_READ_HERE = (_SCHEMA, _CHANNEL, _MESSAGE)
_RECORD = struct.Struct("<BQ")
_MESSAGE_HEAD = struct.Struct("<HIQQ")
_CHUNK_HEAD = struct.Struct("<QQQI")
_FORMATS = {
    "ros2msg": MessageDefinitionFormat.MSG,
    "ros2idl": MessageDefinitionFormat.IDL,
    "omgidl": MessageDefinitionFormat.IDL,
}


class McapScan:
    """A `BagSource` of whatever is readable in an MCAP file."""

    encoding: Literal["cdr", "ros1"] = "cdr"
    ros_distro: str | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.topics: dict[str, BagTopic] = {}
        self.losses: list[str] = []
        self._schemas: dict[int, tuple[str, MessageDefinition]] = {}
        self._topic_by_channel: dict[int, str] = {}
        self._damaged_chunks = 0
        self._cut = False
        self._refusal = ""
        self._grown = 0
        for message in self._scan():
            topic = self.topics[message.topic]
            topic.count = (topic.count or 0) + 1
        if self._damaged_chunks:
            self.losses.append(f"{self._damaged_chunks} damaged chunks of {path.name} are left out")
        if self._refusal:
            self.losses.append(
                f"{path.name} is read up to a chunk that is refused: {self._refusal}"
            )
        elif self._cut:
            self.losses.append(f"{path.name} ends in the middle of a record; the rest is lost")

    def messages(self, topics: Collection[str]) -> Iterator[RawMessage]:
        """Yield the messages of these topics, chunk by chunk, in log order within each."""
        return (message for message in self._scan() if message.topic in topics)

    def close(self) -> None:
        """Do nothing: the file is open only while it is read."""

    def _scan(self) -> Iterator[RawMessage]:
        self._damaged_chunks = 0
        self._cut = False
        self._refusal = ""
        self._grown = 0
        size = self.path.stat().st_size
        with self.path.open("rb") as file:
            file.seek(len(MAGIC))
            while True:
                head = file.read(_RECORD.size)
                if len(head) < _RECORD.size:
                    self._cut = True  # Even an empty file ends with a footer.
                    return
                opcode, length = _RECORD.unpack(head)
                if opcode in (_DATA_END, _FOOTER):
                    return
                whole = length <= size - file.tell()
                if opcode == _CHUNK:
                    try:
                        yield from self._chunk(file, min(length, size - file.tell()), whole)
                    except TooLarge as problem:
                        self._refusal = str(problem)
                        return
                elif whole and opcode in _READ_HERE and length <= MOST_AT_ONCE:
                    yield from self._record(opcode, file.read(length))
                elif whole:
                    file.seek(length, SEEK_CUR)
                if not whole:
                    self._cut = True
                    return

    def _chunk(self, file: BinaryIO, length: int, whole: bool) -> Iterator[RawMessage]:
        if length > MOST_AT_ONCE:
            raise TooLarge(f"it has {length} bytes")
        records = _chunk_records(file.read(length), whole)
        if records is None:
            self._damaged_chunks += whole
            return
        self._grown += len(records)
        if self._grown > most_of_file(self.path.stat().st_size):
            raise TooLarge(f"chunks become more than {self._grown} bytes")
        messages: list[RawMessage] = []
        position = 0
        while position + _RECORD.size <= len(records):
            opcode, size = _RECORD.unpack_from(records, position)
            position += _RECORD.size
            if position + size > len(records):
                break
            messages += self._record(opcode, records[position : position + size])
            position += size
        yield from sorted(messages, key=lambda message: message.receive_ns)

    def _record(self, opcode: int, content: bytes) -> list[RawMessage]:
        """Take note of a schema or channel; return a message if the record is one."""
        try:
            if opcode == _MESSAGE:
                channel, _, log_time, _ = _MESSAGE_HEAD.unpack_from(content)
                topic = self._topic_by_channel.get(channel)
                if topic is not None and log_time <= LATEST_NS:
                    return [RawMessage(topic, log_time, content[_MESSAGE_HEAD.size :])]
            elif opcode == _SCHEMA:
                self._schema(content)
            elif opcode == _CHANNEL:
                self._channel(content)
        except (struct.error, UnicodeDecodeError):
            self._damaged_chunks += 1
        return []

    def _schema(self, content: bytes) -> None:
        (number,) = struct.unpack_from("<H", content)
        name, position = _text(content, 2)
        encoding, position = _text(content, position)
        data, _ = _text(content, position)
        known = _FORMATS.get(encoding)
        definition = NO_DEFINITION if known is None else MessageDefinition(known, data)
        self._schemas[number] = (name, definition)

    def _channel(self, content: bytes) -> None:
        number, schema = struct.unpack_from("<HH", content)
        topic, _ = _text(content, 4)
        name, definition = self._schemas.get(schema, ("", NO_DEFINITION))
        self._topic_by_channel[number] = topic
        self.topics.setdefault(topic, BagTopic(topic, name, 0, definition))


def _text(content: bytes, position: int) -> tuple[str, int]:
    (length,) = struct.unpack_from("<I", content, position)
    start = position + 4
    return content[start : start + length].decode(), start + length


def _chunk_records(content: bytes, whole: bool) -> bytes | None:
    """Return the records in a chunk, as far as they can be decompressed; None if it is damaged."""
    try:
        _, _, size, checksum = _CHUNK_HEAD.unpack_from(content)
        compression, position = _text(content, _CHUNK_HEAD.size)
        data = content[position + 8 :]
        if compression:
            data = decompress(data, compression)
    except TooLarge:
        raise
    except Exception:  # The decompressors have no common error.
        return None
    if count_records(data) > MOST_RECORDS:
        raise TooLarge(f"it has more than {MOST_RECORDS} records")
    if whole and (len(data) != size or (checksum and crc32(data) != checksum)):
        return None
    return data
