"""Times of receipt order messages, whatever the clock does."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rffpsr_ros.nodes.shared.receive_times import ReceiveTimes
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.events import Tick
from rffpsr_ros.signals.sampler import Sampler

S = 1_000_000_000
CHANNELS = ChannelConfiguration.from_mapping(
    {
        "rate": 10.0,
        "observation": {"inputs": ["seen"], "seen": {"topic": "/seen", "fields": ["data"]}},
        "action": {"inputs": ["told"], "told": {"topic": "/told", "fields": ["data"]}},
    }
)


def times(*clock: int) -> list[int | None]:
    readings = iter(clock)
    receive = ReceiveTimes(lambda: next(readings))
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
    receive = ReceiveTimes(lambda: clock[0])
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
