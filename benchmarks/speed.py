"""How fast and in how much memory the two stages learn, beside references of the same run.

    python -m benchmarks.speed                        every row; --quick: smaller ones
    python -m benchmarks.speed --json new.json        also write the figures
    python -m benchmarks.speed --compare old.json     the ratio to an earlier run

Each row runs in a process of its own with one BLAS thread; seconds are processor seconds. The
recording is the synthetic system's, one run, standardised. References: a textbook computation that
holds all features in double precision and decomposes their second moments; the machine's matrix
product and memory copy. The filter's step, forecasts and epochs are measured by
`benchmarks.speed_step`, which this one runs last, nodes by `benchmarks.realtime`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.linalg

from rffpsr_ros.episodes.bag_recorder import BagWriter
from rffpsr_ros.episodes.stored_trajectory import store_bags
from rffpsr_ros.learning.features.fourier_features import draw_frequencies, random_fourier_features
from rffpsr_ros.learning.stages.two_stage import TwoStageOptions, two_stage_regression
from rffpsr_ros.learning.windows.scaling import Run
from rffpsr_ros.learning.windows.windows import window_chunks
from rffpsr_ros.models.rff_psr_learner import RFFPSR
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import Policy, dataset, open_loop

PAST, FUTURE = 20, 10
LIMIT = 10**9  # bytes of address space that streaming may take

Figures = dict[str, float]


class Row(NamedTuple):
    """What is measured: a job, its sizes, and the authors' figures where there are some."""

    job: str
    windows: int
    features: int
    authors_seconds: float | None = None
    authors_peak: float | None = None


ROWS: Mapping[str, Row] = {
    "two stages, 16 000 windows, D = 1000": Row("learn", 16_000, 1000, 30.2, 1075),
    "textbook features and projections of these": Row("textbook", 16_000, 1000),
    "two stages, 100 000 windows, D = 100": Row("learn", 100_000, 100),
    "two stages, 1 000 000 windows, D = 100": Row("learn", 1_000_000, 100),
    "10 000 000 ticks from bags within 1 GB": Row("stream", 10_000_000, 100),
}


def recording(windows: int) -> Run:
    """Return a standardised run of the synthetic system; a long one repeats 20 000 ticks of it."""
    system = SyntheticSystem()
    low, high = system.action_limits

    def policy(generator: np.random.Generator) -> Policy:
        return open_loop(uniform_hold(generator, low, high, system.period))

    ticks = windows + PAST + FUTURE
    (seen,) = dataset(system, policy, 1, ticks=min(ticks, 20_000), seed=0)
    columns = []
    for rows in (seen.observations, seen.actions):
        standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        columns.append(np.resize(standard, (ticks, rows.shape[1])))
    return Run(*columns)


def learn(row: Row) -> Callable[[], Figures]:
    """Return both stages, joint, at rank 20, as a job."""
    run = recording(row.windows)
    options = TwoStageOptions(past=PAST, future=FUTURE, features=row.features, rank=20)

    def job() -> Figures:
        two_stage_regression([run], options, np.random.default_rng(0))
        return {}

    return job


def textbook(row: Row) -> Callable[[], Figures]:
    """Return features in double precision, held whole, and dense decompositions, as a job."""
    run = recording(row.windows)

    def job() -> Figures:
        generator = np.random.default_rng(0)
        (windows,) = window_chunks([run], PAST, FUTURE, chunk=row.windows)
        views = windows.history, windows.observations[:, 0], windows.actions[:, 0]
        for points in (*views, windows.future_observations, windows.future_actions):
            frequencies = draw_frequencies(points.shape[1], row.features, 1.0, generator)
            features = random_fourier_features(points, frequencies)
            size = features.shape[1]
            directions = scipy.linalg.eigh(
                features.T @ features, subset_by_index=[size - 20, size - 1]
            )[1]
            features @ directions
        return {}

    return job


def stream(row: Row) -> Callable[[], Figures]:
    """Return learning from bags within a limit of address space, as a job; writing is not in it."""
    folder = tempfile.TemporaryDirectory()
    count = 10
    run = recording(row.windows // count)
    for number in range(count):
        _write_bag(Path(folder.name) / f"bag_{number}", run)
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    configuration = ChannelConfiguration.from_mapping(
        {
            "rate": 100.0,
            "observation": {"inputs": ["o"], "o": {"topic": "/o", "fields": ["data"]}},
            "action": {"inputs": ["a"], "a": {"topic": "/a", "fields": ["data"]}},
        }
    )

    def job() -> Figures:
        bags = store_bags(folder.name, configuration)
        trajectories = [trajectory for bag in bags for trajectory in bag.trajectories()]
        read = time.process_time()
        options = {"features": row.features, "past": PAST, "future": FUTURE}
        RFFPSR(**options, iterations=20, folds=1).fit(trajectories)
        return {"learning": time.process_time() - read, "ticks": float(sum(map(len, trajectories)))}

    return job


def _write_bag(path: Path, run: Run) -> None:
    kind = "std_msgs/msg/Float64"
    with BagWriter(path) as bag:
        bag.add_topic("/o", kind)
        bag.add_topic("/a", kind)
        for tick, (seen, acted) in enumerate(zip(*run, strict=True)):
            now = 1_000_000_000 + tick * 10_000_000
            bag.write("/a", now - 1_000_000, bag.message(kind, data=float(acted[0])))
            bag.write("/o", now, bag.message(kind, data=float(seen[0])))


JOBS: Mapping[str, Callable[[Row], Callable[[], Figures]]] = {
    "learn": learn,
    "textbook": textbook,
    "stream": stream,
}


def run_job(row: Row) -> None:
    """Do one job and print what it took as JSON."""
    job = JOBS[row.job](row)
    began = time.process_time()
    figures = job()
    figures["seconds"] = time.process_time() - began
    figures["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(figures))


def machine() -> Figures:
    """Return matrix products (GFlop/s, single and double) and memory copies (GB/s)."""
    figures = {}
    for name, kind in (("single", np.float32), ("double", np.float64)):
        square = np.ones((1500, 1500), kind)
        square @ square
        began = time.process_time()
        for _ in range(3):
            square @ square
        figures[f"{name} GFlop/s"] = 3 * 2 * 1500**3 / (time.process_time() - began) / 1e9
    block = np.ones(2**24)
    began = time.process_time()
    for _ in range(5):
        block.copy()
    figures["copy GB/s"] = 5 * block.nbytes / (time.process_time() - began) / 1e9
    return figures


def measure(row: Row) -> Figures:
    """Return the figures of a row, run in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.speed", "--job", json.dumps(row)]
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=alone)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def step_figures() -> Figures:
    """Return what `benchmarks.speed_step` measures of the filter's step, forecasts and epochs."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "step.json"
        subprocess.run([sys.executable, "-m", "benchmarks.speed_step", "--json", file], check=True)
        figures: Figures = json.loads(file.read_text())
    return figures


def show(name: str, row: Row, figures: Figures, old: Figures | None) -> None:
    """Print one row."""
    line = f"{name:<46}{figures['seconds']:9.2f} s{figures['peak']:8.0f} MB"
    if row.authors_seconds is not None:
        line += f"   authors {row.authors_seconds:.1f} s, {row.authors_peak:.0f} MB"
    if old is not None:
        line += f"   x {figures['seconds'] / old['seconds']:.2f} of before"
    print(line, flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print every row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the largest rows")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--compare", type=Path, help="figures of an earlier run")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.job:
        run_job(Row(*json.loads(options.job)))
        return
    before = json.loads(options.compare.read_text()) if options.compare else {}
    results: dict[str, Figures] = {"machine": machine()}
    print(", ".join(f"{value:.1f} {name}" for name, value in results["machine"].items()))
    for name, row in ROWS.items():
        smaller = row._replace(windows=row.windows // 100) if options.quick else row
        results[name] = measure(smaller)
        show(name, row, results[name], before.get(name))
    small, large = (results[f"two stages, {n} windows, D = 100"] for n in ("100 000", "1 000 000"))
    print(f"exponent of time: {np.log10(large['seconds'] / small['seconds']):.3f}")
    if not options.quick:
        results["step and epoch"] = step_figures()
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
