"""The paper's synthetic experiment: initialisations before and after refinement, and baselines.

    python -m benchmarks.paper.synthetic                    D = 20, 5000, 10000
    python -m benchmarks.paper.synthetic --features 20 --seeds 3

On synth.mat, by the authors' evaluation, with the authors' own figures beside ours; and on fresh
data from the same equations. Each initialisation (joint, conditional, random) is tested before and
after refinement. Models of 5000 features have five seeds, the largest ones three.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.datasets import fresh_synthetic
from benchmarks.paper.authors import write_authors_records
from benchmarks.paper.experiment import Plan, command
from benchmarks.paper.variants import baselines, simple_baselines, variants
from benchmarks.tasks import TASKS, single_test
from rffpsr_ros.errors import InputError

FEATURES = (20, 5000, 10_000)
_SEEDS_OF_LARGE = {5000: 5, 10_000: 3}


def plan(options: argparse.Namespace) -> Plan:
    """Return what is to be measured."""
    if options.quick:
        fresh = replace(
            TASKS["fresh"],
            title="a small synthetic experiment",
            load=lambda draw: single_test(fresh_synthetic(1000 + draw, 3)),
        )
        small = [m for m in variants(20, rounds=2) if "random" not in m.name]
        return [(fresh, [*small, *simple_baselines()], 1)]
    try:
        write_authors_records(options.folder)
    except InputError as fault:
        print(f"without the authors' figures: {fault}", file=sys.stderr)
    steps: Plan = [(TASKS["synth"], baselines(), 3)]
    for features in options.features:
        runs = min(options.seeds, _SEEDS_OF_LARGE.get(features, options.seeds))
        which = ("joint", "conditional", "random") if features < 1000 else ("joint", "conditional")
        steps.append((TASKS["synth"], variants(features, which), runs))
    smallest = variants(min(options.features))
    return [*steps, (TASKS["fresh"], [*baselines(), *smallest], TASKS["fresh"].runs)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit code."""
    return command(__doc__ or "", plan, arguments, FEATURES, seeds=10)


if __name__ == "__main__":
    sys.exit(main())
