"""How late messages are, whatever the sender's clock shows and wherever they waited."""

from __future__ import annotations

import pytest

from rffpsr_ros.nodes.shared.lateness import WINDOW_NS, Lateness

MS = 1_000_000
OFFSETS = pytest.mark.parametrize("offset", [0, 3600 * 10**9, -3600 * 10**9])


@OFFSETS
def test_what_waits_before_the_node_gets_it_is_late_by_any_clock(offset: int) -> None:
    """A node is stopped for half a second: what was sent meanwhile is received when it goes on."""
    late = Lateness()
    start = 10**18
    for tick in range(1000):  # each arrives a millisecond after it was sent
        now = start + tick * MS
        assert late.of(now, now - MS + offset, now) == 0
    goes_on = start + 1500 * MS
    for tick in (1000, 1250, 1499):
        sent = start + tick * MS - MS
        assert late.of(goes_on, sent + offset, goes_on) == goes_on - sent - MS


def test_what_waits_at_the_node_is_late_even_if_all_are() -> None:
    late = Lateness()
    start = 10**18
    for tick in range(3):
        sent = start + tick * MS
        assert late.of(sent + 200 * MS, sent, sent + MS) == 199 * MS


def test_without_times_nothing_is_known_to_be_late() -> None:
    assert Lateness().of(10**18, 0, 0) == 0


def test_a_clock_set_forward_makes_nothing_late_for_long() -> None:
    late, start = Lateness(), 10**18
    late.of(start, start, start)
    step = 60 * 10**9
    assert late.of(start + step, start, start + step) == step
    for passed in (WINDOW_NS + 1, 2 * WINDOW_NS + 2):
        now = start + step + passed
        found = late.of(now, now - step, now)
    assert found == 0
