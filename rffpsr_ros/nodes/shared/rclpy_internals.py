"""All that this package uses of rclpy beyond what rclpy documents; no other module uses any of it.

A test looks for every name here and uses it, so that an rclpy that has it otherwise fails there.
Where a running rclpy lacks one, nodes go by rclpy's own executor, see `nodes.shared.executors`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

from rclpy.exceptions import InvalidHandle

_IMPLEMENTATION = "rclpy.impl.implementation_singleton:rclpy_implementation"

OF_DIRECT: Mapping[str, str] = {
    f"{_IMPLEMENTATION}.WaitSet": "Waits in the middleware; made anew only if counts change.",
    f"{_IMPLEMENTATION}.WaitSet.clear_entities": "Empties it for the next round.",
    f"{_IMPLEMENTATION}.WaitSet.add_subscription": "Lets a message end the waiting.",
    f"{_IMPLEMENTATION}.WaitSet.add_timer": "Lets a timer that is due end it.",
    f"{_IMPLEMENTATION}.WaitSet.add_service": "Lets a call of a service end it.",
    f"{_IMPLEMENTATION}.WaitSet.add_client": "Lets an answer of a service end it.",
    f"{_IMPLEMENTATION}.WaitSet.wait": "Waits for so many nanoseconds at most.",
    f"{_IMPLEMENTATION}.WaitSet.get_ready_entities": "Tells what ended it.",
    f"{_IMPLEMENTATION}.Subscription.take_message": "Takes a message that has arrived, if any.",
    "rclpy.subscription:Subscription.handle": "What is waited for and taken from.",
    "rclpy.subscription:Subscription.CallbackType.WithMessageInfo": "With `_callback_type` of a"
    " subscription: whether its callback takes a message's times, too.",
    "rclpy.timer:Timer.handle": "What is waited for.",
    "rclpy.service:Service.handle": "What is waited for.",
    "rclpy.client:Client.handle": "What is waited for.",
    "rclpy.context:Context.handle": "What a wait set belongs to.",
}
"""What `direct` takes, and what for. ``module:name``, as `pkgutil.resolve_name` reads it."""

OF_EVERY_NODE: Mapping[str, str] = {
    "rclpy.node:Node._parameter_overrides": "Parameters that were given but are not declared, such"
    " as a channel configuration; set when a node is made.",
    "rclpy.node:Node.executor": "Set to None before a node is destroyed: it would wake an executor"
    " that is gone, and crash.",
}
"""What is used whichever executor runs a node."""


def missing() -> list[str]:
    """Return those of `OF_DIRECT` that the running rclpy lacks."""
    return [name for name in OF_DIRECT if not _is_there(name)]


def _is_there(name: str) -> bool:
    try:
        resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


class Waiting:
    """Waits for what arrives at a node, in wait sets that stand as long as the counts stay.

    rclpy's executor makes a new one for every message, and asks everything a node has before.
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._sets: dict[tuple[int, ...], Any] = {}

    def ends_with_other_work(self, nanoseconds: int, everything: bool) -> bool:
        """Wait for messages and timers, and with ``everything`` for services and clients, too.

        Tell whether anything but messages is ready.
        """
        node = self._node
        subscriptions, timers = list(node.subscriptions), list(node.timers)
        services, clients = [], []
        if everything:
            services, clients = list(node.services), list(node.clients)
        wait_set = self._wait_set(len(subscriptions), len(timers), len(clients), len(services))
        wait_set.clear_entities()
        for subscription in subscriptions:
            wait_set.add_subscription(subscription.handle)
        for timer in timers:
            wait_set.add_timer(timer.handle)
        for service in services:
            wait_set.add_service(service.handle)
        for client in clients:
            wait_set.add_client(client.handle)
        wait_set.wait(nanoseconds)
        others = ("timer", "service", "client") if everything else ("timer",)
        return any(wait_set.get_ready_entities(kind) for kind in others)

    def _wait_set(self, subscriptions: int, timers: int, clients: int, services: int) -> Any:
        sizes = subscriptions, 0, timers, clients, services, 0
        if sizes not in self._sets:
            kind = resolve_name(f"{_IMPLEMENTATION}.WaitSet")
            self._sets[sizes] = kind(*sizes, self._node.context.handle)
        return self._sets[sizes]


def take(subscription: Any) -> tuple[Any, Any] | None:
    """Return the oldest message that waits at a subscription, and its times; None if none does.

    Raises
    ------
    rclpy.exceptions.InvalidHandle
        If the subscription was destroyed.
    """
    with subscription.handle:
        taken: tuple[Any, Any] | None = subscription.handle.take_message(
            subscription.msg_type, subscription.raw
        )
    return taken


def arrived(taken: Sequence[Any]) -> int:
    """Return when (ns, the computer's clock) a message arrived; 0 if the middleware tells not."""
    return int(taken[1]["received_timestamp"])


def is_destroyed(subscription: Any) -> bool:
    """Tell whether a subscription was destroyed."""
    try:
        with subscription.handle:
            return False
    except InvalidHandle:
        return True


def hand_out(subscription: Any, taken: Sequence[Any]) -> None:
    """Call a subscription's callback with what was taken, or with the message alone."""
    kind = subscription._callback_type
    subscription.callback(*taken if kind is kind.WithMessageInfo else taken[:1])


def parameter_overrides(node: Any) -> dict[str, Any]:
    """Return the values that a node was started with, by name, declared or not.

    None where rclpy does not tell them: then a channel configuration must stand in a file.
    """
    given = getattr(node, "_parameter_overrides", {})
    return {name: one.value for name, one in given.items()}


def leave_executor(node: Any) -> None:
    """Let a node forget its executor."""
    node.executor = None
