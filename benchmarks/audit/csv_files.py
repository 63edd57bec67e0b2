"""Tables of text that a spreadsheet, a logger or a disk has spoilt."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.audit.case import Broken, Case, by_hand_and_damaged
from benchmarks.audit.runner import Group
from rffpsr_ros.recordings.table_file import read_table

GOOD = "time,position,speed\n" + "".join(f"{k / 50},{k % 7 / 3},{-k}\n" for k in range(40))

BY_HAND: dict[str, bytes] = {
    "empty": b"",
    "blank lines": b"\n\n\n",
    "header only": b"time,a\n",
    "no time column": b"x,y\n1,2\n",
    "a column twice": b"time,a,a\n0,1,2\n1,2,3\n",
    "time stands still": b"time,a\n0,1\n0,2\n",
    "time goes back": b"time,a\n1,1\n0,2\n",
    "time is no number": b"time,a\nnan,1\ninf,2\n",
    "time is huge": b"time,a\n1e300,1\n2e300,2\n",
    "a long exponent": b"time,a\n1e999999999,1\n",
    "ragged rows": b"time,a\n0\n1,2,3\n",
    "UTF-16": GOOD.encode("utf-16"),
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "a cell of a megabyte": b"time,a\n0," + b"9" * 2**20 + b"\n",
    "an open quote": b'time,"a\n0,1\n',
    "NUL in a name": b"time,a\x00b\n0,1\n1,2\n",
}


def cases(seed: int) -> Iterator[Case]:
    """Return the tables made by hand, then damaged ones without end."""
    return by_hand_and_damaged(BY_HAND, GOOD.encode(), _read, seed)


def _read(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(data)
        table = read_table(path)
    if not (np.diff(table.times_ns) > 0).all():
        raise Broken("untrue state", "times do not increase")


GROUP = Group("csv", cases, size=400, seconds=5.0)
