"""Messages as they come: waiting for them, and handing them out, past the executor.

Waiting for a node's messages, timers and services in one standing wait set takes a tenth of what
the executor takes, which gathers everything a node has anew before and after each message.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rclpy.exceptions import InvalidHandle
from rclpy.impl.implementation_singleton import rclpy_implementation

ROUNDS = 32
"""So many messages of a topic are taken at most before services and timers have their turn."""
LOOK_NS = 10_000_000
"""While messages come it is looked only so often whether a service was called."""
TURN_NS = 100_000_000
"""So long at most messages are handed out before all else that the executor knows has its turn."""


class MessageWait:
    """Waits for what comes to a node."""

    def __init__(self, node: Any) -> None:
        self._node = node
        self._sets: dict[tuple[int, ...], Any] = {}

    def take_as_they_come(self) -> None:
        """Hand out messages until a timer is due, a service is called, or the turn is over."""
        now = time.monotonic_ns()
        until, look = now + TURN_NS, now
        while now < until:
            everything = now >= look
            if everything:
                look = now + LOOK_NS
            come = self._wait(until - now if everything else look - now, everything)
            if come is None:
                return
            take_waiting(come)
            now = time.monotonic_ns()

    def _wait(self, nanoseconds: int, everything: bool) -> list[Any] | None:
        """Wait for messages and timers, or for ``everything`` there is but the executor's own.

        Return the subscriptions that have messages, or None if anything else has come.
        """
        node = self._node
        subscriptions, timers = list(node.subscriptions), list(node.timers)
        services = list(node.services) if everything else []
        sizes = len(subscriptions), 0, len(timers), 0, len(services), 0
        wait_set = self._sets.get(sizes)
        if wait_set is None:
            wait_set = rclpy_implementation.WaitSet(*sizes, node.context.handle)
            self._sets[sizes] = wait_set
        wait_set.clear_entities()
        for subscription in subscriptions:
            wait_set.add_subscription(subscription.handle)
        for timer in timers:
            wait_set.add_timer(timer.handle)
        for service in services:
            wait_set.add_service(service.handle)
        wait_set.wait(nanoseconds)
        if wait_set.get_ready_entities("timer"):
            return None
        if everything and wait_set.get_ready_entities("service"):
            return None
        ready = wait_set.get_ready_entities("subscription")
        return [one for one in subscriptions if one.handle.pointer in ready]


def take_waiting(subscriptions: Sequence[Any]) -> None:
    """Hand out the messages that have come by now, one of each subscription in turn.

    That is the executor's order, without its gathering: a node that fell behind catches up several
    times as fast.
    """
    for _ in range(ROUNDS):
        subscriptions = [one for one in subscriptions if _take_one(one)]
        if not subscriptions:
            return


def _take_one(subscription: Any) -> bool:
    try:
        with subscription.handle:
            taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
    except InvalidHandle:  # destroyed by a callback of this round
        return False
    if taken is None:
        return False
    kind = getattr(subscription, "_callback_type", None)
    with_info = kind is not None and kind is kind.WithMessageInfo
    subscription.callback(*taken if with_info else taken[:1])
    return True
