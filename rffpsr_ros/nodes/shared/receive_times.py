"""Times of receipt: no two messages share one, whatever the resolution of the clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

JUMP_NS = 1_000_000_000
"""A clock that goes back by more than this has jumped; by less, it is coarse."""


class ReceiveTimes:
    """Gives each message its time of receipt (ns), later than that of the one before.

    Simulated time advances in steps of many milliseconds; without this, messages of one step would
    have one stamp, and a log of them no order. A message that arrives while the clock shows a time
    arrived after that time, so a command that answers what was seen then never counts as sent at
    that very moment, whichever of the two is taken first. Only a jump back in time is passed on.
    """

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._last = 0

    def next(self) -> int | None:
        """Give the message that has just arrived its time; None if there is no time yet."""
        now = self._now()
        if now <= 0:
            return None
        now += 1
        if now <= self._last < now + JUMP_NS:
            now = self._last + 1
        self._last = now
        return now


def node_time(node: Any) -> Callable[[], int]:
    """Return what gives a node's time (ns).

    Real time is read off the computer's clock, as ROS does, but a dozen calls nearer to it.
    """
    clock = node.get_clock()
    return lambda: clock.now().nanoseconds if clock.ros_time_is_active else time.time_ns()
