"""Writing bags: what this package records or computes, for itself and for every ROS tool."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from rosbags.interfaces import Connection
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.rosbag2.errors import WriterError
from rosbags.typesys import Stores, get_typestore
from rosbags.typesys.store import Typestore

from rffpsr_ros.errors import InputError, did_you_mean
from rffpsr_ros.signals.channel import normalise_type

_PLUGINS = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}


class BagWriter:
    """A new rosbag2 folder; a context manager that leaves a whole bag behind, or says why not.

    Parameters
    ----------
    path
        The folder; it must not exist yet.
    storage
        ``mcap`` or ``sqlite3``.
    labels
        Texts kept in the bag's metadata (``custom_data``).
    typestore
        The message types; default: those of the latest long-term distribution known.

    Raises
    ------
    InputError
        If the folder exists or cannot be created.
    """

    def __init__(
        self,
        path: str | Path,
        storage: Literal["mcap", "sqlite3"] = "mcap",
        labels: Mapping[str, str] | None = None,
        typestore: Typestore | None = None,
    ) -> None:
        self.path = Path(path)
        self.typestore = get_typestore(Stores.LATEST) if typestore is None else typestore
        self._connections: dict[str, Connection] = {}
        try:
            self._writer = Writer(self.path, version=9, storage_plugin=_PLUGINS[storage])
            for key, value in (labels or {}).items():
                self._writer.set_custom_data(key, value)
            self._writer.open()
        except WriterError:
            raise InputError(f"bag {path} exists already; choose another name") from None
        except OSError as problem:
            raise InputError(f"bag {path} cannot be written: {problem.strerror}") from None

    def __enter__(self) -> BagWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def add_topic(self, topic: str, type_name: str) -> None:
        """Declare a topic; needed once before messages of it are written.

        Raises
        ------
        InputError
            If the type is unknown.
        """
        name = normalise_type(type_name) or type_name
        if name not in self.typestore.fielddefs:
            raise InputError(
                f"message type {type_name} is unknown{did_you_mean(name, self.typestore.fielddefs)}"
            )
        self._connections[topic] = self._writer.add_connection(
            topic, name, typestore=self.typestore
        )

    def write(self, topic: str, time_ns: int, message: Any) -> None:
        """Write a message of the typestore's classes under a time (ns)."""
        connection = self._connections[topic]
        self.write_raw(topic, time_ns, self.typestore.serialize_cdr(message, connection.msgtype))

    def write_raw(self, topic: str, time_ns: int, data: bytes | memoryview) -> None:
        """Write a message that is serialised already (CDR)."""
        self._writer.write(self._connections[topic], time_ns, data)

    def flush(self) -> None:
        """Make what was written so far readable even if the process is killed now (MCAP only)."""
        storage: Any = self._writer.storage
        if storage.chunk.msgs:
            storage.close_chunk()
            storage.bio.flush()

    def message(self, type_name: str, **fields: Any) -> Any:
        """Return a message of the typestore; all of its fields must be given."""
        return self.typestore.types[type_name](**fields)

    def close(self) -> None:
        """Complete the bag; its file is closed even where that fails, as on a full disk."""
        file = getattr(self._writer.storage, "bio", None)  # MCAP's
        try:
            self._writer.close()
        finally:
            if file is not None:
                with suppress(OSError):
                    file.close()
