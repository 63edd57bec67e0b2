"""Small bags written byte by byte, so that anything can stand where a writer puts the truth."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

Make = Callable[[Path], Path]
"""Makes a bag in a folder and returns its path."""

SUFFIXES = {"mcap": ".mcap", "sqlite3": ".db3"}

STORE = get_typestore(Stores.ROS2_JAZZY)
JOINTS, COMMANDS = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"
SECOND = 10**9
START = 100 * SECOND
STEP = SECOND // 20

CHANNELS: dict[str, Any] = {
    "rate": 20.0,
    "observation": {
        "inputs": ["arm"],
        "arm": {"topic": "/joints", "fields": ["position.elbow", "position.wrist"]},
    },
    "action": {
        "inputs": ["motor"],
        "motor": {"topic": "/command", "fields": ["data[0]"]},
    },
}
"""A channel configuration of the topics in these bags."""


class Topic(NamedTuple):
    """A topic as a bag declares it."""

    name: str
    type: str
    definition: str
    encoding: str = "ros2msg"
    serialisation: str = "cdr"


class Message(NamedTuple):
    """A message as a bag holds it."""

    topic: int
    time_ns: int
    data: bytes


def definition_of(type_name: str) -> str:
    """Return the definition that a recorder writes."""
    return str(STORE.generate_msgdef(type_name, ros_version=2)[0])


TOPICS = (
    Topic("/joints", JOINTS, definition_of(JOINTS)),
    Topic("/command", COMMANDS, definition_of(COMMANDS)),
)


def joints(stamp_ns: int, names: Sequence[str] = ("elbow", "wrist"), value: float = 0.5) -> bytes:
    """Return a JointState as it is serialised."""
    data = bytearray(struct.pack("<4xiI", stamp_ns // SECOND, stamp_ns % SECOND))
    data[1] = 1

    def put(form: str, number: float, size: int) -> None:
        data.extend(bytes(-(len(data) - 4) % size))
        data.extend(struct.pack("<" + form, number))

    put("I", 1, 4)
    data.extend(b"\0")
    put("I", len(names), 4)
    for name in names:
        put("I", len(name) + 1, 4)
        data.extend(name.encode() + b"\0")
    put("I", len(names), 4)
    for _ in names:
        put("d", value, 8)
    put("I", 0, 4)
    put("I", 0, 4)
    return bytes(data)


def command(*values: float) -> bytes:
    """Return a Float64MultiArray as it is serialised."""
    head = struct.pack("<4sIII", b"\0\1\0\0", 0, 0, len(values))
    return head + bytes(-(len(head) - 4) % 8) + struct.pack(f"<{len(values)}d", *values)


def recording(ticks: int = 40) -> list[Message]:
    """Return joint states at 20 Hz, and a command 10 ms before each."""
    messages = []
    for tick in range(ticks):
        time = START + tick * STEP
        messages.append(Message(1, time - SECOND // 100, command(tick / ticks)))
        messages.append(Message(0, time, joints(time, value=tick % 7 / 7)))
    return messages


def whole(folder: Path, storage: str, compression: str = "none") -> Path:
    """Write a bag as a recorder does, with metadata and index; return its storage file."""
    writer = Writer(folder, version=9, storage_plugin=StoragePlugin[storage.upper()])
    writer.set_compression(CompressionMode[compression.upper()], CompressionFormat.ZSTD)
    with writer:
        connections = [
            writer.add_connection(topic.name, topic.type, typestore=STORE) for topic in TOPICS
        ]
        for message in recording():
            writer.write(connections[message.topic], message.time_ns, message.data)
    (file,) = (path for path in folder.iterdir() if path.name != "metadata.yaml")
    return file


def write(
    file: Path, storage: str, topics: Sequence[Topic] = TOPICS, messages: Sequence[Message] = ()
) -> Path:
    """Write a storage file without metadata beside it."""
    (write_mcap if storage == "mcap" else write_sqlite3)(file, topics, messages or recording())
    return file


def written(storage: str, topics: Sequence[Topic], messages: Sequence[Message]) -> Make:
    """Return what makes a storage file without metadata beside it."""
    return lambda folder: write(folder / f"a{SUFFIXES[storage]}", storage, topics, messages)


def record(opcode: int, content: bytes, claimed: int | None = None) -> bytes:
    """Return a record of MCAP; ``claimed`` is the length that it says it has."""
    return struct.pack("<BQ", opcode, len(content) if claimed is None else claimed) + content


def text(value: str | bytes) -> bytes:
    """Return a text of MCAP."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<I", len(data)) + data


MCAP_MAGIC = b"\x89MCAP0\r\n"


def mcap_head(topics: Sequence[Topic]) -> bytes:
    """Return the beginning of an MCAP file, up to the first message."""
    parts = [MCAP_MAGIC, record(1, text("ros2") + text("hostile"))]
    for number, topic in enumerate(topics, 1):
        schema = struct.pack("<H", number) + text(topic.type) + text(topic.encoding)
        parts.append(record(3, schema + text(topic.definition)))
        channel = struct.pack("<HH", number, number) + text(topic.name)
        parts.append(record(4, channel + text(topic.serialisation) + text("")))
    return b"".join(parts)


def mcap_message(message: Message) -> bytes:
    """Return the record of a message."""
    time = message.time_ns % 2**64
    return record(5, struct.pack("<HIQQ", message.topic + 1, 0, time, time) + message.data)


def mcap_chunk(
    records: bytes, compression: str = "", size: int | None = None, checksum: bool = True
) -> bytes:
    """Return a chunk; ``records`` are as they are stored, ``size`` is what it says they become."""
    crc = crc32(records) if checksum and not compression else 0
    head = struct.pack("<QQQI", START, 2 * START, len(records) if size is None else size, crc)
    return record(6, head + text(compression) + struct.pack("<Q", len(records)) + records)


MCAP_END = record(15, bytes(4)) + record(2, bytes(20)) + MCAP_MAGIC


def write_mcap(file: Path, topics: Sequence[Topic], messages: Sequence[Message]) -> None:
    """Write an MCAP file without chunks and index."""
    file.write_bytes(mcap_head(topics) + b"".join(map(mcap_message, messages)) + MCAP_END)


TABLES = """
CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
INSERT INTO schema VALUES (4, 'jazzy');
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL,
 serialization_format TEXT NOT NULL, offered_qos_profiles TEXT NOT NULL,
 type_description_hash TEXT NOT NULL);
CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL,
 encoding TEXT NOT NULL, encoded_message_definition TEXT NOT NULL,
 type_description_hash TEXT NOT NULL);
CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL,
 timestamp INTEGER NOT NULL, data BLOB NOT NULL);
"""


def write_sqlite3(
    file: Path, topics: Sequence[Topic], messages: Sequence[Message], afterwards: str = ""
) -> None:
    """Write a SQLite3 file; ``afterwards`` is SQL that is run at the end."""
    with closing(sqlite3.connect(file)) as database:
        database.executescript(TABLES)
        for number, topic in enumerate(topics, 1):
            row = (number, topic.name, topic.type, topic.serialisation, "", "")
            database.execute("INSERT INTO topics VALUES (?, ?, ?, ?, ?, ?)", row)
            defined = (number, topic.type, topic.encoding, topic.definition, "")
            database.execute("INSERT INTO message_definitions VALUES (?, ?, ?, ?, ?)", defined)
        database.executemany(
            "INSERT INTO messages(topic_id, timestamp, data) VALUES (?, ?, ?)",
            [(one.topic + 1, min(one.time_ns, 2**63 - 1), one.data) for one in messages],
        )
        database.commit()
        database.executescript(afterwards)
        database.commit()
