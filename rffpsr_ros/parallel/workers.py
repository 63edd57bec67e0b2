"""Who computes: this process, processes beside it, or the workers of a cluster.

A function is mapped over items in the order of the data, and its results are merged in that order.
Items and order depend on the data only, so whoever computes them, the sum has the same bits. Tasks,
such as learning from one fold, are submitted, and their results asked for later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from rffpsr_ros.progress import Progress

ValueT = TypeVar("ValueT")
ValueT_co = TypeVar("ValueT_co", covariant=True)
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")
ResultT_co = TypeVar("ResultT_co", covariant=True)


class Mergeable(Protocol):
    """A sum to which another one can be added."""

    def merge(self, other: Any) -> None:
        """Add the sums over other windows."""
        ...


SumT = TypeVar("SumT", bound=Mergeable)


class Broadcast(Protocol[ValueT_co]):
    """A value that every worker has, as the first argument of what is mapped."""

    def map(
        self, function: Callable[[ValueT_co, ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[ResultT]:
        """Yield the function's results for the value and each item, in the order of the items."""
        ...


class Task(Protocol[ResultT_co]):
    """What can be computed elsewhere: it travels by pickle."""

    def __call__(self, progress: Progress) -> ResultT_co:
        """Compute, telling how far it is."""
        ...


class Pending(Protocol[ResultT_co]):
    """The result of a task, which is there or will be."""

    def result(self) -> ResultT_co:
        """Return the result, waiting for it if need be; what the task raised is raised."""
        ...

    def hasten(self, urgency: int) -> None:
        """Have the task begun as one of this urgency, if it can be, and is less urgent by now."""
        ...

    def cancel(self) -> None:
        """Have it not begun, or ended, if that can be; nobody will ask for its result."""
        ...


MOSTLY_WANTED, MAYBE_WANTED = 3, 4
"""Urgencies of tasks that may be in vain: for who has nothing else to do."""


class Workers(Protocol):
    """Those who compute: `ThisProcess`, `Processes` beside it, or a `Cluster`."""

    @property
    def together(self) -> bool:
        """Whether tasks are computed side by side, so that it pays to submit them beforehand."""
        ...

    def map(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[ResultT]:
        """Yield the function's results in the order of the items."""
        ...

    def broadcast(self, value: ValueT) -> Broadcast[ValueT]:
        """Send a value to every worker once, for any number of maps."""
        ...

    def submit(self, task: Task[ResultT], progress: Progress, urgency: int = 0) -> Pending[ResultT]:
        """Have a task computed; the less ``urgency`` is, the earlier it is begun.

        Above 0 it is not wanted yet, and leaves the processor to others that are.

        ``progress`` is called by whoever asks for results, in the thread in which it does.
        """
        ...


class ThisProcess:
    """Computes here, one item after the other, and tasks when their results are asked for."""

    together = False

    def map(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[ResultT]:
        """Yield the function's results in the order of the items."""
        return map(function, items)

    def broadcast(self, value: ValueT) -> Broadcast[ValueT]:
        """Return the value for any number of maps."""
        return _LocalBroadcast(value)

    def submit(self, task: Task[ResultT], progress: Progress, urgency: int = 0) -> Pending[ResultT]:
        """Keep a task until its result is asked for."""
        del urgency
        return _Later(task, progress)


class _Later(Generic[ResultT]):
    """A task that is computed, once, when its result is asked for."""

    def __init__(self, task: Task[ResultT], progress: Progress) -> None:
        self._compute: partial[ResultT] | None = partial(task, progress)

    def result(self) -> ResultT:
        if self._compute is not None:
            self._result, self._compute = self._compute(), None
        return self._result

    def hasten(self, urgency: int) -> None:
        """Nothing is begun before it is asked for."""

    def cancel(self) -> None:
        """Nothing is begun that nobody asks for."""


class _LocalBroadcast(Generic[ValueT]):
    def __init__(self, value: ValueT) -> None:
        self._value = value

    def map(
        self, function: Callable[[ValueT, ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[ResultT]:
        return map(partial(function, self._value), items)


THIS_PROCESS = ThisProcess()


def merged(parts: Iterable[SumT | None]) -> SumT:
    """Return the sum of parts, merged in their order; at least one must be there.

    The first part becomes the sum.
    """
    total = merged_or_none(parts)
    assert total is not None, "training data hold at least one window"
    return total


def merged_or_none(parts: Iterable[SumT | None]) -> SumT | None:
    """Return the sum of the parts that are there, or None."""
    total: SumT | None = None
    for part in parts:
        if total is None:
            total = part
        elif part is not None:
            total.merge(part)
    return total


def grouped(
    items: Iterable[ItemT], size: Callable[[ItemT], int], limit: int
) -> list[Sequence[ItemT]]:
    """Return consecutive items in groups whose sizes sum up to at most ``limit``, or single."""
    groups: list[list[ItemT]] = []
    filled = limit
    for item in items:
        if filled + size(item) > limit:
            groups.append([])
            filled = 0
        groups[-1].append(item)
        filled += size(item)
    return list(groups)
