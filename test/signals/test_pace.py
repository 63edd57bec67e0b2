"""The grid of ticks and the interval of the pace channel."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffpsr_ros.signals.pace import Grid, PaceInterval


@given(
    st.fractions(min_value=Fraction(1, 1000), max_value=10**12),
    st.integers(0, 2 * 10**18),
    st.integers(0, 10**6),
    st.integers(0, 10**9),
)
def test_the_tick_closed_is_the_last_whose_end_is_in_reach(
    period: Fraction, origin: int, tick: int, half: int
) -> None:
    period = max(period, Fraction(1))
    grid = Grid(period, origin)
    stamp = grid.start(tick) + half // 2
    closed = grid.closed_by(stamp, half)
    assert grid.start(closed + 1) - half <= stamp
    assert grid.start(closed + 2) - half > stamp


@given(
    st.fractions(min_value=Fraction(1), max_value=10**12),
    st.integers(0, 2 * 10**18),
    st.integers(-(10**18), 2 * 10**18),
)
def test_a_tick_from_a_time_on_is_the_first_of_these(
    period: Fraction, origin: int, time: int
) -> None:
    grid = Grid(period, origin)
    tick = grid.first_from(time)
    assert grid.start(tick - 1) < time <= grid.start(tick)


def test_no_rounding_error_builds_up() -> None:
    grid = Grid(Fraction(10**9, 3), 0)
    assert [grid.start(tick) for tick in (0, 1, 2, 3)] == [0, 333_333_333, 666_666_666, 10**9]
    assert grid.start(3 * 10**9) == 10**18


def test_the_grid_follows_near_samples_only() -> None:
    grid = Grid(Fraction(1000), 0)
    grid.follow(0, 1160, 500)
    assert grid.start(0) == 10
    grid.follow(0, 850, 500)
    assert grid.start(0) == 0
    grid.follow(0, 1501, 500)
    assert grid.start(0) == 0


@pytest.mark.parametrize(
    ("intervals", "half"),
    [
        ([], 500),
        ([1000] * 20, 500),
        ([600], 500),  # jitter of a sensor at the tick rate
        ([600, 1400, 600], 433),
        ([100], 50),
        ([100] * 20, 50),
        ([100] * 15 + [40_000], 50),  # a dropout
        ([100] * 8 + [200] + [100] * 7, 53),  # one missing sample
        ([3000] * 16, 500),
        ([1] + [1000] * 3, 375),  # a burst at the start is forgotten
        ([1] + [1000] * 16, 500),
    ],
)
def test_half_the_interval(intervals: list[int], half: int) -> None:
    pace = PaceInterval(1000)
    for interval in intervals:
        pace.add(interval)
    assert pace.half_ns == half
