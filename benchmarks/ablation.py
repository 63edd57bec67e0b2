"""What each part of `RFFPSR()` earns: the same data and seeds without it.

    python -m benchmarks.ablation                          every variant on every data set, hours
    python -m benchmarks.ablation --data pendulum --runs 1
    python -m benchmarks.ablation --show                   what was measured before

A row's figures are geometric means over runs of its error, meaned over horizons and tests, divided
by that of `RFFPSR()` on the same draw and with the same seed: above 1, the part was worth it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare import KNOWN_TASKS, chosen
from benchmarks.measurement import measured
from benchmarks.members_alone import MembersAlone
from benchmarks.methods import Method
from benchmarks.records import RESULTS, Record, read_records
from benchmarks.tables import markdown
from benchmarks.tasks import Task
from rffpsr_ros.errors import InputError
from rffpsr_ros.recipe.learner import RFFPSR

WHOLE = "RFFPSR()"
ALONE = "RFF-PSR models alone"

_NO_STATE = dict.fromkeys(("rank", "observation_rank", "action_rank", "state_rank"), 1)
_NO_SHORT_WINDOW: dict[str, Any] = {"narx_past": 0, "narx_features": 0}

WITHOUT: Mapping[str, Mapping[str, Any]] = {
    WHOLE: {},
    ALONE: {},
    "features drawn": {"narx_learning": "off"},
    "features learned": {"narx_learning": "on"},
    "no sigmoids": {"narx_units": "waves"},
    "no waves learned": {"narx_units": "sigmoids"},
    "none affine": {"narx_affine": "off"},
    "all affine": {"narx_affine": "on"},
    "one configuration, not refined": {"refinement": "none", "folds": 3},
    "without a short window": _NO_SHORT_WINDOW,
    "without a linear term": {"arx_past": 0},
    "without a state": _NO_STATE,
    "state alone": {"arx_past": 0, **_NO_SHORT_WINDOW},
    "one model": {"folds": 1},
}
"""Options by name."""

DATA = (
    *("synth", "fresh", "swimmer", "jackal", "drone", "tanks50", "crazyflie"),
    *("pendulum", "motor", "arm", "joints", "loop", "vibration"),
    *("process120", "process200", "process500"),
)

FOLDER = RESULTS / "ablation"


def methods() -> dict[str, Method]:
    """Return the variants as methods."""
    learners = {ALONE: MembersAlone}
    return {
        name: Method(name, learners.get(name, RFFPSR), options, True)
        for name, options in WITHOUT.items()
    }


def table(tasks: Sequence[Task], records: Mapping[str, Sequence[Record]]) -> str:
    """Return the ratios to the whole in Markdown: a row for each data set."""
    names = [name for name in WITHOUT if name != WHOLE]
    rows = []
    for task in tasks:
        by_name = {one.method: _errors(one) for one in records[task.name] if not one.refused}
        whole = by_name.get(WHOLE)
        if whole is None:
            continue
        shared = [_ratio(by_name.get(name, {}), whole) for name in names]
        rows.append([task.name, str(len(whole)), *shared])
    return markdown(["data", "runs", *names], rows)


def _errors(record: Record) -> dict[int, float]:
    """Return each run's error, meaned over horizons and tests."""
    return {run.number: float(np.mean(list(run.scores.values()))) for run in record.runs}


def _ratio(errors: Mapping[int, float], whole: Mapping[int, float]) -> str:
    pairs = [errors[number] / whole[number] for number in errors if number in whole]
    return f"{np.exp(np.mean(np.log(pairs))):.2f}" if pairs else "-"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", metavar="NAME", help=", ".join(KNOWN_TASKS))
    parser.add_argument("--variants", nargs="+", metavar="NAME", help=", ".join(WITHOUT))
    parser.add_argument("--runs", type=int, default=3, help="draws or seeds (default: 3)")
    parser.add_argument("--show", action="store_true", help="print what was measured before")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where results are kept")
    options = parser.parse_args(arguments)
    try:
        tasks = chosen(KNOWN_TASKS, options.data or list(DATA), "data set")
        variants = chosen(methods(), options.variants, "variant")
    except InputError as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 2
    if not options.show:
        for _ in measured(variants, tasks, options.runs, options.folder):
            pass
    print(table(tasks, {task.name: read_records(task.name, options.folder) for task in tasks}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
