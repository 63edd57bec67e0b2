"""Two workers of a Dask cluster on this machine beside one process: the same bits, in what time.

    python -m benchmarks.speed_cluster               both stages, 200 000 windows, D = 200
    python -m benchmarks.speed_cluster --windows 50000 --json cluster.json

Seconds are the clock's: they are what a cluster is for. Every process has one BLAS thread. In the
last run a worker is killed when a third of the time is over that the run before it took.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed_jobs import FUTURE, PAST, RANK, recording
from benchmarks.tables import markdown, number
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.window_source import RunInMemory, WindowSource
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.parallel.cluster import Cluster
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.psr.two_stage import TwoStageOptions, two_stage_regression

ALONE, TOGETHER, BEREFT = "one process", "two workers", "two workers, one killed in the middle"

Figures = dict[str, float | str]


def learn(run: Run, features: int, workers: Workers) -> Figures:
    """Return how long both stages took, and a digest of every bit that they learned."""
    options = TwoStageOptions(past=PAST, future=FUTURE, features=features, rank=RANK)
    source = WindowSource([RunInMemory(run)], PAST, FUTURE, workers)
    began = time.perf_counter()
    with one_blas_thread():
        system = two_stage_regression(source, options, np.random.default_rng(0)).system
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "bits": hashlib.sha256(bits(system)).hexdigest()[:12]}


def bits(value: Any) -> bytes:
    """Return every bit of the arrays in a tuple, or in tuples within."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    return b"".join(map(bits, value)) if isinstance(value, tuple) else repr(value).encode()


@contextmanager
def cluster_here(workers: int) -> Iterator[Any]:
    """Yield the client of a cluster of processes on this machine, each of one thread."""
    distributed: Any = import_module("distributed")
    options = {"threads_per_worker": 1, "dashboard_address": None, "processes": True}
    with (
        distributed.LocalCluster(n_workers=workers, **options) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(workers)
        yield client


def kill_one(client: Any, seconds: float) -> threading.Timer:
    """Return a running timer that kills a worker, as a kernel short of memory would."""
    process = next(iter(client.run(os.getpid).values()))
    timer = threading.Timer(seconds, os.kill, (process, signal.SIGKILL))
    timer.start()
    return timer


def measure(windows: int, features: int) -> dict[str, Figures]:
    """Return the figures of all three runs."""
    run, results = recording(windows), dict[str, Figures]()
    results[ALONE] = learn(run, features, THIS_PROCESS)
    with cluster_here(2) as client:
        learn(recording(1000), features, Cluster(client))  # they import what they need
        results[TOGETHER] = learn(run, features, Cluster(client))
        timer = kill_one(client, float(results[TOGETHER]["seconds"]) / 3)
        results[BEREFT] = learn(run, features, Cluster(client))
        timer.join()
    return results


def table(results: dict[str, Figures]) -> str:
    """Return the runs as Markdown."""
    alone = results[ALONE]
    lines = [
        [
            name,
            number(float(one["seconds"])),
            number(float(one["seconds"]) / float(alone["seconds"])),
            "the same" if one["bits"] == alone["bits"] else "others",
        ]
        for name, one in results.items()
    ]
    return markdown(["both stages", "s", "times one process", "bits"], lines)


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed_cluster")
    parser.add_argument("--windows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--json", type=Path, help="a file to write the figures to")
    arguments = parser.parse_args()
    results = measure(arguments.windows, arguments.features)
    print(table(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
