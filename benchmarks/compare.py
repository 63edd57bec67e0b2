"""Methods on data sets, side by side: a table and a plot for each data set, and JSON.

    python -m benchmarks.compare                  everything; what did not change is kept
    python -m benchmarks.compare --methods 'RFFPSR()' --data synth jackal --runs 5
    python -m benchmarks.compare --show           tables of what was measured, no new run

Results are kept in benchmarks/results, one file per data set and method (`benchmarks.records`).
Runs differ by the seed of the method and, where data are simulated, by the data themselves; a
method that draws nothing learns from recorded data once. Time is processor time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from benchmarks.hard_classes import HARD_CLASSES, reporting
from benchmarks.measurement import measured
from benchmarks.methods import METHODS, Method
from benchmarks.records import RESULTS, Record, read_records
from benchmarks.tables import curves, task_tables
from benchmarks.tasks import TASKS, Task
from rffpsr_ros.errors import InputError, did_you_mean
from rffpsr_ros.evaluation.plots import plot_curves

KNOWN_TASKS: Mapping[str, Task] = {
    **TASKS,
    **HARD_CLASSES,
    **{task.name: task for task in map(reporting, HARD_CLASSES.values())},
}
"""All data sets that can be asked for; without asking, those of `TASKS` are taken."""

T = TypeVar("T")


def run(
    methods: Iterable[Method],
    tasks: Iterable[Task],
    runs: int | None = None,
    folder: Path = RESULTS,
) -> dict[str, list[Record]]:
    """Measure what changed; return the records of these methods, by task."""
    tasks = list(tasks)
    records: dict[str, list[Record]] = {task.name: [] for task in tasks}
    for record in measured(methods, tasks, runs, folder):
        records[record.task].append(record)
    return records


def show(task: Task, records: Sequence[Record]) -> None:
    """Print a task's tables."""
    print(f"\n**{task.name}**: {task.title}. {task.unit[0].upper()}{task.unit[1:]}.")
    for test, table in task_tables(task, records):
        print(f"\n{test}\n\n{table}" if test else f"\n{table}", flush=True)


def plot(
    task: Task, records: Sequence[Record], path: Path, tests: Sequence[str] | None = None
) -> None:
    """Draw the errors over the horizon of some or all tests, a panel each, into ``path``."""
    done = [record for record in records if not record.refused]
    tests = tests or list(done[0].runs[0].scores)
    panels = {
        f"{task.name}, {test}" if len(tests) > 1 else task.name: curves(done, test)
        for test in tests
    }
    plot_curves(panels, path, task.unit)


def in_order(records: Sequence[Record], names: Iterable[str]) -> list[Record]:
    """Return records in the order of their methods' names, others after them."""
    places = {name: place for place, name in enumerate(names)}
    return sorted(records, key=lambda record: places.get(record.method, len(places)))


def chosen(known: Mapping[str, T], names: Sequence[str] | None, what: str) -> list[T]:
    """Return what was asked for by name, by default everything.

    Raises
    ------
    InputError
        If a name is unknown; the nearest known one is named.
    """
    for name in names or ():
        if name not in known:
            raise InputError(f"unknown {what} '{name}'{did_you_mean(name, known)}")
    return [known[name] for name in names or known]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--methods", nargs="+", metavar="NAME", help=", ".join(METHODS))
    parser.add_argument("--data", nargs="+", metavar="NAME", help=", ".join(KNOWN_TASKS))
    parser.add_argument("--runs", type=int, help="seeds or draws (default: 3, of simulations 5)")
    parser.add_argument("--show", action="store_true", help="print what was measured before")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where results are kept")
    parser.add_argument("--plots", type=Path, help="draw a plot per data set into this folder")
    options = parser.parse_args(arguments)
    try:
        methods = chosen(METHODS, options.methods, "method")
        tasks = chosen(KNOWN_TASKS, options.data or list(TASKS), "data set")
        if not options.show:
            records = run(methods, tasks, options.runs, options.folder)
        else:
            records = {task.name: read_records(task.name, options.folder) for task in tasks}
        for task in tasks:
            found = in_order(records[task.name], METHODS)
            if not found:
                continue
            show(task, found)
            if options.plots and task.simulation_after is None:
                plot(task, found, options.plots / f"{task.name}.png")
    except InputError as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
