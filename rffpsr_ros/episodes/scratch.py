"""Rows of numbers on disk, for what is read once and looked at often."""

from __future__ import annotations

import os
import tempfile
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_AT_ONCE = 2**24  # bytes


class Scratch:
    """One temporary file without a name: it is gone when the process is, however that ends.

    It lies where temporary files do (the environment variable TMPDIR).
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="rffpsr_")  # noqa: SIM115 lives with the object
        self._end = 0

    @property
    def end(self) -> int:
        """Where the next rows will be put."""
        return self._end

    def append(self, rows: Array) -> None:
        """Put rows (N, c) at the end."""
        data = rows.tobytes()
        while data:
            written = os.pwrite(self._file.fileno(), data, self._end)
            self._end += written
            data = data[written:]

    def read(self, place: int, start: int, stop: int, columns: int) -> Array:
        """Return rows ``start`` to ``stop`` (half-open) of those that begin at ``place``."""
        rows = np.empty((stop - start, columns))
        data = rows.reshape(-1).view(np.uint8)
        position, done = place + start * columns * rows.itemsize, 0
        while done < len(data):
            part = os.pread(self._file.fileno(), min(len(data) - done, _AT_ONCE), position + done)
            data[done : done + len(part)] = np.frombuffer(part, np.uint8)
            done += len(part)
        return rows


@lru_cache(maxsize=1)
def scratch() -> Scratch:
    """Return this process's scratch file."""
    return Scratch()
