"""What is used of rclpy beyond its documentation is there as it is used, and used nowhere else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rffpsr_ros.nodes.shared import rclpy_internals

SECOND = 10**9


def test_this_rclpy_has_every_name(ros_environment: None) -> None:
    assert rclpy_internals.missing() == []


def test_a_name_that_is_gone_is_missed(
    ros_environment: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = {"rclpy.node:Node.gone": "", "rclpy.gone:Node": "", "rclpy.node:Node.executor": ""}
    monkeypatch.setattr(rclpy_internals, "OF_DIRECT", gone)
    assert rclpy_internals.missing() == ["rclpy.node:Node.gone", "rclpy.gone:Node"]


def test_a_message_is_waited_for_taken_and_handed_out_with_its_times_if_wanted(ros: Any) -> None:
    from std_msgs.msg import Int64

    peer, told = ros.peer, ros.another_peer()
    handed_out: list[tuple[Any, ...]] = []
    with_times = peer.node.create_subscription(
        Int64, "/number", lambda message, times: handed_out.append((message, times)), 9
    )
    alone = peer.node.create_subscription(
        Int64, "/number", lambda message: handed_out.append((message,)), 9
    )
    raw = peer.node.create_subscription(
        Int64, "/number", lambda data: handed_out.append((data,)), 9, raw=True
    )
    told.publisher("/number", Int64)
    told.matched("/number", listeners=3)
    told.publish("/number", Int64(data=5))
    told.settle()
    waiting = rclpy_internals.Waiting(peer.node)
    assert not waiting.ends_with_other_work(SECOND, everything=False)
    for subscription in (with_times, alone, raw):
        taken = rclpy_internals.take(subscription)
        assert taken is not None
        rclpy_internals.hand_out(subscription, taken)
        assert rclpy_internals.take(subscription) is None
    (first, times), (second,), (third,) = handed_out
    assert first.data == second.data == 5
    assert times["received_timestamp"] >= times["source_timestamp"] > 0
    assert isinstance(third, bytes)
    assert not waiting.ends_with_other_work(0, everything=False)


def test_a_destroyed_subscription_raises_what_is_caught(ros: Any) -> None:
    from rclpy.exceptions import InvalidHandle
    from std_msgs.msg import Int64

    subscription = ros.peer.node.create_subscription(Int64, "/number", print, 9)
    ros.peer.node.destroy_subscription(subscription)
    with pytest.raises(InvalidHandle):
        rclpy_internals.take(subscription)


def test_timers_services_and_answers_end_the_waiting(ros: Any) -> None:
    from std_srvs.srv import Trigger

    peer, other = ros.peer, ros.another_peer()
    waiting = rclpy_internals.Waiting(peer.node)
    peer.node.create_timer(3600.0, lambda: None)  # to wait for nothing is an error
    timer = peer.node.create_timer(0.0, lambda: None)
    assert waiting.ends_with_other_work(SECOND, everything=False)
    peer.node.destroy_timer(timer)

    # A call of a service: seen only when everything is asked for.
    service = peer.node.create_service(Trigger, "/act", lambda request, response: response)
    client = other.node.create_client(Trigger, "/act")
    other.until(client.service_is_ready, "the service")
    future = client.call_async(Trigger.Request())
    assert waiting.ends_with_other_work(30 * SECOND, everything=True)
    assert not waiting.ends_with_other_work(0, everything=False)

    # Its answer, at the other end.
    theirs = rclpy_internals.Waiting(other.node)
    peer.until(lambda: theirs.ends_with_other_work(0, everything=True), "an answer")
    other.until(future.done, "the answer")
    peer.node.destroy_service(service)


def test_what_a_node_was_started_with_is_known_declared_or_not(ros: Any) -> None:
    from rclpy.node import Node
    from rclpy.parameter import Parameter

    given = {"observation.inputs": ["a", "b"], "rate": 2.0}
    parameters: list[Any] = [Parameter(name, value=value) for name, value in given.items()]
    node = Node("given", context=ros.peer.context, parameter_overrides=parameters)
    assert rclpy_internals.parameter_overrides(node) == given
    assert all(hasattr(node, name.rpartition(".")[2]) for name in rclpy_internals.OF_EVERY_NODE)
    node.destroy_node()


def test_a_node_forgets_its_executor(ros: Any) -> None:
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.node import Node

    node: Any = Node("forgetful", context=ros.peer.context)
    executor: Any = SingleThreadedExecutor(context=ros.peer.context)
    executor.add_node(node)
    assert node.executor is executor
    rclpy_internals.leave_executor(node)
    assert node.executor is None
    assert node not in executor.get_nodes()
    executor.shutdown()
    node.destroy_node()


PRIVATE = re.compile(
    r"rclpy\.impl|rclpy_implementation|\b_rclpy\b|\.handle\b|_callback_type|_parameter_overrides"
    r"|\bnode\.executor = |take_message"
)


def test_no_other_module_uses_them(checkout: Path) -> None:
    folders = ("rffpsr_ros", "benchmarks", "launch", "executables", "test")
    files = [path for folder in folders for path in (checkout / folder).rglob("*.py")]
    allowed = {Path(str(rclpy_internals.__file__)), Path(__file__)}
    strangers = [
        f"{path.relative_to(checkout)}: {match[0]}"
        for path in files
        if path not in allowed and (match := PRIVATE.search(path.read_text(encoding="utf-8")))
    ]
    assert strangers == []
