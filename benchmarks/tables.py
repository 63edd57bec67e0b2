"""Measured runs as Markdown tables and as the curves of plots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.records import Record
from benchmarks.tasks import Task
from rffpsr_ros.numerics.arrays import Array

_SHOWN = (1, 2, 3, 5, 10)


def markdown(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown, its first column flush left."""
    rule = ["---", *["---:"] * (len(heading) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heading, rule, *rows])


def task_tables(task: Task, records: Sequence[Record]) -> Iterator[tuple[str, str]]:
    """Yield (test, table in Markdown) of a task; the test is "" where one table tells all."""
    done = [record for record in records if not record.refused]
    if not done:
        return
    tests = list(done[0].runs[0].scores)
    if task.simulation_after is not None:
        yield "", _simulation_table(done, tests)
        return
    for test in tests:
        yield test if len(tests) > 1 else "", _horizon_table(done, test)


def curves(records: Sequence[Record], test: str) -> dict[str, Array]:
    """Return the errors (runs, H) of each method on a test."""
    return {record.method: scores(record, test) for record in records if not record.refused}


def scores(record: Record, test: str) -> Array:
    """Return the scores (runs, H) of a record on a test."""
    return np.array([run.scores[test] for run in record.runs])


def spread(values: Array) -> str:
    """Return the mean of values (runs,) and, of several, their range."""
    if len(values) == 1:
        return number(values[0])
    return f"{number(values.mean())} ({number(values.min())} to {number(values.max())})"


def number(value: float) -> str:
    """Return a number in three digits."""
    if value == 0 or 1e-4 <= abs(value) < 1e5:
        digits = max(0, 2 - int(np.floor(np.log10(abs(value))))) if value else 0
        return f"{value:.{digits}f}"
    return f"{value:.2g}"


def _horizon_table(records: Sequence[Record], test: str) -> str:
    last = scores(records[0], test).shape[1]
    shown = sorted({h for h in (*_SHOWN, last) if h <= last})
    heading = ["method", *(f"h{h}" for h in shown), f"mean h1..h{last}", *_COSTS]
    rows = []
    for record in records:
        errors = scores(record, test)
        by_horizon = [number(errors[:, h - 1].mean()) for h in shown]
        rows.append([record.method, *by_horizon, spread(errors.mean(axis=1)), *_costs(record)])
    return markdown(heading, rows)


def _simulation_table(records: Sequence[Record], tests: Sequence[str]) -> str:
    rows = [
        [record.method, *(spread(scores(record, test)[:, 0]) for test in tests), *_costs(record)]
        for record in records
    ]
    return markdown(["method", *tests, *_COSTS], rows)


_COSTS = ("runs", "learning, CPU s", "step, us")


def _costs(record: Record) -> list[str]:
    training = [run.training_seconds for run in record.runs if run.training_seconds is not None]
    steps = [run.step_seconds for run in record.runs if run.step_seconds is not None]
    return [
        str(len(record.runs)),
        number(float(np.mean(training))) if training else "",
        f"{1e6 * min(steps):.0f}" if steps else "",
    ]
