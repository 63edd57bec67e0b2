"""Memory that was freed goes back to the system."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

FREED = """
import re
from pathlib import Path
from rffpsr_ros.nodes.filter.memory import give_back

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

pieces = [bytes(2000) for _ in range(20_000)]  # too small to be given back one by one
newest = bytes(2000)
before = resident()
del pieces
give_back()
print(before - resident())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library keeps nothing")
def test_what_was_freed_below_what_is_still_held_goes_back() -> None:
    words = [sys.executable, "-c", FREED]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert int(told) > 20_000  # of 40 MB, in kB
