"""How nodes are run: messages that have arrived are handed out in the order of their arrival."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from test.nodes.conftest import Ros

TOPICS = ("/first", "/second", "/third")
NEVER = 2**63
"""When time is up."""


def listen(peer: Any, topic: str, handed_out: list[tuple[str, int]]) -> None:
    """Note what arrives on a topic."""
    from std_msgs.msg import Int64

    def note(message: Int64) -> None:
        handed_out.append((topic, message.data))

    peer.node.create_subscription(Int64, topic, note, 20)


def met(ros: Ros) -> tuple[Any, Any, list[tuple[str, int]]]:
    """Return who listens to all topics, who publishes on them, and what was handed out so far."""
    from std_msgs.msg import Int64

    peer, told, handed_out = ros.peer, ros.another_peer(), list[tuple[str, int]]()
    for topic in TOPICS:
        listen(peer, topic, handed_out)
        told.publisher(topic, Int64)
    told.matched(*TOPICS)
    return peer, told, handed_out


def test_messages_are_handed_out_in_the_order_in_which_they_arrived(ros: Ros) -> None:
    from std_msgs.msg import Int64

    from rffpsr_ros.nodes.shared.message_wait import take_waiting

    peer, told, handed_out = met(ros)
    sent = [(topic, number) for number, topic in enumerate(4 * TOPICS[1:] + TOPICS + TOPICS[:1])]
    for topic, number in sent:
        told.publish(topic, Int64(data=number))
        told.settle()  # the messages wait: nobody has spun their receiver

    take_waiting(list(peer.node.subscriptions), NEVER)

    assert handed_out == sent
    take_waiting(list(peer.node.subscriptions), NEVER)
    assert handed_out == sent


@pytest.mark.parametrize("rounds", [1, 3, 32])
def test_what_tells_no_times_is_handed_out_one_of_each_topic_in_turn(
    ros: Ros, monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    from std_msgs.msg import Int64

    from rffpsr_ros.nodes.shared import message_wait

    monkeypatch.setattr(message_wait, "arrived", lambda taken: 0)
    monkeypatch.setattr(message_wait, "ROUNDS", rounds)
    peer, told, handed_out = met(ros)
    for topic in reversed(TOPICS):
        for number in range(3):
            told.publish(topic, Int64(data=number))
    told.settle()

    while len(handed_out) < 9:  # so many rounds of each at a time, and nothing is lost
        message_wait.take_waiting(list(peer.node.subscriptions), NEVER)

    assert handed_out == [(topic, number) for number in range(3) for topic in TOPICS]


@pytest.mark.parametrize("times_are_told", [True, False])
def test_a_callback_that_is_slow_keeps_no_other_topic_waiting(
    ros: Ros, monkeypatch: pytest.MonkeyPatch, times_are_told: bool
) -> None:
    """Its own topic's next message has come before it returns, and the other's before that."""
    from std_msgs.msg import Int64

    from rffpsr_ros.nodes.shared import message_wait

    if not times_are_told:
        monkeypatch.setattr(message_wait, "arrived", lambda taken: 0)
    peer, told, handed_out = ros.peer, ros.another_peer(), list[tuple[str, int]]()

    def receive(message: Int64) -> None:
        handed_out.append(("/first", message.data))
        told.publish("/second", Int64(data=message.data))
        told.settle()
        if message.data < 2:
            told.publish("/first", Int64(data=message.data + 1))
            told.settle()

    peer.node.create_subscription(Int64, "/first", receive, 20)
    listen(peer, "/second", handed_out)
    for topic in TOPICS[:2]:
        told.publisher(topic, Int64)
    told.matched(*TOPICS[:2])
    told.publish("/first", Int64(data=0))
    told.settle()

    message_wait.take_waiting(list(peer.node.subscriptions)[-2:], NEVER)
    message_wait.take_waiting(list(peer.node.subscriptions)[-2:], NEVER)

    in_turn = [(topic, number) for number in range(3) for topic in TOPICS[:2]]
    if times_are_told:
        assert handed_out == in_turn
    else:  # at least not all of the one before any of the other
        assert handed_out.index(("/second", 0)) < handed_out.index(("/first", 2))


def test_what_arrives_while_topics_are_looked_at_is_handed_out_in_order(
    ros: Ros, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that waits for its turn in the middle of looking finds the later message first."""
    from std_msgs.msg import Int64

    from rffpsr_ros.nodes.shared import message_wait, rclpy_internals

    peer, told, handed_out = met(ros)
    first, *_ = listening = list(peer.node.subscriptions)[-3:]
    sent = [(topic, number) for number, topic in enumerate(TOPICS)]

    def take(subscription: object) -> object:
        taken = rclpy_internals.take(subscription)
        if subscription is first and not looked:
            looked.append(True)
            for topic, number in sent:
                told.publish(topic, Int64(data=number))
                told.settle()
        return taken

    looked = list[bool]()
    monkeypatch.setattr(message_wait, "take", take)

    message_wait.take_waiting(listening, NEVER)

    assert handed_out == sent


def test_the_executor_hands_out_in_order_what_arrives_before_its_other_work(
    ros: Ros, monkeypatch: pytest.MonkeyPatch
) -> None:
    from std_msgs.msg import Int64

    from rffpsr_ros.nodes.shared import message_wait

    peer, told, handed_out = met(ros)
    sent = [(topic, number) for number, topic in enumerate(reversed(TOPICS))]

    def take_waiting(subscriptions: list[object], *more: Any) -> None:
        originally(subscriptions, *more)
        for topic, number in sent if not taken else ():
            told.publish(topic, Int64(data=number))
            told.settle()
        taken.append(True)

    originally, taken = message_wait.take_waiting, list[bool]()
    monkeypatch.setattr(message_wait, "take_waiting", take_waiting)
    executor = message_wait.DirectExecutor(context=peer.node.context)
    executor.add_node(peer.node)

    executor.spin_once()
    executor.remove_node(peer.node)

    assert handed_out == sent


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Return what waits at three subscriptions: numbers in the order of their arrival."""
    pytest.importorskip("rclpy", reason="needs ROS 2")
    from rffpsr_ros.nodes.shared import message_wait

    monkeypatch.setattr(message_wait, "take", lambda queue: queue.pop(0) if queue else None)
    monkeypatch.setattr(message_wait, "arrived", lambda number: number + 1)
    monkeypatch.setattr(message_wait, "is_destroyed", lambda queue: False)
    return [list(range(first, 60, 3)) for first in range(3)]


def test_nothing_is_handed_out_any_more_once_a_node_is_to_end(
    queues: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rffpsr_ros.nodes.shared import message_wait

    handed_out: list[int] = []
    monkeypatch.setattr(message_wait, "hand_out", lambda _, number: handed_out.append(number))
    message_wait.take_waiting(queues, NEVER, lambda: len(handed_out) < 2)
    assert handed_out == [0, 1]
    message_wait.take_waiting(queues, NEVER, lambda: False)
    assert handed_out == [0, 1]


def test_callbacks_that_take_long_end_when_time_is_up_and_lose_nothing(
    queues: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rffpsr_ros.nodes.shared import message_wait

    handed_out: list[int] = []
    monkeypatch.setattr(message_wait, "hand_out", lambda _, number: handed_out.append(number))
    monkeypatch.setattr(time, "monotonic_ns", lambda: len(handed_out))
    message_wait.take_waiting(queues, until=4)
    assert handed_out == list(range(8))
    message_wait.take_waiting(queues, until=NEVER)
    assert handed_out == list(range(60))


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
    for number, topic in enumerate(("/first", "/second"), start=1):
        told.publish(topic, Int64(data=number))
        told.settle()  # or the second may arrive before the first

    take_waiting(list(peer.node.subscriptions), NEVER)

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
