"""Cases are tried in a child process: what kills it is an outcome, and the others go on."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from typing import NamedTuple

from benchmarks.audit.case import Case, Outcome, limit_memory, outcome_of

MEMORY_GIGABYTES = 1.0
"""What a case may take beside what its process held before the first."""


class Group(NamedTuple):
    """A kind of input, and how to make cases of it."""

    name: str
    cases: Callable[[int], Iterable[Case]]
    """Of a seed, the cases in a fixed order; whoever takes fewer takes the first."""

    size: int
    """How many are tried where nobody says otherwise."""

    seconds: float = 20.0
    """Within which a case must be over."""

    limits_memory: bool = True
    """False where a case starts processes of its own and watches their memory itself."""

    prepare: Callable[[], object] | None = None
    """Run in the child before memory is limited: imports, compiled code, models."""


def outcomes(group: Group, seed: int, first: int, count: int) -> Iterator[Outcome]:
    """Yield the outcomes of cases ``first`` to ``first + count``, in their order."""
    at, end = first, first + count
    while at < end:
        answers, child = _start(group, seed, at, end)
        name = ""
        try:
            while at < end:
                message = answers.recv()
                if isinstance(message, str):
                    name = message
                    continue
                yield message
                name, at = "", at + 1
        except EOFError:
            child.join()
            if child.exitcode == 0 and name == "":
                return
            yield Outcome(name, "death", _how(child.exitcode))
            at += 1
        finally:
            answers.close()
            child.join(5)
            if child.is_alive():
                child.kill()


def _start(
    group: Group, seed: int, first: int, end: int
) -> tuple[Connection, multiprocessing.Process]:
    context = multiprocessing.get_context("spawn")
    answers, says = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(group, seed, first, end, says), daemon=False)
    child.start()
    says.close()
    return answers, child  # type: ignore[return-value]


def _work(group: Group, seed: int, first: int, end: int, says: Connection) -> None:
    if group.prepare is not None:
        group.prepare()
    if group.limits_memory:
        limit_memory(MEMORY_GIGABYTES)
    for index, case in enumerate(group.cases(seed)):
        if index >= end:
            break
        if index >= first:
            says.send(case.name)
            says.send(outcome_of(case, group.seconds))
    says.close()


def _how(code: int | None) -> str:
    if code is not None and code < 0:
        return f"ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"
