"""Calls of services by a node that ends: all in all they take no longer than ending may take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any

from std_srvs.srv import Trigger

PATIENCE_SECONDS = 1.2, 0.4
"""How long the first call may take, and how much longer the second.

The excitation takes one of these seconds, if need be, to see its command of zero arrive.
"""
LOOK_SECONDS = 0.02

Spin = Callable[[float], object]
"""Takes what arrives, for so many seconds at most."""


def last_answers(
    node: Any, services: Iterable[str], spin: Spin, now: Callable[[], float] = monotonic
) -> dict[str, Any]:
    """Call services of type std_srvs/srv/Trigger, one after the other.

    Parameters
    ----------
    node
        Who calls.
    services
        Their names, two at most.
    spin
        Lets the node take what arrives.
    now
        Seconds of a steady clock.

    Returns
    -------
    The answer of each service by its name; None where there was none in time.
    """
    clients = {service: node.create_client(Trigger, service) for service in services}
    answers = {}
    deadline = now()
    for (service, client), patience in zip(clients.items(), PATIENCE_SECONDS, strict=False):
        deadline += patience
        answers[service] = _answer(client, spin, now, deadline)
    return answers


def _answer(client: Any, spin: Spin, now: Callable[[], float], deadline: float) -> Any:
    future = None
    while now() < deadline:
        if future is None and client.service_is_ready():
            future = client.call_async(Trigger.Request())
        spin(LOOK_SECONDS)
        if future is not None and future.done():
            return future.result()
    return None
