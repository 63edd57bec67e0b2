"""What a process takes of the machine, as Linux tells."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


class Health(NamedTuple):
    """A process at a moment: seconds since the start of the run, megabytes, counts."""

    at: float
    pss: float
    rss: float
    private: float
    descriptors: int
    threads: int
    processor_seconds: float


def health(pid: int, at: float) -> Health | None:
    """Return what a process takes now; None if it is gone.

    ``pss`` shares out what several processes have in common, ``private`` leaves it out: both change
    with whoever else runs the same libraries, ``rss`` does not.
    """
    folder = Path(f"/proc/{pid}")
    try:
        memory = (folder / "smaps_rollup").read_text(encoding="utf-8")
        descriptors = len(list((folder / "fd").iterdir()))
        fields = (folder / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    except OSError:
        return None
    sizes = {
        name: int(size) / 1024 for name, size in re.findall(r"^(\w+): +(\d+) kB", memory, re.M)
    }
    processor = (int(fields[11]) + int(fields[12])) / CLOCK_TICKS
    private = sizes["Private_Clean"] + sizes["Private_Dirty"]
    return Health(at, sizes["Pss"], sizes["Rss"], private, descriptors, int(fields[17]), processor)
