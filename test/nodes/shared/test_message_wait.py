"""How nodes are run: messages that have arrived are handed out in the executor's order."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from test.nodes.conftest import Ros


def test_messages_that_have_arrived_are_handed_out_in_the_order_of_their_arrival(ros: Ros) -> None:
    from std_msgs.msg import Int64

    from rffpsr_ros.nodes.shared.message_wait import take_waiting

    peer, told, handed_out = ros.peer, ros.another_peer(), list[tuple[str, int]]()
    for topic in ("/first", "/second"):
        peer.node.create_subscription(
            Int64, topic, lambda message, topic=topic: handed_out.append((topic, message.data)), 9
        )
        told.publisher(topic, Int64)
    told.matched("/first", "/second")
    for number in range(3):
        for topic in ("/second", "/first"):
            told.publish(topic, Int64(data=number))
    told.settle()  # the messages wait: nobody has spun their receiver

    take_waiting(list(peer.node.subscriptions))

    in_order = [(topic, number) for number in range(3) for topic in ("/second", "/first")]
    assert handed_out == in_order
    take_waiting(list(peer.node.subscriptions))
    assert handed_out == in_order


def test_of_messages_that_waited_together_it_is_told_how_much_newer_the_newest_is(
    ros: Ros,
) -> None:
    """DDS of a process that was stopped receives them all at once, and calls none late."""
    from std_msgs.msg import Int64

    from rffpsr_ros.nodes.shared.message_wait import take_waiting
    from rffpsr_ros.nodes.shared.receive_times import ReceiveTimes
    from rffpsr_ros.nodes.shared.topic_inputs import TopicInput, sensor_profile

    peer, told, waited = ros.peer, ros.another_peer(), list[int]()
    peer.node.declare_parameter("executor", "direct")
    given = TopicInput(
        peer.node,
        "/number",
        "std_msgs/msg/Int64",
        "receive",
        lambda source, receive_ns, data: waited.append(source.waited_ns),
    )
    given.subscribe(sensor_profile(9), ReceiveTimes(time.time_ns), overridable=False)
    told.publisher("/number", Int64)
    told.matched("/number")
    for number in range(3):
        told.publish("/number", Int64(data=number))
        time.sleep(0.1)
    told.settle()

    take_waiting(list(peer.node.subscriptions))

    assert len(waited) == 3
    assert waited[0] >= 0.2 * 10**9
    assert waited[0] - waited[1] >= 0.05 * 10**9


def test_a_subscription_destroyed_by_a_callback_is_no_error(ros: Ros) -> None:
    from std_msgs.msg import Int64

    from rffpsr_ros.nodes.shared.message_wait import take_waiting

    peer, told, handed_out = ros.peer, ros.another_peer(), list[int]()
    later: list[object] = []

    def receive(message: Int64) -> None:
        handed_out.append(message.data)
        peer.node.destroy_subscription(later[0])

    peer.node.create_subscription(Int64, "/first", receive, 9)
    later.append(peer.node.create_subscription(Int64, "/second", receive, 9))
    for topic in ("/first", "/second"):
        told.publisher(topic, Int64)
    told.matched("/first", "/second")
    told.publish("/first", Int64(data=1))
    told.publish("/second", Int64(data=2))
    told.settle()

    take_waiting(list(peer.node.subscriptions))

    assert handed_out == [1]


def test_messages_are_handed_out_as_they_arrive_until_a_timer_is_due(
    ros: Ros, monkeypatch: pytest.MonkeyPatch
) -> None:
    from std_msgs.msg import Int64

    from rffpsr_ros.nodes.shared import message_wait

    monkeypatch.setattr(message_wait, "TURN_NS", 3600 * 10**9)
    peer, told, handed_out = ros.peer, ros.another_peer(), list[int]()

    def receive(message: Int64) -> None:
        handed_out.append(message.data)
        if message.data == 2:
            peer.node.create_timer(0.0, lambda: None)

    peer.node.create_subscription(Int64, "/number", receive, 9)
    told.publisher("/number", Int64)
    told.matched("/number")

    def tell() -> None:
        for number in range(3):
            time.sleep(0.05)
            told.publish("/number", Int64(data=number))

    messages = message_wait.MessageWait(peer.node)
    teller = threading.Thread(target=tell)
    teller.start()
    messages.take_as_they_arrive()
    teller.join()
    assert handed_out == [0, 1, 2]

    told.publish("/number", Int64(data=3))
    told.settle()
    messages.take_as_they_arrive()  # the timer's turn comes first, which is the executor's
    assert handed_out == [0, 1, 2]


def test_services_have_their_turn_though_messages_arrive(ros: Ros) -> None:
    """Messages that arrive without end do not keep a node from anything else."""
    from std_msgs.msg import Int64

    from rffpsr_ros.nodes.shared.message_wait import MessageWait

    peer, told, handed_out = ros.peer, ros.another_peer(), list[int]()

    def receive(message: Int64) -> None:
        handed_out.append(message.data)
        told.publish("/number", Int64(data=message.data + 1))

    peer.node.create_subscription(Int64, "/number", receive, 9)
    told.publisher("/number", Int64)
    told.matched("/number")
    told.publish("/number", Int64(data=0))
    told.settle()

    MessageWait(peer.node).take_as_they_arrive()

    assert handed_out


def test_a_called_service_has_its_turn_at_once(ros: Ros, monkeypatch: pytest.MonkeyPatch) -> None:
    from std_srvs.srv import Trigger

    from rffpsr_ros.nodes.shared import message_wait

    monkeypatch.setattr(message_wait, "TURN_NS", 3600 * 10**9)
    peer, told = ros.peer, ros.another_peer()
    peer.node.create_service(Trigger, "/act", lambda request, response: response)
    client = told.node.create_client(Trigger, "/act")
    client.wait_for_service()
    client.call_async(Trigger.Request())

    message_wait.MessageWait(peer.node).take_as_they_arrive()  # or the test never ends
