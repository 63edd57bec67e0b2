"""What computes beside a robot stands back, however urgent the node is that started it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

TOLD = (
    "import os; from rffpsr_ros.numerics.priority import stand_back; stand_back(5);"
    "print(os.sched_getscheduler(0) == os.SCHED_OTHER, os.nice(0))"
)


def told(before: str) -> list[str]:
    """Return whether a process that ran ``before`` has an ordinary priority, and its niceness."""
    words = [sys.executable, "-c", f"import os; {before}; {TOLD}"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()


def test_a_process_stands_back_by_so_much_more() -> None:
    assert told("os.nice(2)") == ["True", str(min(19, os.nice(0) + 7))]


def test_a_real_time_priority_is_given_up() -> None:
    urgent = "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"
    words = [sys.executable, "-c", f"import os; {urgent}"]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("only a privileged process may be given a real-time priority")
    assert told(urgent)[0] == "True"
