"""From ``main`` to the end of a node: start, spin, and an orderly end on SIGINT or SIGTERM.

Signals only ask for the end; nothing is interrupted halfway. They are seen between two callbacks,
of which there is one at least every tenth of a second.
"""

from __future__ import annotations

import gc
import signal
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Protocol

import rclpy
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.exceptions import InvalidHandle
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.logging import get_logger
from rclpy.signals import SignalHandlerOptions

from rffpsr_ros.errors import InputError

WAKE_SECONDS = 0.1
ROUNDS = 32
"""So many messages of a topic are taken at most before services and timers have their turn."""
TURN_NS = 10_000_000
"""So long at most messages alone are waited for before services have their turn."""


class Runnable(Protocol):
    """What can be run: a node that starts by itself and closes what it has open."""

    def begin(self) -> None:
        """Start, after construction and before spinning."""
        ...

    def close(self) -> None:
        """Complete what was begun; called once, at the end."""
        ...


class Finished(Exception):
    """Raised by a node that has done all it was started for."""


class _Stop:
    """Notes that a signal asked for the end."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        self.asked = True


def run(
    make: Callable[[], Any],
    name: str,
    arguments: Sequence[str] | None = None,
    messages_first: bool = False,
) -> int:
    """Run a node until it is asked to end; return the exit code.

    ``make`` returns a ROS node that is `Runnable`. An `InputError` at the start is logged in one
    line and makes the code 2. With ``messages_first`` services wait up to `TURN_NS` while messages
    are handed out as they come: for nodes that answer a thousand a second.
    """
    stop = _Stop()
    rclpy.init(
        args=None if arguments is None else list(arguments),
        signal_handler_options=SignalHandlerOptions.NO,
    )
    node = None
    code = 0
    try:
        node = make()
        node.begin()
        gc.freeze()  # looking through all that is there by now would take a tenth of a second
        _spin(node, stop, messages_first)
    except (ExternalShutdownException, Finished):
        pass
    except InputError as problem:
        get_logger(name).error(str(problem))
        code = 2
    finally:
        if node is not None:
            node.close()
            node.destroy_node()
        rclpy.try_shutdown()
    return code


def _spin(node: Any, stop: _Stop, messages_first: bool) -> None:
    executor = _executor(node.get_parameter("executor").value)
    wake = node.create_timer(WAKE_SECONDS, _nothing, clock=Clock(clock_type=ClockType.STEADY_TIME))
    executor.add_node(node)
    gathers_before_waiting = isinstance(executor, SingleThreadedExecutor)
    # It makes a timer, too, for every wait that has a limit.
    limit = None if gathers_before_waiting else WAKE_SECONDS
    try:
        while rclpy.ok() and not stop.asked:
            executor.spin_once(timeout_sec=limit)
            if gathers_before_waiting:
                take_waiting(node)
                if messages_first:
                    take_as_they_come(node)
    finally:
        wake.cancel()
        # A node that is destroyed later would wake an executor that is gone, and crash.
        node.executor = None
        executor.shutdown()


def take_waiting(node: Any) -> None:
    """Hand out the messages that have come by now, one of each subscription in turn.

    That is the executor's order, without its gathering of everything a node has before each
    message: a node that fell behind catches up several times as fast.
    """
    for _ in range(ROUNDS):
        if not sum([_take_one(subscription) for subscription in list(node.subscriptions)]):
            return


def take_as_they_come(node: Any) -> None:
    """Hand out messages as they come, until a timer is due or it is the services' turn.

    Waiting for messages alone takes a fraction of the executor's time, which looks at everything a
    node has, services of its parameters included, before and after each message.
    """
    until = time.monotonic_ns() + TURN_NS
    while (left := until - time.monotonic_ns()) > 0 and _a_message_comes(node, left):
        take_waiting(node)


def _a_message_comes(node: Any, nanoseconds: int) -> bool:
    """Wait for a message; return whether one came, and before a timer was due."""
    subscriptions, timers = list(node.subscriptions), list(node.timers)
    sizes = len(subscriptions), 0, len(timers), 0, 0, 0
    wait_set = rclpy_implementation.WaitSet(*sizes, node.context.handle)
    wait_set.clear_entities()
    for subscription in subscriptions:
        wait_set.add_subscription(subscription.handle)
    for timer in timers:
        wait_set.add_timer(timer.handle)
    wait_set.wait(nanoseconds)
    timers_due = wait_set.get_ready_entities("timer")
    return not timers_due and bool(wait_set.get_ready_entities("subscription"))


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


def _executor(name: str) -> Any:
    if name == "events":
        try:
            from rclpy.experimental.events_executor import EventsExecutor
        except ImportError:
            raise InputError(
                "this ROS has no events executor; set the parameter executor to single_threaded"
            ) from None
        return EventsExecutor()
    return SingleThreadedExecutor()


def _nothing() -> None:
    """Let a waiting executor return, so that signals are seen."""
