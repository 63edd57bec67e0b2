"""Is one method better than another on a recording, or was it luck? A paired block bootstrap.

    python -m benchmarks.paired --data jackal drone --methods 'RFFPSR()' 'linear ARX'
    python -m benchmarks.paired --data drone --methods 'RFFPSR()' 'GRU, 64 units'   (with the peers)

Both methods forecast from every origin of the test. Squared errors, meaned over horizons, summed
over observations, are cut into blocks of consecutive origins, which resemble each other less than
single ones do; blocks are drawn with replacement, the same for both methods. Printed are the
ratio of the mean errors and the interval that holds 95 % of its draws.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.compare import chosen
from benchmarks.methods import METHODS, Method
from benchmarks.tables import markdown, number
from benchmarks.tasks import TASKS, Material, Task
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.numerics.arrays import Array

BLOCK = 100
"""Origins of a block."""

DRAWS = 10_000

COVERED = 0.95


class Ratio(NamedTuple):
    """Mean error of the first method over that of the second, and its interval."""

    value: float
    low: float
    high: float


def squared_errors(method: Method, task: Task, seed: int, material: Material) -> Array:
    """Return the squared errors (N,) from all origins of the tests, meaned over horizons."""
    train, validation = list(material.train), list(material.validation)
    if method.everything:
        train, validation = train + validation, []
    model = method.make(seed).fit(train, validation or None)
    counted = list(task.target) or slice(None)
    missed = []
    for runs in material.tests.values():
        for run in runs:
            squares = errors_by_origin(model, run, task.horizon, task.start) ** 2
            missed.append(np.nanmean(squares[..., counted], axis=1).sum(axis=1))
    return np.concatenate(missed)


def ratio(first: Array, second: Array, generator: np.random.Generator) -> Ratio:
    """Return the ratio of the means of two series (N,) of errors from the same origins."""
    edges = range(0, len(first), BLOCK)
    sums = np.array([[part[e : e + BLOCK].sum() for part in (first, second)] for e in edges])
    drawn = generator.integers(len(sums), size=(DRAWS, len(sums)))
    totals = sums[drawn].sum(axis=1)
    tail = (1 - COVERED) / 2
    low, high = np.quantile(totals[:, 0] / totals[:, 1], [tail, 1 - tail])
    return Ratio(float(first.mean() / second.mean()), float(low), float(high))


def _known() -> Mapping[str, Method]:
    """Return this package's methods, and the peers where their libraries are installed."""
    if any(importlib.util.find_spec(name) is None for name in ("torch", "pykoop", "sysidentpy")):
        return METHODS
    from benchmarks.peers.methods import peers

    return {**METHODS, **{method.name: method for method in peers(free_run=False)}}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    recorded = {
        name: task
        for name, task in TASKS.items()
        if not task.draws and task.simulation_after is None
    }
    parser.add_argument("--data", nargs="+", metavar="NAME", help=", ".join(recorded))
    parser.add_argument("--methods", nargs=2, required=True, metavar="NAME", help="first, second")
    parser.add_argument("--seed", type=int, default=0, help="of the methods and the draws")
    options = parser.parse_args(arguments)
    try:
        first, second = chosen(_known(), options.methods, "method")
        rows = []
        for task in chosen(recorded, options.data, "data set"):
            material = task.load(0)
            ours, theirs = (
                squared_errors(method, task, options.seed, material) for method in (first, second)
            )
            found = ratio(ours, theirs, np.random.default_rng(options.seed))
            means = [number(float(errors.mean())) for errors in (ours, theirs)]
            rows.append([task.name, *means, *(f"{value:.3f}" for value in found)])
    except InputError as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 2
    head = ["data", first.name, second.name, "ratio", "from", "to"]
    print(markdown(head, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
