"""What a step of refinement takes in one process and on a cluster's workers, and what travels.

python -m benchmarks.speed_refinement                both sizes, two workers; three minutes
python -m benchmarks.speed_refinement --workers 4
python -m benchmarks.speed_refinement --json refinement.json

Loss and gradient of a step are timed by the clock on the wall, in turns: as one minibatch in this
process, as several in this process, and as the same several on workers on this machine. Figures are
what a quarter of many steps stays below, for machines are seldom idle. It needs Dask, and as many
cores as workers.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed_cluster import cluster_here
from benchmarks.speed_step import joint_runs, synthetic_runs
from benchmarks.tables import markdown
from rffpsr_ros.data.scaling import standardise
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.parallel.cluster import Cluster
from rffpsr_ros.parallel.workers import THIS_PROCESS, Broadcast, merged
from rffpsr_ros.psr.predictor import TrainableParameters
from rffpsr_ros.psr.refinement.minibatches import (
    GradientData,
    MinibatchSampling,
    draw_minibatches,
    minibatch_gradient,
)
from rffpsr_ros.psr.refinement.segments import cut_segments
from rffpsr_ros.recordings.trajectory import Trajectory

RUNS, TICKS, HORIZON, PAST = 12, 3000, 10, 20
LENGTH = PAST + FitSettings().segment
"""Ticks of a segment."""
STEPS = 20
UNSETTLED = 3
"""Steps at the beginning that do not count: the segments travel, memory grows."""

SHAPES = ((8, 2), (8, 8), (32, 2), (32, 8))
"""Segments of a minibatch, and minibatches of a step."""


class Step(NamedTuple):
    """What a step takes and sends."""

    batch: int
    minibatches: int
    in_one: float  # s, in this process, as a single minibatch of as many segments
    alone: float  # s, in this process
    shared: float  # s, on the workers
    sent: int  # bytes: which segments and origins
    returned: int  # bytes: gradients


class Size(NamedTuple):
    """What is refined, and its steps."""

    segments: int
    ticks: int  # of a segment
    held: int  # bytes that travel once: segments and feature maps
    parameters: int  # bytes that travel to every worker in every step
    steps: list[Step]


def gradient_data(runs: Sequence[Trajectory]) -> tuple[GradientData, TrainableParameters]:
    """Return what refinement of a model of these recordings works on, and the model's weights."""
    # Timed, not judged: a few iterations give weights of the right sizes.
    parts = SingleRFFPSR(past=PAST, future=HORIZON, iterations=3).fit(runs[:4]).parts
    structure = parts.structure._replace(limits=None).astype(np.float32)
    standard = standardise(runs, parts.observation_scaling, parts.action_scaling)
    seen = [np.ones(run.observations.shape, bool) for run in standard]
    segments = cut_segments(standard, seen, structure, LENGTH, PAST, HORIZON, np.float32)
    columns = segments.observations.shape[2]
    by_horizon = np.full((HORIZON, columns), 1 / (HORIZON * columns))
    return GradientData(structure, segments, by_horizon), parts.parameters.astype(np.float32)


def size(runs: Sequence[Trajectory], client: Any) -> Size:
    """Return what steps of refinement of a model of these recordings take."""
    pack, generator = import_module("cloudpickle").dumps, np.random.default_rng(0)
    data, parameters = gradient_data(runs)
    here, there = THIS_PROCESS.broadcast(data), Cluster(client).broadcast(data)
    count, ticks = data.segments.target.shape[:2]
    stride, age = LENGTH // FitSettings().columns_per_stride, np.ones(PAST)

    def seconds(broadcast: Broadcast[GradientData], sampling: MinibatchSampling) -> float:
        began = time.perf_counter()
        drawn = draw_minibatches(data.segments, sampling, generator)
        merged(broadcast.map(partial(minibatch_gradient, parameters), drawn))
        return time.perf_counter() - began

    steps = []
    for batch, most in SHAPES:
        sampling = MinibatchSampling(batch, most, HORIZON, stride, age)
        single = sampling._replace(batch=batch * most, most=1)
        setups = (here, single), (here, sampling), (there, sampling)
        times = [[seconds(*setup) for setup in setups] for _ in range(STEPS)]
        drawn = draw_minibatches(data.segments, sampling, generator)
        sent = sum(len(pack(minibatch)) for minibatch in drawn)
        returned = sum(
            len(pack(minibatch_gradient(parameters, data, minibatch))) for minibatch in drawn
        )
        in_one, alone, shared = np.quantile(times[UNSETTLED:], 0.25, axis=0).tolist()
        steps.append(Step(batch, most, in_one, alone, shared, sent, returned))
    return Size(count, ticks, len(pack(data)), len(pack(parameters)), steps)


def table(results: dict[str, Size], workers: int) -> str:
    """Return the sizes and their steps as Markdown."""
    heading = ["what", "minibatches x segments", "one process, one minibatch ms"]
    heading += ["one process ms", f"{workers} workers ms", "sent kB", "returned kB"]
    rows = []
    for name, one in results.items():
        for step in one.steps:
            times = [f"{1e3 * t:.0f}" for t in (step.in_one, step.alone, step.shared)]
            bytes_of = workers * one.parameters + step.sent, step.returned
            traffic = [f"{count / 1e3:.0f}" for count in bytes_of]
            rows.append([name, f"{step.minibatches} x {step.batch}", *times, *traffic])
    sizes = [
        f"- {name}: {one.segments} segments of {one.ticks} ticks, {one.held / 1e6:.1f} MB, travel"
        f" once; weights are {one.parameters / 1e3:.0f} kB"
        for name, one in results.items()
    ]
    return "\n".join([markdown(heading, rows), "", *sizes])


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed_refinement")
    parser.add_argument("--workers", type=int, default=2, help="workers, each of one thread")
    parser.add_argument("--json", type=Path, help="a file to write the figures to")
    arguments = parser.parse_args()
    with one_blas_thread(), cluster_here(arguments.workers) as client:
        results = {
            "1 observation, 1 action": size(synthetic_runs(RUNS, TICKS), client),
            "6 observations, 6 actions": size(joint_runs(RUNS, TICKS), client),
        }
    print(table(results, arguments.workers))
    if arguments.json:
        figures = {
            name: one._asdict() | {"steps": [step._asdict() for step in one.steps]}
            for name, one in results.items()
        }
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
