"""Reading a rosbag2 SQLite3 file directly: for recordings that were cut short.

A recorder that was killed leaves messages in a write-ahead log beside the file, and no
metadata.yaml; a copy that was cut short has pages missing.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

from rffpsr_ros.recordings.bags.source import NO_DEFINITION, BagTopic, RawMessage

MAGIC = b"SQLite format 3\0"
_FIRST_LEAP = 32
"""Rows skipped where one is unreadable; twice as many at each further try."""
_HOPELESS = 24
"""Tries after which nothing more is expected."""
_FORMATS = {"ros2msg": MessageDefinitionFormat.MSG, "ros2idl": MessageDefinitionFormat.IDL}


class Sqlite3Scan:
    """A `BagSource` of whatever is readable in a rosbag2 SQLite3 file.

    Messages come in the order in which they were written.

    Raises
    ------
    sqlite3.DatabaseError
        If not even the list of topics can be read.
    """

    encoding: Literal["cdr", "ros1"] = "cdr"
    ros_distro: str | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.losses: list[str] = []
        self._temporary: TemporaryDirectory[str] | None = None
        self._database = self._open()
        try:
            rows = self._database.execute("SELECT id, name, type FROM topics").fetchall()
        except sqlite3.DatabaseError:
            self.close()
            raise
        definitions = self._definitions()
        self._names = {int(number): str(name) for number, name, _ in rows}
        self.topics = {
            str(name): BagTopic(str(name), str(kind), None, definitions.get(kind, NO_DEFINITION))
            for _, name, kind in rows
        }

    def messages(self, topics: Collection[str]) -> Iterator[RawMessage]:
        """Yield the messages of these topics in the order in which they were written."""
        chosen = {number: name for number, name in self._names.items() if name in topics}
        last, failures, damaged = 0, 0, False
        while failures < _HOPELESS:
            try:
                for row, number, time, data in self._rows_after(last):
                    last, failures = row, 0
                    if number in chosen:
                        yield RawMessage(chosen[number], int(time), bytes(data))
                break
            except sqlite3.DatabaseError:
                damaged = True
                last += _FIRST_LEAP << failures
                failures += 1
        if damaged:
            self.losses.append(
                f"pages of {self.path.name} are missing or damaged; what they held is lost"
            )

    def close(self) -> None:
        """Close the database."""
        self._database.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def _rows_after(self, last: int) -> Iterator[tuple[int, int, int, bytes]]:
        return self._database.execute(
            "SELECT id, topic_id, timestamp, data FROM messages WHERE id > ? ORDER BY id", (last,)
        )

    def _definitions(self) -> dict[str, MessageDefinition]:
        try:
            rows = self._database.execute(
                "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
            ).fetchall()
        except sqlite3.DatabaseError:
            return {}
        return {
            str(kind): MessageDefinition(_FORMATS[encoding], str(text))
            for kind, encoding, text in rows
            if encoding in _FORMATS
        }

    def _open(self) -> sqlite3.Connection:
        """Open for reading, with the write-ahead log; from a copy if the folder is read-only."""
        log = self.path.with_name(self.path.name + "-wal")
        if not log.exists() or log.stat().st_size == 0:
            database = _connect(self.path, "immutable=1")
            # Else SQLite refuses any file that is shorter than it says.
            database.execute("PRAGMA writable_schema=ON")
            return database
        try:
            database = _connect(self.path, "mode=ro")
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return database
        except sqlite3.DatabaseError:
            self._temporary = TemporaryDirectory()
            copy = Path(self._temporary.name) / self.path.name
            shutil.copyfile(self.path, copy)
            shutil.copyfile(log, copy.with_name(log.name))
            return sqlite3.connect(copy)


def _connect(path: Path, options: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?{options}", uri=True)
