"""Times of receipt order messages, whatever the clock does."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.live_nodes import wait_until
from rffpsr_ros.nodes.shared.receive_times import ReceiveTimes
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.events import Tick
from rffpsr_ros.signals.sampler import Sampler

S = 1_000_000_000
COUNT = 10
CHANNELS = ChannelConfiguration.from_mapping(
    {
        "rate": 10.0,
        "observation": {"inputs": ["seen"], "seen": {"topic": "/seen", "fields": ["data"]}},
        "action": {"inputs": ["told"], "told": {"topic": "/told", "fields": ["data"]}},
    }
)


def times(*clock: int) -> list[int | None]:
    readings = iter(clock)
    receive = ReceiveTimes(lambda _: next(readings))
    return [receive.next() for _ in clock]


def test_no_two_messages_share_a_time_of_receipt() -> None:
    assert times(5 * S, 5 * S, 5 * S, 6 * S) == [5 * S + 1, 5 * S + 2, 5 * S + 3, 6 * S + 1]
    assert times(5 * S, 5 * S - 1000) == [5 * S + 1, 5 * S + 2]  # a coarse clock


def test_a_clock_that_has_not_started_or_jumps_back_is_passed_on() -> None:
    assert times(0, 0, 3 * S) == [None, None, 3 * S + 1]
    assert times(50 * S, 2 * S, 2 * S) == [50 * S + 1, 2 * S + 1, 2 * S + 2]


@pytest.mark.parametrize("first", ["/seen", "/told"])
def test_an_answer_acts_after_what_it_answers_whichever_is_taken_first(first: str) -> None:
    """Seen at each 0.1 s with a stamp, answered while the clock still shows that time."""
    sampler = Sampler(CHANNELS)
    clock = [0]
    receive = ReceiveTimes(lambda _: clock[0])
    ticks = []
    for number in range(1, 6):
        clock[0] = number * S // 10
        for topic in sorted(("/seen", "/told"), key=first.__ne__):
            received = receive.next()
            assert received is not None
            stamp = clock[0] if topic == "/seen" else received
            ticks += sampler.feed(topic, stamp, SimpleNamespace(data=float(number)))
    acted = [tick.action[0] for tick in ticks if isinstance(tick, Tick)]
    seen = [tick.observation[0] for tick in ticks if isinstance(tick, Tick)]
    assert seen[-2:] == [4.0, 5.0]
    assert acted[-2:] == [2.0, 3.0]


class Stalled:
    """A node that does nothing for long, and a robot that sends to it meanwhile."""

    def __init__(self, ros: Any, simulated: bool) -> None:
        from rclpy.node import Node
        from rclpy.parameter import Parameter
        from rosgraph_msgs.msg import Clock
        from std_msgs.msg import Int64

        from rffpsr_ros.nodes.shared.message_wait import DirectExecutor
        from rffpsr_ros.nodes.shared.receive_times import arrival_time

        self.robot, self.given = ros.another_peer(), list[tuple[int, int | None]]()
        options: list[Any] = [Parameter("use_sim_time", value=simulated)]
        self.node = Node("stalled", context=ros.peer.context, parameter_overrides=options)
        self.node.declare_parameter("executor", "direct")
        self._times = ReceiveTimes(arrival_time(self.node))
        for topic in ("/often", "/seldom"):
            self.node.create_subscription(Int64, topic, self._take, 100)
            self.robot.publisher(topic, Int64)
        self.robot.publisher("/clock", Clock)
        self.robot.matched("/often", "/seldom")
        self._executor = DirectExecutor(context=ros.peer.context)
        self._executor.add_node(self.node)

    def _take(self, message: Any, info: Any) -> None:
        self.given.append((message.data, self._times.next(info["received_timestamp"])))

    def spin(self) -> None:
        self._executor.spin_once(timeout_sec=0.05)

    def end(self) -> None:
        self.node.destroy_node()
        self._executor.shutdown()

    def tell(self, topic: str, number: int) -> None:
        from std_msgs.msg import Int64

        self.robot.publish(topic, Int64(data=number))
        self.robot.settle()

    def show(self, now_ns: int) -> None:
        from rosgraph_msgs.msg import Clock

        clock = Clock()
        clock.clock.sec, clock.clock.nanosec = divmod(now_ns, S)
        self.robot.publish("/clock", clock)
        self.robot.settle()


def sent_and_given(ros: Any, simulated: bool) -> tuple[list[int], list[int]]:
    """Return when messages were sent to a stalled node, and the times that it gave them.

    One topic is sent four times as often as the other.
    """
    stalled, sent = Stalled(ros, simulated), list[int]()

    def in_time() -> bool:
        if simulated:
            stalled.show(S)
        stalled.tell("/often", -1)
        stalled.spin()
        return bool(stalled.given) and (not simulated or stalled.given[-1][1] is not None)

    wait_until(in_time, "a time", stalled.spin)
    if simulated:  # it follows the clock itself from its first question on
        stalled.robot.matched("/clock", listeners=2)
    for number in range(COUNT):
        now = 2 * S + number * S // 100 if simulated else time.time_ns()
        if simulated:
            stalled.show(now)
        sent.append(now)
        stalled.tell("/seldom" if number % 5 == 4 else "/often", number)
    wait_until(lambda: stalled.given[-1][0] == COUNT - 1, "the last message", stalled.spin)
    stalled.end()
    return sent, [when for number, when in stalled.given if number >= 0 and when is not None]


@pytest.mark.parametrize("simulated", [False, True])
def test_what_waited_has_the_time_of_its_arrival(ros: Any, simulated: bool) -> None:
    sent, given = sent_and_given(ros, simulated)
    assert len(given) == len(sent) == COUNT
    late = np.subtract(given, sent)
    if simulated:
        assert (late == 1).all()
    else:  # the first one waited until all were sent
        assert (late > 0).all()
        assert late[0] < 0.5 * (sent[-1] - sent[0])
