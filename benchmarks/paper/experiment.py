"""What the experiments of the paper have in common: the command line, measuring, showing."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import compare
from benchmarks.methods import Method
from benchmarks.records import RESULTS, read_records
from benchmarks.tasks import Task
from rffpsr_ros.errors import InputError

Plan = list[tuple[Task, list[Method], int]]
"""What is to be measured: tasks, methods, and how many runs."""


def command(
    description: str,
    plan: Callable[[argparse.Namespace], Plan],
    arguments: Sequence[str] | None,
    features: Sequence[int],
    seeds: int,
) -> int:
    """Run an experiment from the command line; return the exit code.

    ``features`` and ``seeds`` are what it does by default; ``--quick`` is small enough for tests.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--features", type=int, nargs="+", default=list(features), metavar="D")
    parser.add_argument("--seeds", type=int, default=seeds, help="seeds of the smallest models")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="only these, by their names")
    parser.add_argument("--quick", action="store_true", help="a small form, in seconds")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where results are kept")
    parser.add_argument("--plots", type=Path, help="draw plots into this folder")
    options = parser.parse_args(arguments)
    try:
        steps = _only(plan(options), options.methods)
        for task, methods, runs in steps:
            compare.run(methods, [task], runs, options.folder)
        _show(steps, options)
    except InputError as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 2
    return 0


def _only(steps: Plan, names: Sequence[str] | None) -> Plan:
    """Return the plan with some of its methods only."""
    known = {method.name: method.name for _, methods, _ in steps for method in methods}
    wanted = compare.chosen(known, names, "method")
    return [(task, [m for m in methods if m.name in wanted], runs) for task, methods, runs in steps]


def _show(steps: Plan, options: argparse.Namespace) -> None:
    tasks = {task.name: task for task, _, _ in steps}
    for name, task in tasks.items():
        names = [m.name for other, methods, _ in steps if other.name == name for m in methods]
        found = [
            record
            for record in compare.in_order(read_records(name, options.folder), names)
            if record.method in names or record.method.startswith(("authors", "Octave"))
        ]
        if not found:
            continue
        compare.show(task, found)
        if options.plots:
            compare.plot(task, found, options.plots / f"paper_{name}.png")
