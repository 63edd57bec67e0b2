"""Which share of the observations prediction bands cover, on recordings not trained on.

    python -m benchmarks.bands [--data NAME ...] [--seeds N] [--bands METHOD] [--json FILE]

Bands are made as `rffpsr train` makes them: from errors on the parts held out in training, or
(``--bands folds``) on three folds of training and validation part, each forecast by models
trained on the other two. "Fixed" bands are those of the model file; "adapted" ones learn
from each test recording as it goes on.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.cpu_time import cpu_seconds
from benchmarks.datasets import Split
from rffpsr_ros import RFFPSR
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.calibration import coverage
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.progress import silent
from rffpsr_ros.training.bands import BANDS, measure_bands

NOMINAL, HORIZON, START = 0.9, 10, 20

DATA: Mapping[str, Callable[[int], Split]] = {
    "fresh synthetic": datasets.fresh_synthetic,
    "swimmer, blind": lambda seed: datasets.swimmer(seed, 1.0),
    "swimmer, 80 % blind": lambda seed: datasets.swimmer(seed, 0.8),
    "swimmer, 20 % blind": lambda seed: datasets.swimmer(seed, 0.2),
    "synth.mat": lambda seed: datasets.synth(),
    "Jackal": lambda seed: datasets.jackal(),
    "quarter drone": lambda seed: datasets.quarter_drone(),
}
"""Simulated data are drawn anew for every seed; of recorded data only the learner's seed varies."""


def measure(split: Split, seed: int, bands: str) -> dict[str, Any]:
    """Return the coverage of the bands of one model, and the processor seconds it all took."""
    began = cpu_seconds()
    used = [*split.train, *split.validation]
    learner = RFFPSR(seed=seed)
    with one_blas_thread():
        model = learner.fit(split.train, split.validation)
        learned = cpu_seconds()
        model = measure_bands(model, learner, used, silent, bands)
    seconds = {"learning": learned - began, "bands": cpu_seconds() - learned}
    measured = coverage(model, split.test, NOMINAL, HORIZON, START)
    if measured is None:
        raise InputError(model.record.notes[-1])
    return {
        "fixed": np.nanmean(measured.fixed, axis=1).tolist(),
        "adapted": np.nanmean(measured.adapted, axis=1).tolist(),
        "seconds": seconds,
    }


def row(name: str, runs: Sequence[Mapping[str, Any]]) -> str:
    """Return a line of the Markdown table: shares (%) at some horizons, and seconds."""
    cells = []
    for kind in ("fixed", "adapted"):
        share = 100 * np.array([run[kind] for run in runs])
        means = share.mean(axis=1)
        cells += [f"{np.median(share[:, h - 1]):.0f}" for h in (1, HORIZON)]
        cells.append(f"{np.median(means):.0f} ({means.min():.0f} to {means.max():.0f})")
    seconds = [
        f"{np.median([run['seconds'][k] for run in runs]):.0f}" for k in ("learning", "bands")
    ]
    return f"| {' | '.join([name, *cells, *seconds])} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA), metavar="NAME")
    parser.add_argument("--seeds", type=int, default=3, help="seeds 0, 1, ... (default: 3)")
    parser.add_argument("--bands", choices=BANDS[:-1], default=BANDS[0], help="how they are made")
    parser.add_argument("--json", metavar="FILE", help="write every number to this file")
    options = parser.parse_args(arguments)
    print(
        f"share (%) that {100 * NOMINAL:g} % bands cover, mean over horizons 1..{HORIZON}:"
        " median over seeds (least to most)\n\n"
        "| data | fixed h1 | h10 | mean | adapted h1 | h10 | mean | learning (s) | bands (s) |\n"
        f"|---|{'---:|' * 8}"
    )
    results = {}
    for name in options.data:
        try:
            results[name] = [
                measure(DATA[name](seed), seed, options.bands) for seed in range(options.seeds)
            ]
        except InputError as problem:
            print(f"{name} is left out: {problem}", file=sys.stderr)
            continue
        print(row(name, results[name]), flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
