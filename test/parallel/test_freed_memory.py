"""Memory that was freed is at hand for the next array, where one learns and where a worker runs."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import numpy as np
from rffpsr_ros.parallel.freed_memory import keep_freed_memory
from rffpsr_ros.parallel.processes import workers_for

if sys.argv[1] == "keep":
    keep_freed_memory()
if sys.argv[1] == "learn":
    with workers_for(None, 1):
        pass

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

np.ones(50_000)
before = faults()
for _ in range(100):
    np.ones(50_000)
print(faults() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the GNU C library's")
def test_a_process_like_dasks_workers_gets_no_new_pages_for_every_array() -> None:
    faults = {}
    for what in ("leave", "keep", "learn"):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, what],
            env={**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"},
            capture_output=True,
            text=True,
            check=True,
        )
        faults[what] = int(done.stdout)
    assert faults["leave"] > 5000  # a hundred times the pages of 400 kB
    assert faults["keep"] < 500
    assert faults["learn"] < 500
