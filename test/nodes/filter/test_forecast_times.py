"""How long steps took and how old forecasts were: of the newest ones, at two quantiles."""

from __future__ import annotations

import pytest

from rffpsr_ros.nodes.filter.forecast_times import REMEMBERED, ForecastTimes

AGE = "age of the newest observation in a forecast"


def test_nothing_is_told_before_there_is_anything() -> None:
    assert ForecastTimes(lambda: 0).values() == {}


def test_ages_are_those_when_published_in_milliseconds() -> None:
    now = [10**18]
    times = ForecastTimes(lambda: now[0])
    for _ in range(99):
        times.published(now[0] - 4_000_000)
        now[0] += 10**9
    times.published(now[0] - 54_000_000)
    values = times.values()
    assert values.keys() == {f"{AGE} p50 [ms]", f"{AGE} p99 [ms]"}
    assert values[f"{AGE} p50 [ms]"] == pytest.approx(4.0)
    assert values[f"{AGE} p99 [ms]"] == pytest.approx(4.5)


def test_the_newest_count_alone_and_steps_are_counted_for_ever() -> None:
    times = ForecastTimes(lambda: 0)
    for seconds in [9.0] * 50 + [0.002] * REMEMBERED:
        times.took(seconds)
    assert times.steps == REMEMBERED + 50
    assert times.values() == {
        "step time p50 [ms]": pytest.approx(2.0),
        "step time p99 [ms]": pytest.approx(2.0),
    }
