"""Opening a bag of any kind: by rosbags where it is whole, a damaged rosbag2 record by record."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from rosbags.interfaces import Connection
from rosbags.rosbag1 import Reader as Reader1
from rosbags.rosbag2 import Reader as Reader2

from rffpsr_ros.errors import InputError, plain, shown
from rffpsr_ros.recordings.bags import mcap_scan, sqlite3_scan
from rffpsr_ros.recordings.bags.decompression import (
    ZSTD_MAGIC,
    TooLarge,
    decompress,
    decompress_file,
)
from rffpsr_ros.recordings.bags.library_limits import check_chunks, set_limits
from rffpsr_ros.recordings.bags.source import (
    LATEST_NS,
    BagSource,
    BagTopic,
    ChainedSource,
    RawMessage,
)
from rffpsr_ros.signals.yaml_text import LONGEST, check_yaml

set_limits()

STORAGE_SUFFIXES = (".mcap", ".db3", ".mcap.zstd", ".db3.zstd")

_LONGEST_REASON = 200
"""Characters of what a library says; some quote the whole file."""

ROS1_MAGIC = b"#ROSBAG V2.0\n"

_SCANS: dict[bytes, Callable[[Path], BagSource]] = {
    mcap_scan.MAGIC: mcap_scan.McapScan,
    sqlite3_scan.MAGIC: sqlite3_scan.Sqlite3Scan,
}


def open_bag(path: Path) -> BagSource:
    """Open a bag: a rosbag2 folder, one of its storage files, or a ROS 1 bag.

    Raises
    ------
    InputError
        If it cannot be read, is no bag, or nothing in it is readable.
    """
    try:
        if path.exists() and not (path.is_dir() or path.is_file()):
            raise InputError(f"bag {path} is neither a file nor a folder")
        return _open_folder(path) if path.is_dir() else _open_file(path)
    except OSError as problem:
        raise InputError(f"bag {path} cannot be read: {problem.strerror or problem}") from None


class RosbagsSource:
    """A `BagSource` over a whole bag, read by rosbags."""

    def __init__(self, path: Path, encoding: Literal["cdr", "ros1"]) -> None:
        self.path = path
        self.encoding = encoding
        self.losses: list[str] = []
        self._reader = Reader1(path) if encoding == "ros1" else Reader2(path)
        try:
            self._reader.open()
            check_chunks(self._reader)
        except Exception:
            with suppress(Exception):
                self._reader.close()
            raise
        self._is_open = True
        self.ros_distro = _distro(self._reader)
        self.topics: dict[str, BagTopic] = {}
        for connection in self._reader.connections:
            name: object = connection.topic
            if not isinstance(name, str):  # a cell of SQLite holds anything
                continue
            known = self.topics.setdefault(
                name,
                BagTopic(name, connection.msgtype, 0, connection.msgdef),
            )
            known.count = (known.count or 0) + connection.msgcount

    def messages(self, topics: Collection[str]) -> Iterator[RawMessage]:
        """Yield the messages of these topics in log order.

        Where a rosbag2 file turns out to be damaged the rest is read record by record.
        """
        chosen: list[Connection] = [c for c in self._reader.connections if c.topic in topics]
        if not chosen:
            return
        time = 0
        try:
            for connection, receive_ns, data in self._reader.messages(connections=chosen):
                if not isinstance(data, (bytes, bytearray, memoryview)):
                    raise TypeError(f"a message is no bytes but of type {type(data).__name__}")
                time = receive_ns
                if not 0 <= time <= LATEST_NS:
                    raise ValueError(f"a message has the time {time} ns")
                yield RawMessage(connection.topic, time, bytes(data))
            return
        except GeneratorExit:
            raise
        except Exception as problem:  # rosbags lets errors of many kinds through.
            self.losses.append(f"{self.path.name} is damaged: {_sentence(problem)}")
        yield from self._rest(topics, time)

    def close(self) -> None:
        """Close the bag; a closed one stays closed."""
        if self._is_open:
            self._is_open = False
            self._reader.close()

    def _rest(self, topics: Collection[str], time: int) -> Iterator[RawMessage]:
        files = [self.path] if self.path.is_file() else _storage_files(self.path)
        for file in files:
            with suppress(Exception):
                scan = _scan(file)
                if scan is not None:
                    rest = (m for m in scan.messages(topics) if m.receive_ns > time)
                    yield from map(_decompressed, rest)
                    scan.close()


class _WithoutFolder:
    """A storage source whose messages may be compressed, which only the lost metadata said."""

    def __init__(self, source: BagSource, temporary: TemporaryDirectory[str] | None) -> None:
        self._source = source
        self._temporary = temporary
        self.topics = source.topics
        self.encoding = source.encoding
        self.ros_distro = source.ros_distro
        self.losses = source.losses

    def messages(self, topics: Collection[str]) -> Iterator[RawMessage]:
        """Yield the messages of these topics, decompressed."""
        return map(_decompressed, self._source.messages(topics))

    def close(self) -> None:
        """Release files."""
        self._source.close()
        if self._temporary is not None:
            self._temporary.cleanup()


def _decompressed(message: RawMessage) -> RawMessage:
    """Return a message that may be compressed as it was; damaged ones stay as they are."""
    if message.data.startswith(ZSTD_MAGIC):
        try:
            return message._replace(data=decompress(message.data, "zstd"))
        except TooLarge as problem:
            raise InputError(f"a message of {plain(message.topic)} is refused: {problem}") from None
        except Exception:  # The library's own.
            return message
    return message


def _open_folder(path: Path) -> BagSource:
    problem = "metadata.yaml is missing"
    if (path / "metadata.yaml").exists():
        try:
            _check_folder(path)
            return RosbagsSource(path, "cdr")
        except PermissionError:
            raise
        except Exception as caught:  # rosbags lets errors of many kinds through.
            problem = _sentence(caught)
    files = _storage_files(path)
    if not files:
        raise InputError(f"bag {path} holds no .mcap or .db3 file ({problem})")
    parts: list[BagSource] = []
    losses = [f"{path.name} was not closed properly ({problem})"]
    for file in files:
        try:
            parts.append(_open_file(file))
        except InputError as unreadable:
            losses.append(str(unreadable))
    if not parts:
        raise InputError("; ".join(losses))
    return ChainedSource(parts, losses=losses)


def _check_folder(path: Path) -> None:
    """Refuse metadata that would take long or much to read, and pipes and devices beside them.

    Raises
    ------
    Exception
        That says what.
    """
    for entry in path.iterdir():
        if entry.exists() and not (entry.is_file() or entry.is_dir()):
            raise InputError(f"{plain(entry.name)} in it is no file")
    with (path / "metadata.yaml").open("rb") as content:
        check_yaml(content.read(4 * LONGEST).decode())


def _storage_files(path: Path) -> list[Path]:
    """Return the storage files of a rosbag2 folder in the order of their numbers."""
    files = [
        file for file in path.iterdir() if file.name.endswith(STORAGE_SUFFIXES) and file.is_file()
    ]
    return sorted(files, key=natural_order)


def natural_order(path: Path) -> list[tuple[int, str]]:
    """Return a sort key by which bag_2 comes before bag_10."""
    parts = re.split(r"(\d+)", str(path))
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def _open_file(path: Path) -> BagSource:
    temporary = None
    losses = []
    with path.open("rb") as file:
        magic = file.read(16)
    if magic.startswith(ZSTD_MAGIC) and path.name.endswith(".zstd"):
        temporary = TemporaryDirectory()
        target = Path(temporary.name) / path.stem
        problem = decompress_file(path, target)
        if problem is not None:
            losses.append(f"{path.name} is cut short or damaged: {problem}")
        path = target
    elif magic.startswith(ROS1_MAGIC):
        return _open_ros1(path)
    source = _whole_or_scanned(path)
    source.losses[:0] = losses
    return _WithoutFolder(source, temporary)


def _open_ros1(path: Path) -> BagSource:
    """Open a ROS 1 bag, which rosbags reads by its index.

    The recorder writes the index last, so that a bag cut short has none. `rosbag reindex` writes
    it anew from the chunks that are complete, and Debian and Ubuntu have it without ROS 1.
    """
    try:
        return RosbagsSource(path, "ros1")
    except PermissionError:
        raise
    except Exception as problem:  # rosbags lets errors of many kinds through.
        raise InputError(
            f"ROS 1 bag {path} has no index or a damaged one ({_sentence(problem)});"
            f" 'rosbag reindex {path.name}' writes a new one and keeps a copy of the bag (the"
            " command comes with ROS 1 and with the package python3-rosbag of Debian and Ubuntu;"
            " run it where no ROS 2 is sourced)"
        ) from None


def _whole_or_scanned(path: Path) -> BagSource:
    log = path.with_name(path.name + "-wal")
    if not (log.exists() and log.stat().st_size):  # rosbags does not look into the log.
        try:
            return RosbagsSource(path, "cdr")
        except PermissionError:
            raise
        except Exception as caught:  # rosbags lets errors of many kinds through.
            problem = _sentence(caught)
    else:
        problem = "its log holds no topics"
    try:
        scan = _scan(path)
    except PermissionError:
        raise
    except Exception as caught:  # So does SQLite.
        scan, problem = None, _sentence(caught)
    if scan is None:
        hint = "; 'rffpsr csv2bag' makes a bag of a table" if path.suffix == ".csv" else ""
        raise InputError(
            f"{path} is no readable bag, neither rosbag2 (.mcap, .db3) nor ROS 1 (.bag):"
            f" {problem}{hint}"
        )
    if not scan.topics:
        raise InputError(f"bag {path} holds nothing readable ({problem})")
    return scan


def _scan(path: Path) -> BagSource | None:
    """Return a scan of a file of known kind, else None."""
    with path.open("rb") as file:
        start = file.read(16)
    for magic, scan in _SCANS.items():
        if start.startswith(magic):
            return scan(path)
    return None


def _distro(reader: Reader1 | Reader2) -> str | None:
    """Return the distribution in a rosbag2's metadata; several versions keep it in two places."""
    found = getattr(reader, "ros_distro", None)
    if found is None:
        metadata = getattr(getattr(reader, "storage", None), "metadata", None)
        found = getattr(metadata, "ros_distro", None)
    return found if isinstance(found, str) and found != "rosbags" else None


def _sentence(problem: Exception) -> str:
    text = " ".join(str(problem).split()).rstrip(".")
    if len(text) > _LONGEST_REASON or not text.isprintable():
        return shown(text, _LONGEST_REASON)
    return text or type(problem).__name__
