"""What runs a node, as its parameter ``executor`` says.

``single_threaded`` is rclpy's own way throughout. ``direct`` goes past rclpy where that is cheaper:
messages are waited for and handed out by `message_wait`, read off their bytes by
`recordings.bags.message_layout`, and forecasts put into the bytes of a message by
`filter.prepared_message`. ``events`` is ``direct`` with rclpy's events executor in place of
`message_wait`. `benchmarks.live_parts` measures what each part gains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rclpy.executors import SingleThreadedExecutor

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.shared import rclpy_internals
from rffpsr_ros.nodes.shared.message_wait import DirectExecutor

DIRECT, SINGLE_THREADED, EVENTS = "direct", "single_threaded", "events"


def executor_name(node: Any) -> str:
    """Return the executor of a node: as its parameter says, unless this rclpy lacks what it needs.

    Then it is the single-threaded one.
    """
    name = str(node.get_parameter("executor").value)
    return SINGLE_THREADED if name == DIRECT and rclpy_internals.missing() else name


def works_on_bytes(node: Any) -> bool:
    """Tell whether a node reads messages, and makes them, past rclpy."""
    return executor_name(node) != SINGLE_THREADED


def with_times(node: Any, take: Callable[[Any, Mapping[str, int]], None]) -> Callable[..., None]:
    """Return a subscription's callback that is told a message's times, too.

    rclpy's events executor fails where a callback wants them: there they are 0, which is unknown.
    """
    if executor_name(node) != EVENTS:
        return take

    def take_alone(message: Any) -> None:
        take(message, {"source_timestamp": 0, "received_timestamp": 0})

    return take_alone


def make_executor(node: Any, goes_on: Callable[[], bool]) -> Any:
    """Return a new executor for a node, without the node; one line of log says if it is another.

    Once the node ``goes_on`` no longer, it hands out no message that waits.

    Raises
    ------
    InputError
        If it is ``events``, and this ROS has no such executor.
    """
    name = executor_name(node)
    if name != node.get_parameter("executor").value:
        node.get_logger().warning(
            f"this rclpy has no {' and no '.join(rclpy_internals.missing())}: the executor is"
            f" {name} instead of {DIRECT}"
        )
    if name == EVENTS:
        return _events_executor()
    return DirectExecutor(goes_on) if name == DIRECT else SingleThreadedExecutor()


def executor_in_order() -> SingleThreadedExecutor:
    """Return what hands out messages in the order of their arrival, if this rclpy lets it."""
    return SingleThreadedExecutor() if rclpy_internals.missing() else DirectExecutor()


def _events_executor() -> Any:
    try:
        from rclpy.experimental.events_executor import EventsExecutor
    except ImportError:
        raise InputError(
            "this ROS has no events executor; set the parameter executor to single_threaded"
        ) from None
    return EventsExecutor()
