"""Times of receipt, by the node's clock: what messages without a header are stamped with.

A node on a busy machine falls behind at times, and takes at once what arrived one after the other.
What counts is when a message arrived, not when its turn came: a command that is stamped late seems
to act ticks later than it did.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rffpsr_ros.nodes.shared.arrived_clock import ArrivedClock

JUMP_NS = 1_000_000_000
"""A clock that goes back by more than this has jumped; by less, it is coarse."""


class ReceiveTimes:
    """Gives each message its time of receipt (ns), later than that of the one before.

    Simulated time advances in steps of many milliseconds; without this, messages of one step would
    have one stamp, and a log of them no order. A message that arrives while the clock shows a time
    arrived after that time, so a command that answers what was seen then never counts as sent at
    that very moment, whichever of the two is taken first. Only a jump back in time is passed on.

    Parameters
    ----------
    at
        Gives the time (ns) of what arrived when the computer's clock showed so many nanoseconds (0:
        unknown, it arrived just now); 0 if there is no time yet.
    """

    def __init__(self, at: Callable[[int], int]) -> None:
        self._at = at
        self._last = 0

    def next(self, arrived_ns: int = 0) -> int | None:
        """Give the message that is handed out its time; None if there is no time yet."""
        now = self._at(arrived_ns)
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


def arrival_time(node: Any) -> Callable[[int], int]:
    """Return what gives the time of what arrived, by a node's clock, as `ReceiveTimes` asks it."""
    clock, now, simulated = node.get_clock(), node_time(node), ArrivedClock(node)

    def at(arrived_ns: int) -> int:
        known = simulated.now_ns() if clock.ros_time_is_active else arrived_ns
        return known or now()

    return at
