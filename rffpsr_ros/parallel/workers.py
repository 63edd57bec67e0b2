"""Who does the work of a pass over the data: this process, or others.

A pass is a function mapped over items in the order of the data, and its sums merged in that order.
Items and order depend on the data only, so whoever does the work, the result has the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

HeldT = TypeVar("HeldT")
HeldT_co = TypeVar("HeldT_co", covariant=True)
ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


class Mergeable(Protocol):
    """A sum to which another one can be added."""

    def merge(self, other: Any) -> None:
        """Add the sums over other windows."""
        ...


SumT = TypeVar("SumT", bound=Mergeable)


class Holders(Protocol[HeldT_co]):
    """Workers that hold a value, which whatever they do begins with."""

    def map(
        self, function: Callable[[HeldT_co, ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[ResultT]:
        """Yield the function's results for the value and each item, in the order of the items."""
        ...


class Workers(Protocol):
    """Those who do the work."""

    def map(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[ResultT]:
        """Yield the function's results in the order of the items."""
        ...

    def holding(self, value: HeldT) -> Holders[HeldT]:
        """Return the workers with a value that travels to them once, however often they map."""
        ...


class ThisProcess:
    """Work done here, one item after the other."""

    def map(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[ResultT]:
        """Yield the function's results in the order of the items."""
        return map(function, items)

    def holding(self, value: HeldT) -> Holders[HeldT]:
        """Return this process with a value in its hands."""
        return _HeldHere(value)


class _HeldHere(Generic[HeldT]):
    def __init__(self, value: HeldT) -> None:
        self._value = value

    def map(
        self, function: Callable[[HeldT, ItemT], ResultT], items: Sequence[ItemT]
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
