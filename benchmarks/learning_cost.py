"""What learning costs when it goes on, beside learning anew, and on all cores, beside one.

    python -m benchmarks.learning_cost                 both; some minutes
    python -m benchmarks.learning_cost --only more     100 recordings and then 5 more
    python -m benchmarks.learning_cost --only cores    all cores, and Dask, beside one, by the clock
    python -m benchmarks.learning_cost --seeds 0 1 2

Recordings of the paper's synthetic system, 70 ticks each. Learning goes on (`learn_more`) in
processor seconds of the same machine and run as learning anew from all of them; errors are mean
squares of 20 recordings that none has seen. By the clock all cores are worth what they do only
where nothing else runs, and four workers on two cores are worth two.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.cpu_time import cpu_seconds
from benchmarks.speed_cluster import cluster_here
from benchmarks.speed_step import synthetic_runs
from benchmarks.tables import markdown
from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recipe.more.learn_more import learn_more
from rffpsr_ros.recordings.trajectory import Trajectory

OLD, NEW, TEST, TICKS = 100, 5, 20, 70
HORIZON, START = 10, 20
WORKERS = 4
"""Of the Dask cluster, on this machine."""


def error(model: PredictiveModel[Any], test: Sequence[Trajectory]) -> float:
    """Return the mean squared error over horizons."""
    return float(np.mean(horizon_errors(model, test, HORIZON, START).mse))


def going_on(seeds: Sequence[int]) -> Iterator[list[str]]:
    """Yield a row for each seed: what both ways cost and give."""
    runs = synthetic_runs(OLD + NEW + TEST, TICKS)
    for seed in seeds:
        draw = np.random.default_rng(seed).permutation(len(runs))
        mixed = [runs[place] for place in draw]
        old, new, test = mixed[:OLD], mixed[OLD : OLD + NEW], mixed[OLD + NEW :]
        before = RFFPSR(seed=seed, processes=1).fit_and_keep(old)
        moments = [cpu_seconds()]
        more = learn_more(before.model, before.kept, new, processes=1)
        moments.append(cpu_seconds())
        anew = RFFPSR(seed=seed, processes=1).fit_and_keep([*old, *new])
        moments.append(cpu_seconds())
        going, again = np.diff(moments)
        errors = [error(one, test) for one in (before.model, more.model, anew.model)]
        yield [
            str(seed),
            f"{again:.1f}",
            f"{going:.1f}",
            f"{going / again:.3f}",
            *(f"{one:.3g}" for one in errors),
            f"{100 * (errors[1] / errors[2] - 1):+.1f}",
        ]


def on_cores(seeds: Sequence[int]) -> Iterator[list[str]]:
    """Yield a row for each seed: seconds by the clock, on one core, on all, and by workers."""
    runs = synthetic_runs(25, TICKS)
    with cluster_here(WORKERS) as client:
        for seed in seeds:
            ways = [
                learned(runs, RFFPSR(seed=seed, processes=1)),
                learned(runs, RFFPSR(seed=seed)),
                learned(runs, RFFPSR(seed=seed), client),
            ]
            seconds = [each for each, _ in ways]
            same = all((forecasts == ways[0][1]).all() for _, forecasts in ways)
            yield [
                str(seed),
                *(f"{each:.1f}" for each in seconds),
                *(f"{each / seconds[0]:.2f}" for each in seconds[1:]),
                "the same" if same else "others",
            ]


def learned(runs: Sequence[Trajectory], learner: RFFPSR, client: Any = None) -> tuple[float, Array]:
    """Return the clock's seconds, and forecasts (H, d_o) of the model, which tell its bits."""
    began = time.perf_counter()
    model = learner.fit(runs, client=client)
    seconds = time.perf_counter() - began
    state = model.initial_state()
    for action, observation in zip(runs[0].actions, runs[0].observations, strict=True):
        state = model.update(state, action, observation)
    return seconds, model.predict(state, runs[1].actions[:HORIZON])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=("more", "cores"), help="one of the two")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    options = parser.parse_args(arguments)
    if options.only != "cores":
        heads = ["seed", f"{OLD + NEW} anew, CPU s", f"{NEW} more, CPU s", "ratio"]
        heads += [f"error of {OLD}", f"{NEW} more", f"{OLD + NEW} anew", "more by %"]
        print(markdown(heads, list(going_on(options.seeds))), flush=True)
    if options.only != "more":
        cores = len(os.sched_getaffinity(0))
        several = f"{cores} cores", f"{WORKERS} Dask workers"
        heads = ["seed", "one core, s", *(f"{way}, s" for way in several)]
        heads += [*(f"{way}, ratio" for way in several), "forecasts"]
        print(markdown(heads, list(on_cores(options.seeds))), flush=True)


if __name__ == "__main__":
    main()
