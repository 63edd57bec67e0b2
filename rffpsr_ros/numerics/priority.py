"""The urgency of a process that works beside a robot."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def stand_back(niceness: int) -> None:
    """Leave the processor to what the robot needs, also where Linux divides it by sessions.

    A real-time priority, inherited from the node that started this process, is given up: with it
    hours of computing would keep everything else waiting.
    """
    with suppress(OSError):
        if os.sched_getscheduler(0) != os.SCHED_OTHER:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    with suppress(OSError):
        os.nice(niceness)
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text(str(niceness))
