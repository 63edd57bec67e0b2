"""The figures of docs/method.md, from the measured records.

They stand there between two marks; `python -m benchmarks.page` writes them anew, and a test holds
that they are those of the records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.observations import AUTHORS
from benchmarks.pairing import compared
from benchmarks.paper.variants import variant_name
from benchmarks.records import RESULTS, Record, read_records
from benchmarks.tables import markdown, number, scores, spread
from benchmarks.tasks import TASKS

BEGIN, END = "<!-- figures of the records: begin -->", "<!-- figures of the records: end -->"
_HORIZONS = (1, 3, 5, 10)
_RECORDED = ("RFFPSR()", "linear ARX", "N4SID", "last observation", "mean")


def method_figures(folder: Path = RESULTS) -> str:
    """Return what stands between the marks, in Markdown."""
    return "\n\n".join(_parts(folder))


def with_figures(page: str, figures: str) -> str:
    """Return a page whose text between the marks is replaced."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{figures}\n\n{END}{rest.split(END)[1]}"


def _parts(folder: Path) -> Iterator[str]:
    records = {
        task: {one.method: one for one in read_records(task, folder) if not one.refused}
        for task in ("synth", "fresh", "jackal", "drone", "swimmer", "silverbox", "tanks")
    }
    yield f"{TASKS['synth'].title}:"
    yield _synthetic(records["synth"])
    yield f"{TASKS['fresh'].title}; mean over h1..h10 of each set:"
    yield _by_set(records["fresh"])
    for task in ("jackal", "drone"):
        yield f"{TASKS[task].title}; {TASKS[task].unit}:"
        yield _table(records[task], _RECORDED)
        yield _beside(records[task], task)
    yield f"{TASKS['swimmer'].title}; mean over h1..h10:"
    yield _by_test(records["swimmer"], ("RFFPSR()", "N4SID", "linear ARX"), clipped=False)
    for task in ("silverbox", "tanks"):
        yield f"{TASKS[task].title}; {TASKS[task].unit}:"
        yield _by_test(records[task], ("RFFPSR()", "linear ARX", "GRU, 64 units"))


def _synthetic(records: Mapping[str, Record]) -> str:
    paper = [variant_name(features, "joint", True) for features in (20, 5000, 10_000)]
    named = [one for name in paper for one in (name, AUTHORS + name)]
    return _table(records, [*named, "RFFPSR()", "linear ARX", "last observation"])


def _table(records: Mapping[str, Record], methods: Sequence[str]) -> str:
    rows = []
    for record in (records[name] for name in methods if name in records):
        errors = scores(record, "test")
        by_horizon = [number(float(errors[:, h - 1].mean())) for h in _HORIZONS]
        rows.append(
            [record.method, *by_horizon, spread(errors.mean(axis=1)), str(len(record.runs))]
        )
    heading = ["method", *(f"h{h}" for h in _HORIZONS), "mean h1..h10", "runs"]
    return markdown(heading, rows)


def _by_set(records: Mapping[str, Record]) -> str:
    chosen = [records[name] for name in ("RFFPSR()", "linear ARX", "N4SID") if name in records]
    numbers = sorted({run.number for record in chosen for run in record.runs})
    rows = []
    for record in chosen:
        errors = {run.number: float(np.mean(run.scores["test"])) for run in record.runs}
        told = [number(errors[n]) if n in errors else "" for n in numbers]
        rows.append([record.method, *told, number(float(np.median(list(errors.values()))))])
    return markdown(["set", *map(str, numbers), "median"], rows)


def _by_test(records: Mapping[str, Record], methods: Sequence[str], clipped: bool = True) -> str:
    chosen = [records[name] for name in methods if name in records]
    tests = list(chosen[0].runs[0].scores) if chosen else []
    shown = [test for test in tests if clipped or not test.endswith(", clipped")]
    rows = [
        [record.method, *(spread(scores(record, test).mean(axis=1)) for test in shown)]
        for record in chosen
    ]
    return markdown(["method", *shown], rows)


def _beside(records: Mapping[str, Record], task: str) -> str:
    """Return how `RFFPSR()` compares with each other method of the task, in one sentence."""
    ours, told = records.get("RFFPSR()"), []
    for name, record in sorted(records.items()):
        found = None
        if ours is not None and name not in ("RFFPSR()", "mean"):
            found = compared(ours, record, "test", TASKS[task].draws)
        if found is not None:
            told.append(f"{name} {found.words()}")
    return f"Error of `RFFPSR()` over that of others: {'; '.join(told)}."
