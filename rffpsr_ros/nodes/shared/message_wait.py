"""Messages as they arrive: waiting for them, and handing them out, past rclpy's executor.

What it gains is measured by `benchmarks.live_parts`; the table stands in docs/scaling.md.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
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


class DirectExecutor(SingleThreadedExecutor):
    """Hands out messages as they arrive; all else is done as rclpy's executor does it.

    For nodes that answer a thousand messages a second.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._messages: dict[Any, MessageWait] = {}

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Do what is due, then hand out messages until something else is, or the turn is over."""
        for node in self.get_nodes():
            take_waiting(list(node.subscriptions))
        super().spin_once(0)
        for node in self.get_nodes():
            if node not in self._messages:
                self._messages[node] = MessageWait(node)
            self._messages[node].take_as_they_arrive()

    def can_execute(self, entity: Any) -> bool:
        """Leave rclpy's executor no message: it knows no order of them."""
        return not isinstance(entity, Subscription) and super().can_execute(entity)


class MessageWait:
    """Waits for what arrives at a node."""

    def __init__(self, node: Any) -> None:
        self._node, self._waiting = node, Waiting(node)

    def take_as_they_arrive(self) -> None:
        """Hand out messages until a timer is due, a service is called, or the turn is over."""
        now = time.monotonic_ns()
        until, look = now + TURN_NS, now
        while now < until:
            everything = now >= look
            if everything:
                look = now + LOOK_NS
            limit = until - now if everything else look - now
            if self._waiting.ends_with_other_work(limit, everything):
                return
            take_waiting(list(self._node.subscriptions))
            now = time.monotonic_ns()


def take_waiting(subscriptions: Sequence[Any]) -> None:
    """Hand out the messages that have arrived by now, in the order in which they did.

    A node that fell behind is told what happened as it happened, whatever the topic. Where the
    middleware does not tell when a message arrived it is one of each subscription in turn. Without
    the executor's gathering a node catches up several times as fast.
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
        if not waiting:
            return
        if not 0 < waiting[0][0] <= looked:  # where nothing was found something older may be now
            looked = time.time_ns()
            held = {id(entry[2]) for entry in waiting}
            look(one for one in subscriptions if id(one) not in held)
        _, _, one, taken = heappop(waiting)
        _hand_out(one, taken)
        look([one])
    for _, _, one, taken in sorted(waiting):
        _hand_out(one, taken)


def _taken(subscription: Any) -> Any:
    try:
        return take(subscription)
    except InvalidHandle:  # destroyed by a callback of this round
        return None


def _hand_out(subscription: Any, taken: Any) -> None:
    if not is_destroyed(subscription):
        hand_out(subscription, taken)
