"""The paper's swimmer experiment: the nose's position under policies of more and more feedback.

    python -m benchmarks.paper.swimmer
    python -m benchmarks.paper.swimmer --features 10000 --seeds 1

Three links, 5 % noise; 25 trajectories of 100 ticks under random torques to learn from (24) and to
validate on (1); 10 test trajectories each under a policy that is random with probability 1, .8 and
.2 and seeks a goal otherwise. Forecasts are scored as they are and limited to the training range.
Every seed has data of its own.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from benchmarks.paper.experiment import Plan, command
from benchmarks.paper.variants import baselines, simple_baselines, variants
from benchmarks.tasks import TASKS, Material

FEATURES = (1000,)


def plan(options: argparse.Namespace) -> Plan:
    """Return what is to be measured."""
    task = TASKS["swimmer"]
    if options.quick:
        quick = replace(task, load=_few, clips=(False,), title="a small swimmer experiment")
        small = [m for m in variants(20, rounds=1) if "joint" in m.name]
        return [(quick, [*small, *simple_baselines()], 1)]
    steps: Plan = [(task, baselines(), task.runs)]
    return [*steps, *((task, variants(features), options.seeds) for features in options.features)]


def _few(draw: int) -> Material:
    whole = TASKS["swimmer"].load(draw)
    tests = {name: runs[:2] for name, runs in whole.tests.items()}
    return Material(whole.train[:8], whole.validation, tests)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit code."""
    return command(__doc__ or "", plan, arguments, FEATURES, seeds=2)


if __name__ == "__main__":
    sys.exit(main())
