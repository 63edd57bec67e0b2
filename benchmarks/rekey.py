"""Records kept across a change of the code that changes no figure.

    python -m benchmarks.rekey                       every record whose data are there
    python -m benchmarks.rekey --data synth jackal

A record is current while neither its method's source nor its options change, names included. After
a change that only moves or renames, the first run of each record that is no longer current is
measured anew; where all its scores are those on record, up to one in the last digit kept, all runs
of the record get the keys of today's source. Otherwise the record is left alone, and the exit code
is 1: `benchmarks.compare` and the paper's experiments measure it anew.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks import compare
from benchmarks.measurement import measure
from benchmarks.methods import METHODS, Method
from benchmarks.paper import swimmer, synthetic
from benchmarks.paper.variants import baselines, variants
from benchmarks.records import (
    DIGITS,
    RESULTS,
    Record,
    Run,
    read_record,
    record_path,
    run_key,
    write_record,
)
from benchmarks.tasks import TASKS, Material, Scores, Task
from rffpsr_ros.errors import InputError

FEATURES = sorted({*synthetic.FEATURES, *swimmer.FEATURES})
"""Sizes of the paper's models of which there may be records."""


def methods() -> dict[str, Method]:
    """Return every method of which there may be a record, by its name."""
    paper = [*baselines(), *(method for features in FEATURES for method in variants(features))]
    return {method.name: method for method in [*METHODS.values(), *paper]}


def rekeyed(
    task: Task, method: Method, folder: Path, materials: Callable[[int], Material]
) -> str | None:
    """Give a record the keys of today's source if its figures are today's.

    Return what became of it, in words, or None where there is nothing to be done.
    """
    record = read_record(record_path(method.name, task.name, folder))
    if record is None or method.version:
        return None

    def key(run: Run) -> str:
        return run_key(method, task, run.number, materials(run.number if task.draws else 0))

    if all(run.key == key(run) for run in record.runs):
        return "current"
    first = record.runs[0]
    again = measure(method, task, first.number, materials(first.number if task.draws else 0))
    if again.refused != first.refused or not same_figures(again.scores, first.scores):
        return "OTHER FIGURES"
    runs = tuple(replace(run, key=key(run)) for run in record.runs)
    kept: Record = replace(record, runs=runs, options=dict(method.options))
    write_record(kept, folder)
    return "the same figures"


def same_figures(some: Scores, others: Scores) -> bool:
    """Tell whether scores are equal up to one in the last digit that records keep."""
    digit = 10.0 ** (1 - DIGITS)
    return some.keys() == others.keys() and all(
        np.allclose(some[test], others[test], rtol=digit, atol=0) for test in others
    )


def outcomes(tasks: Sequence[Task], folder: Path) -> Iterator[tuple[str, str, str]]:
    """Yield task, method and what became of its record."""
    known = methods()
    for task in tasks:
        materials = lru_cache(maxsize=None)(task.load)
        for method in known.values():
            found = rekeyed(task, method, folder, materials)
            if found is not None:
                yield task.name, method.name, found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return 1 if any record has other figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", nargs="+", metavar="NAME", help=", ".join(TASKS))
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where results are kept")
    options = parser.parse_args(arguments)
    code = 0
    try:
        for task, method, found in outcomes(
            compare.chosen(TASKS, options.data, "data set"), options.folder
        ):
            print(f"{task:<10} {method:<45} {found}", flush=True)
            code |= found == "OTHER FIGURES"
    except InputError as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 2
    return code


if __name__ == "__main__":
    sys.exit(main())
