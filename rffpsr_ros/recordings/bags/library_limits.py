"""Limits for the library that reads whole bags: what a file claims of itself may not be so.

rosbags decompresses without a limit, reads as many bytes as a record says it has, and hands texts
of a bag to a YAML parser. Here its functions are given others that refuse first and do the same
then. `test/recordings/bags/test_hostile_bags.py` fails should a release no longer call them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from io import BytesIO
from types import SimpleNamespace
from typing import Any, BinaryIO

from rosbags.rosbag1 import reader as rosbag1_reader
from rosbags.rosbag2 import reader as rosbag2_reader
from rosbags.rosbag2 import storage_mcap, storage_sqlite3

from rffpsr_ros.recordings.bags.decompression import (
    MOST_AT_ONCE,
    TooLarge,
    decompress,
    most_of_file,
    open_zstd,
)
from rffpsr_ros.recordings.bags.sqlite3_scan import check_file
from rffpsr_ros.signals.yaml_text import check_yaml

MOST_RECORDS = 2**20
"""Of a chunk; in memory a record takes some hundred bytes beside its own."""

_MANY = 9 * MOST_RECORDS
"""Bytes below which no chunk has more records: each takes 9 at least."""


def set_limits() -> None:
    """Give rosbags functions with limits; once in a process is enough."""
    mcap: Any = storage_mcap
    mcap.DECOMPRESSORS["zstd"] = partial(_chunk, "zstd")
    mcap.DECOMPRESSORS["lz4"] = partial(_chunk, "lz4")
    mcap.DECOMPRESSORS[""] = partial(_chunk, "")
    mcap.read_exact = _guarded(mcap.read_exact)
    rosbag1: Any = rosbag1_reader
    rosbag1.decompressors["bz2"] = partial(decompress, compression="bz2", whole=True)
    rosbag1.decompressors["lz4"] = partial(decompress, compression="lz4", whole=True)
    rosbag1.read_bytes = _guarded(rosbag1.read_bytes)
    folder: Any = rosbag2_reader
    folder.zstd = SimpleNamespace(
        decompress=partial(decompress, compression="zstd", whole=True),
        open=_LimitedFile,
    )
    sqlite3: Any = storage_sqlite3.Sqlite3Reader
    sqlite3.open = _checked_open(sqlite3.open)
    for module in (storage_mcap, storage_sqlite3, rosbag2_reader):
        module.parse_qos = _checked_qos(module.parse_qos)  # type: ignore[attr-defined]


def check_chunks(reader: Any) -> None:
    """Refuse an index whose chunks are too large together, or those of the same time are.

    Raises
    ------
    TooLarge
        If they are: a reader of MCAP holds all chunks of the same time at once.
    """
    storage = getattr(reader, "storage", None)
    for file in getattr(storage, "storages", [storage]):
        changes: list[tuple[int, int]] = []
        for chunk in getattr(file, "chunks", ()):
            changes.append((chunk.message_start_time, chunk.uncompressed_size))
            changes.append((chunk.message_end_time + 1, -chunk.uncompressed_size))
        whole = sum(size for _, size in changes if size > 0)
        if changes and whole > most_of_file(file.path.stat().st_size):
            raise TooLarge(f"its chunks become {whole} bytes")
        held = 0
        for _, change in sorted(changes):
            held += change
            if held > 2 * MOST_AT_ONCE:
                raise TooLarge(f"chunks of the same time have more than {2 * MOST_AT_ONCE} bytes")


def _chunk(compression: str, data: bytes, size: int) -> bytes:
    if size > MOST_AT_ONCE:
        raise TooLarge(f"a chunk has {size} bytes; it may have {MOST_AT_ONCE}")
    records = decompress(data, compression, whole=True) if compression else data
    if len(records) > _MANY and count_records(records) > MOST_RECORDS:
        raise TooLarge(f"a chunk has more than {MOST_RECORDS} records")
    return records


def count_records(records: bytes) -> int:
    """Return the number of records in a chunk; one more than `MOST_RECORDS` ends the count."""
    count, position = 0, 0
    while position + 9 <= len(records) and count <= MOST_RECORDS:
        position += 9 + int.from_bytes(records[position + 1 : position + 9], "little")
        count += 1
    return count


def _guarded(read: Callable[[BinaryIO, int], bytes]) -> Callable[[BinaryIO, int], bytes]:
    """Return a function that reads no more than a file has, before memory is set aside for it."""

    def guarded(file: BinaryIO, size: int) -> bytes:
        if size > 2**20 and not isinstance(file, BytesIO):
            left = os.fstat(file.fileno()).st_size - file.tell()
            if size > left:
                raise EOFError(f"a record claims {size} bytes where {left} are left")
        return read(file, size)

    return guarded


class _LimitedFile:
    """A compressed file, as the library reads one of a folder."""

    def __init__(self, file: BinaryIO, mode: str) -> None:
        self._stream = open_zstd(file)
        self._left = most_of_file(os.fstat(file.fileno()).st_size)

    def __enter__(self) -> _LimitedFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def read(self, size: int) -> bytes:
        part: bytes = self._stream.read(size)
        self._left -= len(part)
        if self._left < 0:
            raise TooLarge("a file becomes too large when it is decompressed")
        return part


def _checked_open(open_file: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a function that opens a file of SQLite once its tables are known to be stored."""

    def checked(reader: Any) -> None:
        check_file(reader.path)
        open_file(reader)

    return checked


def _checked_qos(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def checked(text: Any) -> Any:
        if isinstance(text, str):
            check_yaml(text)
        return parse(text)

    return checked
