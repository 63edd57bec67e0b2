"""How `RFFPSR()` does on the hard classes' reporting draws, beside each of the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.first_screen import OURS, label
from benchmarks.pairing import compared, mean_ratio, run_errors
from benchmarks.records import Record
from benchmarks.tables import markdown, number
from benchmarks.tasks import Task

RIVALS = ("GRU, 64 units", "GRU, 16 units", "Koopman", "N4SID", "linear ARX")

_EXPLANATION = (
    "Simulated systems that are hard to learn from (`benchmarks/hard_classes.py`), draws that"
    f" nothing was developed on: the error of `{OURS}`, and its ratio to each of the others',"
    " geometric means over draws; below 1 it is better. The best of them is the best on this very"
    " draw, which favours it. Mean squared errors, meaned over horizons and summed over"
    " observations. `python -m benchmarks.compare --data pendulum_report ...`, and"
    " `python -m benchmarks.peers` with the same names."
)


def hard_results(tasks: Sequence[Task], records: Mapping[str, Sequence[Record]]) -> Iterator[str]:
    """Yield heading, explanation and table; nothing where nothing was measured."""
    rows, best = [], []
    for task in tasks:
        done = {one.method: one for one in records[task.name] if not one.refused}
        if OURS not in done:
            continue
        tests = done[OURS].runs[0].scores
        for test in tests:
            row, ratios = _row(done, test)
            rows.append([label(task, test, tests), *row])
            best.append(ratios)
    if not rows:
        return
    yield "### Hard classes"
    yield _EXPLANATION
    heading = ["data", "draws", OURS, *(f"to {rival}" for rival in RIVALS), "to the best of them"]
    empty = [""] * (len(heading) - 2)
    geometric, low, high = mean_ratio(np.array([np.mean(one) for one in best if len(one)]))
    over_all = f"{number(geometric)} ({number(low)} to {number(high)})"
    yield markdown(heading, [*rows, ["geometric mean over tests", *empty, over_all]])


def _row(done: Mapping[str, Record], test: str) -> tuple[list[str], list[float]]:
    """Return a test's cells, and the logarithm of the ratio to the best in each draw."""
    ours = run_errors(done[OURS], test)
    errors = [run_errors(done[rival], test) for rival in RIVALS if rival in done]
    cells = []
    for rival in RIVALS:
        found = compared(done[OURS], done[rival], test, True) if rival in done else None
        cells.append(number(found.ratio) if found else "")
    logarithms = [
        float(np.log(error / min(beside)))
        for draw, error in ours.items()
        if (beside := [of_rival[draw] for of_rival in errors if draw in of_rival])
    ]
    to_best = number(float(np.exp(np.mean(logarithms)))) if logarithms else ""
    mean = number(float(np.mean(list(ours.values()))))
    return [str(len(ours)), mean, *cells, to_best], logarithms
