"""What a busy reader should know of the results: one table, and what is lost named first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.hard_classes import REPORTED
from benchmarks.pairing import Comparison, compared
from benchmarks.records import Record
from benchmarks.tables import markdown, number
from benchmarks.tasks import Task

OURS = "RFFPSR()"
LINEAR = ("linear ARX", "N4SID", "Kalman (PSR)")
LAST = "last observation"
_NO_PEERS = (OURS, *LINEAR, LAST, "mean")
_PAPER = ("RFF-PSR", "authors: ", "Octave: ", "RFF-ARX, one shot", "HSE-PSR, rank")

_EXPLANATION = (
    f"`{OURS}` beside the best other nonlinear method, the best linear one and the last"
    " observation: its error, and in each further column the other one's name and the ratio of"
    f" `{OURS}`'s error to it, so that below 1 `{OURS}` is better, with the interval that holds it"
    " with 95 %. Intervals are of pairs: of draws, each with data of its own, where data are"
    " simulated; of recorded data of the test's blocks of origins, or where records do not keep"
    " these of seeds, which tell nothing of other recordings. `?`: too few pairs for an interval."
    " The best other method is the best on this very test, which favours it. Mean squared errors,"
    " meaned over the horizons; simulations: root mean square."
)


class Line(NamedTuple):
    """One test: our error, and the comparisons with the best of each group, by name."""

    data: str
    error: float
    peer: tuple[str, Comparison] | None
    linear: tuple[str, Comparison] | None
    last: tuple[str, Comparison] | None

    @property
    def worst(self) -> float:
        """Return the largest ratio to the best of a group."""
        return max((one[1].ratio for one in (self.peer, self.linear, self.last) if one), default=0)

    def against(self, standing: str) -> list[str]:
        """Return the methods of all groups beside which we stand so (see `standing_of`)."""
        found = (self.peer, self.linear, self.last)
        return [name for name, one in filter(None, found) if standing_of(one) == standing]


_STANDINGS = {
    "lost": "Lost",
    "behind": "Behind, by too few pairs to say how surely",
    "undecided": "Undecided",
    "ahead": "Ahead, by too few pairs to say how surely",
}
"""How a comparison may stand that is not won, the worst first, and what the page calls it."""


def standing_of(one: Comparison) -> str:
    """Return how we stand: a key of `_STANDINGS`, or "won"."""
    verdict = one.verdict()
    if verdict != "open":
        return "won" if verdict == "holds" else "lost"
    if one.has_interval:
        return "undecided"
    return "behind" if one.ratio > 1 else "ahead"


def first_screen(tasks: Sequence[Task], records: Mapping[str, Sequence[Record]]) -> Iterator[str]:
    """Yield explanation, table and what is lost; nothing where nothing was measured."""
    found = [line for task in tasks for line in _lines(task, records[task.name])]
    if not found:
        return
    found.sort(key=lambda line: -line.worst)
    yield _in_words(found)
    heading = ["data", OURS, "best other nonlinear", "best linear", LAST]
    rows = [[one.data, number(one.error), *_cells(one)] for one in found]
    yield markdown(heading, rows)
    yield _EXPLANATION
    missing = [task.name for task in tasks if not _of(records[task.name], OURS)]
    if missing:
        yield f"Not measured with `{OURS}`: {', '.join(missing)}."


def _in_words(lines: Sequence[Line]) -> str:
    told = []
    for standing, word in _STANDINGS.items():
        named = [
            f"{line.data} ({', '.join(against)})"
            for line in lines
            if (against := line.against(standing))
        ]
        if named or standing == "lost":
            told.append(f"**{word}**: {'; '.join(named) or 'none'}.")
    won = [line.data for line in lines if not any(map(line.against, _STANDINGS))]
    return "\n".join(
        f"- {one}" for one in [*told, f"**Won** against all: {'; '.join(won) or 'none'}."]
    )


def label(task: Task, test: str, tests: Collection[str]) -> str:
    """Return what one of a task's tests is called in a table of several tasks."""
    name = task.name.removesuffix(REPORTED)
    return name if len(tests) == 1 else f"{name}, {test}"


def _lines(task: Task, records: Sequence[Record]) -> Iterator[Line]:
    done = [r for r in records if not r.refused and not r.method.startswith(_PAPER)]
    ours = _of(done, OURS)
    if ours is None:
        return
    tests = [test for test in ours.runs[0].scores if not test.endswith(", clipped")]
    for test in tests:
        measured = [record for record in done if all(test in run.scores for run in record.runs)]
        yield Line(
            label(task, test, tests),
            _error(ours, test),
            _best([r for r in measured if r.method not in _NO_PEERS], ours, test, task),
            _best([r for r in measured if r.method in LINEAR], ours, test, task),
            _best([r for r in measured if r.method == LAST], ours, test, task),
        )


def _best(
    others: Sequence[Record], ours: Record, test: str, task: Task
) -> tuple[str, Comparison] | None:
    """Return the best of the others and how we compare."""
    for other in sorted(others, key=lambda record: _error(record, test)):
        found = compared(ours, other, test, task.draws)
        if found is not None:
            return other.method, found
    return None


def _of(records: Sequence[Record], method: str) -> Record | None:
    return next((one for one in records if one.method == method and not one.refused), None)


def _error(record: Record, test: str) -> float:
    return float(np.mean([run.scores[test] for run in record.runs]))


def _cells(line: Line) -> list[str]:
    cells = []
    for one in (line.peer, line.linear, line.last):
        if one is None:
            cells.append("")
            continue
        name, found = one
        words = found.words() if found.has_interval else f"{number(found.ratio)} ?"
        shown = f"**{words}**" if standing_of(found) in ("lost", "behind") else words
        cells.append(shown if name == LAST else f"{name}: {shown}")
    return cells
