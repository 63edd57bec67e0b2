"""Whatever fails in a callback, in every executor: the node goes on, or gives up and says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

TURNS = 400
EXECUTORS = ("direct", "single_threaded", "events")


@pytest.fixture
def failing(ros: Any) -> Iterator[Callable[[], Any]]:
    """Return a function that makes a lifecycle node all of whose callbacks fail."""
    import rclpy
    from rclpy.context import Context
    from rclpy.lifecycle import LifecycleNode
    from std_msgs.msg import String
    from std_srvs.srv import Trigger

    from rffpsr_ros.nodes.shared.callback_guard import GuardedNode
    from rffpsr_ros.nodes.shared.rclpy_internals import leave_executor

    def fail(*_: Any) -> None:
        raise RuntimeError("defect")

    class Failing(GuardedNode, LifecycleNode):
        def __init__(self, context: Any) -> None:
            super().__init__("failing", context=context)
            self.declare_parameter("word", "")
            self.create_subscription(String, "/words", fail, 10)
            self.create_service(Trigger, "~/act", fail)
            self.add_on_set_parameters_callback(fail)

        def give_up(self) -> str:
            self.trigger_deactivate()
            return "it stops"

    context = Context()
    rclpy.init(context=context, domain_id=ros.domain)
    node = Failing(context)
    node.trigger_configure()
    node.trigger_activate()
    yield lambda: node
    leave_executor(node)
    node.destroy_node()
    rclpy.shutdown(context=context)


def an_executor(name: str, context: Any) -> Any:
    from rclpy.executors import SingleThreadedExecutor

    from rffpsr_ros.nodes.shared.message_wait import DirectExecutor

    if name == "events":
        events = pytest.importorskip("rclpy.experimental.events_executor")
        return events.EventsExecutor(context=context)
    return {"direct": DirectExecutor, "single_threaded": SingleThreadedExecutor}[name](
        context=context
    )


@pytest.mark.parametrize("name", EXECUTORS)
def test_every_callback_is_guarded_in_every_executor(
    ros: Any, failing: Callable[[], Any], name: str
) -> None:
    from rcl_interfaces.srv import SetParameters
    from rclpy.parameter import Parameter
    from std_msgs.msg import String
    from std_srvs.srv import Trigger

    node = failing()
    executor = an_executor(name, node.context)
    executor.add_node(node)
    peer = ros.peer

    def until(condition: Callable[[], Any], what: str) -> None:
        for _ in range(TURNS):
            if condition():
                return
            executor.spin_once(timeout_sec=0.02)
            peer.spin()
        pytest.fail(f"waited in vain for {what}")

    words = peer.publisher("/words", String)
    until(words.get_subscription_count, "a listener")
    words.publish(String(data="one"))
    until(lambda: node.guard.count == 1, "a fault of a subscription")
    timer = node.create_timer(0.01, lambda: 1 / 0)
    until(lambda: node.guard.count > 1, "a fault of a timer")
    node.destroy_timer(timer)

    def answer(kind: Any, service: str, request: Any) -> Any:
        client = peer.node.create_client(kind, f"/failing/{service}")
        until(client.service_is_ready, service)
        future = client.call_async(request)
        until(future.done, f"an answer of {service}")
        return future.result()

    refused = answer(Trigger, "act", Trigger.Request())
    assert (refused.success, "failed" in refused.message) == (False, True)
    word = Parameter("word", value="x").to_parameter_msg()
    (result,) = answer(
        SetParameters, "set_parameters", SetParameters.Request(parameters=[word])
    ).results
    assert not result.successful
    assert node.get_parameter("word").value == ""
    before = node.guard.count
    words.publish(String(data="and it goes on"))
    until(lambda: node.guard.count > before, "another fault")
    executor.shutdown()


def test_a_node_whose_faults_repeat_deactivates_itself(
    ros: Any, failing: Callable[[], Any]
) -> None:
    from diagnostic_msgs.msg import DiagnosticArray

    from rffpsr_ros.nodes.shared.callback_guard import MOST_FAULTS

    node = failing()
    told = ros.peer.collect("/diagnostics", DiagnosticArray)
    failing_turn = node.guard.around(lambda: 1 / 0, "a turn")
    for _ in range(MOST_FAULTS):
        failing_turn()

    def says_so() -> bool:
        failing_turn()
        return any("gave up its work" in one.status[0].message for one in told)

    ros.peer.until(says_so, "the diagnostics")
    from lifecycle_msgs.msg import State

    assert node._state_machine.current_state[0] == State.PRIMARY_STATE_INACTIVE
