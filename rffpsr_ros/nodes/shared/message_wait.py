"""Messages as they arrive: waiting for them, and handing them out, past rclpy's executor.

What it gains is measured by `benchmarks.live_parts`; the table stands in docs/scaling.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.executors import SingleThreadedExecutor
from rclpy.subscription import Subscription

from rffpsr_ros.nodes.shared.rclpy_internals import Waiting, arrived, hand_out, is_destroyed, take

ROUNDS = 32
"""So many messages of a topic are taken at most before services and timers have their turn."""
LOOK_NS = 10_000_000
"""While messages arrive it is looked only so often whether a service was called."""
TURN_NS = 100_000_000
"""So long at most messages are handed out before all else that the executor knows has its turn."""


def _always() -> bool:
    return True


class DirectExecutor(SingleThreadedExecutor):
    """Hands out messages as they arrive; all else is done as rclpy's executor does it.

    For nodes that answer a thousand messages a second. Once it ``goes_on`` no longer, no further
    message is handed out.
    """

    def __init__(self, goes_on: Callable[[], bool] = _always, **options: Any) -> None:
        super().__init__(**options)
        self._goes_on = goes_on
        self._messages: dict[Any, MessageWait] = {}

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Do what is due, then hand out messages until something else is, or the turn is over."""
        for node in self.get_nodes():
            until = time.monotonic_ns() + TURN_NS
            take_waiting(list(node.subscriptions), until, self._goes_on)
        super().spin_once(0)
        for node in self.get_nodes():
            if node not in self._messages:
                self._messages[node] = MessageWait(node, self._goes_on)
            self._messages[node].take_as_they_arrive()

    def can_execute(self, entity: Any) -> bool:
        """Leave rclpy's executor no message: it knows no order of them."""
        return not isinstance(entity, Subscription) and super().can_execute(entity)


class MessageWait:
    """Waits for what arrives at a node."""

    def __init__(self, node: Any, goes_on: Callable[[], bool] = _always) -> None:
        self._node, self._waiting, self._goes_on = node, Waiting(node), goes_on

    def take_as_they_arrive(self) -> None:
        """Hand out messages until a timer is due, a service is called, or the turn is over."""
        now = time.monotonic_ns()
        until, look = now + TURN_NS, now
        while now < until and self._goes_on():
            everything = now >= look
            if everything:
                look = now + LOOK_NS
            limit = until - now if everything else look - now
            if self._waiting.ends_with_other_work(limit, everything):
                return
            take_waiting(list(self._node.subscriptions), until, self._goes_on)
            now = time.monotonic_ns()


def take_waiting(
    subscriptions: Sequence[Any], until: int, goes_on: Callable[[], bool] = _always
) -> None:
    """Hand out the messages that have arrived by now, in the order in which they did.

    A node that fell behind is told what happened as it happened, whatever the topic. Where the
    middleware does not tell when a message arrived it is one of each subscription in turn. Without
    the executor's gathering a node catches up several times as fast.

    A callback may take long: after ``until`` (ns, a monotonic clock) only what was taken already is
    handed out, and nothing once a node that is to end ``goes_on`` no longer.
    """
    turns = count()
    waiting: list[tuple[int, int, Any, Any]] = []

    def look(at: Iterable[Any]) -> None:
        for one in at:
            if (taken := _taken(one)) is not None:
                heappush(waiting, (arrived(taken), next(turns), one, taken))

    looked = time.time_ns()
    look(subscriptions)
    for _ in range(len(subscriptions) * ROUNDS):
        if not waiting or time.monotonic_ns() > until:
            break
        if not 0 < waiting[0][0] <= looked:  # where nothing was found something older may be now
            looked = time.time_ns()
            held = {id(entry[2]) for entry in waiting}
            look(one for one in subscriptions if id(one) not in held)
        if not goes_on():
            return
        _, _, one, taken = heappop(waiting)
        _hand_out(one, taken)
        look([one])
    for _, _, one, taken in sorted(waiting):
        if goes_on():
            _hand_out(one, taken)


def _taken(subscription: Any) -> Any:
    try:
        return take(subscription)
    except InvalidHandle:  # destroyed by a callback of this round
        return None


def _hand_out(subscription: Any, taken: Any) -> None:
    if not is_destroyed(subscription):
        hand_out(subscription, taken)
