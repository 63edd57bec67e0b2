"""A node in a process of its own, and what is asked of it after every hostile input.

One node serves many cases; whichever ends it is told, and the next case finds a new one.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from benchmarks.audit.case import Broken, Case, untrue_state
from benchmarks.live_nodes import NodeProcess, Ros, free_domain

MOST_MEGABYTES = 1000
MOST_LINES = 150
"""Lines of log that one case may bring about."""

_LINE = re.compile(r"\[(DEBUG|INFO|WARN|ERROR|FATAL)\] \[[\d.]+\] \[[\w.]+\]: ")


class Stage(Protocol):
    """A running node with all around it that cases need."""

    node: NodeProcess

    def recovers(self) -> None:
        """Behave well, and raise `Broken` if the node does not do its work again, and say so."""
        ...


class Theatre:
    """Starts a stage when a case needs one, and ends all of it."""

    def __init__(self, make: Callable[[Ros], Stage]) -> None:
        self._make = make
        self._stack = ExitStack()
        self._stage: Stage | None = None

    def stage(self) -> Stage:
        """Return a stage whose node is alive."""
        if self._stage is None or not self._stage.node.alive:
            self._stack.close()
            self._stage = self._make(self._stack.enter_context(own_domain()))
        return self._stage

    def close(self) -> None:
        """End every process."""
        self._stack.close()
        self._stage = None

    def forget(self) -> None:
        """Let the next case have a new stage: something is not as it should be."""
        self._stage = None


@contextmanager
def own_domain() -> Iterator[Ros]:
    """Give a domain of ROS with folders of its own."""
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ROS_LOG_DIR"] = str(Path(folder) / "log")
        with free_domain(Path(folder)) as ros:
            try:
                yield ros
            finally:
                for node in ros.nodes:
                    if node.alive:
                        node.process.kill()
                        node.process.wait()
                    node.lines.clear()


def cases_on(
    make: Callable[[Ros], Stage], acts: Sequence[tuple[str, Callable[[Any], object]]]
) -> Iterator[Case]:
    """Yield a case for each act, all on one stage as long as its node lives."""
    theatre = Theatre(make)
    try:
        for name, act in acts:
            yield Case(name, partial(_try, theatre, act))
    finally:
        theatre.close()


def _try(theatre: Theatre, act: Callable[[Any], object]) -> None:
    stage = theatre.stage()
    before = len(stage.node.lines)
    try:
        try:
            act(stage)
            stage.recovers()
        except AssertionError as vain:
            told = (str(vain) or "something was waited for in vain").splitlines()[0]
            if stage.node.alive:
                raise untrue_state(f"{told}; last: {_last(stage.node)}") from None
        _check(stage.node, before)
    except BaseException:
        theatre.forget()
        raise


def _check(node: NodeProcess, before: int) -> None:
    """Raise `Broken` unless a node lives, is small, and printed whole lines only, and few."""
    if not node.alive:
        raise Broken("death", f"ended with {node.process.poll()}; last: {_last(node)}")
    lines = node.lines[before:]
    odd = [line for line in lines if not _LINE.match(line) or not line.isprintable()]
    if any("Traceback" in line for line in lines):
        raise Broken("traceback", " | ".join(lines)[:500])
    if odd:
        raise Broken("no sentence", repr(odd[0][:300]))
    if len(lines) > MOST_LINES:
        raise Broken("no sentence", f"{len(lines)} lines of log; last: {_last(node)}")
    if (held := megabytes(node)) > MOST_MEGABYTES:
        raise Broken("memory", f"{held:.0f} MB")


def megabytes(node: NodeProcess) -> float:
    """Return the memory that a node held at most so far."""
    status = Path(f"/proc/{node.process.pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


def _last(node: NodeProcess) -> str:
    return node.lines[-1][:300] if node.lines else "nothing"
