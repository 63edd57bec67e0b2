"""How soon the filter node forecasts on a cold, busy machine, and what its code takes to compile.

    python -m benchmarks.first_forecast              as many busy processes as there are cores
    python -m benchmarks.first_forecast --busy 4     on a machine with a load of four more
    taskset -c 0 python -m benchmarks.first_forecast --busy 4     and all of it on one core

The default ensemble of six joints at 100 Hz, nothing kept of compiled code. The clock runs from
just before the first joint state to the receipt of the first forecast. Compiling is told in
processor seconds of a process that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.realtime import HORIZON, Driver, node, train
from benchmarks.tables import markdown

RATE = 100.0
SECONDS = 20.0
"""For which ticks are published, at the most."""


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep so many processes computing."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def first_forecast(model: Path, folder: Path) -> float:
    """Return the seconds from the first tick to the first forecast of a node just started."""
    command = ["executables/filter_node", "--ros-args", "-p", f"model_path:={model}"]
    command += ["-p", f"lead:={HORIZON}", "-p", f"horizon:={HORIZON}"]
    with node(command, folder, "serving"):
        driver = Driver(RATE, HORIZON)
        try:
            driver.connect()
            return driver.first_answer(SECONDS)
        finally:
            driver.close()


def compile_seconds() -> float:
    """Return the processor seconds that compiling for all kinds of models takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-m", "rffpsr_ros.psr.runtime.compiled_code"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(arguments: Sequence[str] | None = None) -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--busy", type=int, default=cores, help="busy processes (the cores)")
    parser.add_argument("--starts", type=int, default=3, help="of the node (3)")
    options = parser.parse_args(arguments)
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    rows = []
    with tempfile.TemporaryDirectory() as place:
        model = Path(place) / "joints.psr"
        train(RATE, model)
        for start in range(options.starts):
            os.environ["NUMBA_CACHE_DIR"] = str(Path(place) / f"cache_{start}")
            began = time.monotonic()
            with busy(options.busy):
                seconds = first_forecast(model, Path(place))
            rows.append([f"start {start + 1}", f"{seconds:.2f}", f"{time.monotonic() - began:.1f}"])
        os.environ["NUMBA_CACHE_DIR"] = str(Path(place) / "cache")
        compiling = compile_seconds()
    heads = ["", "first forecast after (s)", "with the node's start (s)"]
    print(f"{cores} cores, {options.busy} busy processes, empty caches:\n")
    print(markdown(heads, rows))
    print(f"\nCompiling all of it: {compiling:.1f} CPU s, nothing beside it.")


if __name__ == "__main__":
    main()
