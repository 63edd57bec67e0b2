"""From what was sent and heard to what is promised; pure functions of times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

STEADY = 20
"""So many ticks one after the other must be answered for a node to have recovered."""
STANDSTILL = "the machine stood still"
"""The kind of fault that nobody asked for."""
STANDSTILL_NS = 50_000_000
"""A message that is sent so late was held up by the machine, and all after it."""
BEFORE_NS = 20_000_000
"""What was sent just before a fault may be hit by it."""


class Event(NamedTuple):
    """A fault as it was done: from ``begin`` to the end of its cause (ns of one steady clock).

    ``anew`` where the node begins anew: recovery then counts from its first answer.
    """

    kind: str
    begin: int
    end: int
    anew: bool = False


class Recovery(NamedTuple):
    """How a fault ended: ``ticks`` without a steady answer after its cause; None: never.

    ``seconds`` are from the fault's beginning to the first of the steady answers.
    """

    kind: str
    ticks: int | None
    seconds: float | None
    first: int
    last: int


def answers_of(sent: Integers, stamps: Integers, moments: Integers) -> Integers:
    """Return when each stamp that was sent was answered first (ns); 0: never."""
    order = np.lexsort((moments, stamps))
    stamps, moments = stamps[order], moments[order]
    if not len(stamps):
        return np.zeros(len(sent), dtype=np.int64)
    at = np.minimum(np.searchsorted(stamps, sent), len(stamps) - 1)
    return np.where(stamps[at] == sent, moments[at], 0)


def recoveries(
    sent_at: Integers, answered: NDArray[np.bool_], events: Sequence[Event]
) -> list[Recovery]:
    """Return how each of the events, in the order of their times, was recovered from.

    ``last`` is the first tick after a fault's window; ``first`` its first one.
    """
    found = []
    ends = [*(event.begin - BEFORE_NS for event in events[1:]), np.iinfo(np.int64).max]
    for event, next_ns in zip(events, ends, strict=True):
        begin = int(np.searchsorted(sent_at, event.begin - BEFORE_NS))
        over = int(np.searchsorted(sent_at, event.end))
        limit = int(np.searchsorted(sent_at, next_ns))
        if event.anew:
            over = _first(answered[over:limit], 1, over, limit)
        steady = _first(answered[over:limit], STEADY, over, limit)
        if steady == limit:
            found.append(Recovery(event.kind, None, None, begin, limit))
        else:
            seconds = (int(sent_at[steady]) - event.begin) / 1e9
            found.append(Recovery(event.kind, steady - over, seconds, begin, steady))
    return found


def judged(
    sent_at: Integers, late: Integers, answered: NDArray[np.bool_], events: Sequence[Event]
) -> list[Recovery]:
    """Return how each of the events, and each standstill beside them, was recovered from.

    A standstill cuts no other fault's window short: the steady answers to that one may come after.
    """
    asked_for = recoveries(sent_at, answered, events)
    more = standstills(sent_at, late, asked_for)
    every = sorted([*events, *more], key=lambda event: event.begin)
    by_itself = recoveries(sent_at, answered, every) if more else []
    found = [*asked_for, *(one for one in by_itself if one.kind == STANDSTILL)]
    return sorted(found, key=lambda one: one.first)


def standstills(sent_at: Integers, late: Integers, found: Sequence[Recovery]) -> list[Event]:
    """Return when the robot itself could not send: it then sends what was due all at once.

    ``late`` (ns) is by how much each message was. Before a fault is recovered from, as while a node
    that was killed starts up and takes all there is of the machine, it is a part of that.
    """
    far = np.concatenate([[False], late > STANDSTILL_NS, [False]])
    firsts, lasts = np.flatnonzero(np.diff(far.astype(int))).reshape(-1, 2).T
    within = ~outside(len(sent_at), found)
    return [
        Event(STANDSTILL, int(sent_at[first] - late[first]), int(sent_at[last]))
        for first, last in zip(firsts, lasts - 1, strict=True)
        if not within[first : last + 1].any()
    ]


def _first(answered: NDArray[np.bool_], run: int, offset: int, otherwise: int) -> int:
    """Return where the first run of so many answered ticks begins."""
    if len(answered) < run:
        return otherwise
    sums = np.cumsum(np.concatenate([[0], answered]))
    (found,) = np.nonzero(sums[run:] - sums[:-run] == run)
    return offset + int(found[0]) if len(found) else otherwise


def outside(count: int, found: Sequence[Recovery]) -> NDArray[np.bool_]:
    """Return which of so many ticks are in no fault's window."""
    mask = np.ones(count, dtype=bool)
    for one in found:
        mask[one.first : one.last] = False
    return mask


def by_kind(found: Sequence[Recovery]) -> dict[str, dict[str, Any]]:
    """Return how often each kind of fault happened, and the slowest recovery from it."""
    table: dict[str, dict[str, Any]] = {}
    for kind in dict.fromkeys(one.kind for one in found):
        of_kind = [one for one in found if one.kind == kind]
        known = [one.ticks for one in of_kind if one.ticks is not None]
        took = [one.seconds for one in of_kind if one.seconds is not None]
        table[kind] = {
            "times": len(of_kind),
            "recovered": len(known),
            "median ticks": float(np.median(known)) if known else None,
            "most ticks": max(known, default=None),
            "most seconds": max(took, default=None),
        }
    return table


def growth(at: Sequence[float], megabytes: Sequence[float], warm_up: float) -> float | None:
    """Return by how much memory grew from the warm-up to the end (MB): medians of tenths.

    None where a life was too short to tell: less than twice its warm-up.
    """
    times, sizes = np.array(at), np.array(megabytes)
    late = times >= times[0] + warm_up
    if times[-1] - times[0] < 2 * warm_up or late.sum() < 10:
        return None
    tenth = max(1, int(late.sum()) // 10)
    return float(np.median(sizes[late][-tenth:]) - np.median(sizes[late][:tenth]))
