"""Reading a rosbag2 SQLite3 file directly: for recordings that were cut short.

A recorder that was killed leaves messages in a write-ahead log beside the file, and no
metadata.yaml; a copy that was cut short has pages missing.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.recordings.bags.source import NO_DEFINITION, BagTopic, RawMessage

MAGIC = b"SQLite format 3\0"
_FIRST_LEAP = 32
"""Rows skipped where one is unreadable; twice as many at each further try."""
_HOPELESS = 24
"""Tries after which nothing more is expected."""
MOST_TOPICS = 10_000
_TABLES = ("messages", "topics", "message_definitions", "schema", "metadata")
"""Which the library and this module read."""
_FORMATS = {"ros2msg": MessageDefinitionFormat.MSG, "ros2idl": MessageDefinitionFormat.IDL}


class Sqlite3Scan:
    """A `BagSource` of whatever is readable in a rosbag2 SQLite3 file.

    Messages come in the order in which they were written.

    Raises
    ------
    sqlite3.DatabaseError
        If not even the list of topics can be read.
    InputError
        If its tables are computed when they are read.
    """

    encoding: Literal["cdr", "ros1"] = "cdr"
    ros_distro: str | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.losses: list[str] = []
        self._temporary: TemporaryDirectory[str] | None = None
        self._database = self._open()
        try:
            check_tables(self._database)
            rows = self._database.execute("SELECT id, name, type FROM topics").fetchall()
            rows = [row for row in rows if list(map(type, row)) == [int, str, str]]
        except (sqlite3.Error, InputError):
            self.close()
            raise
        definitions = self._definitions()
        self._names = {number: name for number, name, _ in rows}
        self.topics = {
            name: BagTopic(name, kind, None, definitions.get(kind, NO_DEFINITION))
            for _, name, kind in rows
        }

    def messages(self, topics: Collection[str]) -> Iterator[RawMessage]:
        """Yield the messages of these topics in the order in which they were written."""
        chosen = {number: name for number, name in self._names.items() if name in topics}
        last, failures, damaged, odd = 0, 0, False, 0
        while failures < _HOPELESS:
            try:
                for row, number, time, data in self._rows_after(last):
                    if not isinstance(row, int) or row <= last:
                        odd += 1
                        continue
                    last, failures = row, 0
                    if number not in chosen:
                        continue
                    if isinstance(time, int) and time >= 0 and isinstance(data, bytes):
                        yield RawMessage(chosen[number], time, data)
                    else:
                        odd += 1
                break
            except sqlite3.DatabaseError:
                damaged = True
                last += _FIRST_LEAP << failures
                failures += 1
        if damaged:
            self.losses.append(
                f"pages of {self.path.name} are missing or damaged; what they held is lost"
            )
        if odd:
            self.losses.append(f"{odd} rows of {self.path.name} hold no message and are left out")

    def close(self) -> None:
        """Close the database."""
        self._database.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def _rows_after(self, last: int) -> Iterator[tuple[Any, Any, Any, Any]]:
        return self._database.execute(
            "SELECT id, topic_id, timestamp, data FROM messages WHERE id > ? ORDER BY id", (last,)
        )

    def _definitions(self) -> dict[str, MessageDefinition]:
        try:
            rows = self._database.execute(
                "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
            ).fetchall()
        except sqlite3.Error:
            return {}
        return {
            kind: MessageDefinition(_FORMATS[encoding], text)
            for kind, encoding, text in rows
            if encoding in _FORMATS and isinstance(kind, str) and isinstance(text, str)
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


def check_tables(database: sqlite3.Connection) -> None:
    """Refuse a file whose tables are not stored but computed: their rows can be endless.

    Raises
    ------
    InputError
        If it is one.
    sqlite3.Error
        If the list of tables cannot be read.
    """
    names = ", ".join(f"'{name}'" for name in _TABLES)
    found = database.execute(
        f"SELECT type, name, sql FROM sqlite_master WHERE lower(name) IN ({names})"
    ).fetchall()
    for kind, name, text in found:
        if kind != "table" or str(text).upper().split()[1:2] == ["VIRTUAL"]:
            raise InputError(f"its {shown(name)} is no table but computed when it is read")
        for column in database.execute(f"PRAGMA table_xinfo({name})"):
            if column[6]:
                raise InputError(f"column {shown(column[1])} of its table {name} is computed")
    count, distinct = database.execute("SELECT count(*), count(DISTINCT id) FROM topics").fetchone()
    if count > MOST_TOPICS or count != distinct:
        raise InputError(f"it has {count} topics under {distinct} numbers, {MOST_TOPICS} at most")


def check_file(path: Path) -> None:
    """Refuse a file as `check_tables` does; one that SQLite cannot read is for others to judge.

    Raises
    ------
    InputError
        If its tables are computed.
    """
    with suppress(sqlite3.Error), closing(_connect(path, "immutable=1")) as database:
        check_tables(database)


def _connect(path: Path, options: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?{options}", uri=True)
