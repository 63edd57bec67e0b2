"""The sampler against sequences worked out by hand, and against the contract on random ones."""

import itertools
import random
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals import ChannelConfiguration, Event, Sampler, SegmentEnd, Tick
from rffpsr_ros.signals.channels import MOST_MISSING
from rffpsr_ros.signals.tracks import MOST_SAMPLES, ObservationTrack, all_finite

MS = 1_000_000
nan = float("nan")

Message = tuple[str, float, Any]
"""Topic, stamp in milliseconds, value of the field ``data``."""


def configured(
    rate: float = 20.0,
    observations: Sequence[str] = ("fast", "slow"),
    actions: Sequence[str] = ("command",),
    **options: Any,
) -> ChannelConfiguration:
    """Return channels that are called as their topics; options are <channel>_<key> or top keys."""

    def group(names: Sequence[str]) -> dict[str, Any]:
        channels: dict[str, Any] = {"inputs": list(names)}
        for name in names:
            channels[name] = {"topic": f"/{name}", "fields": ["data"]}
            for key in ("fields", "max_age", "initial", "topic"):
                if f"{name}_{key}" in options:
                    channels[name][key] = options[f"{name}_{key}"]
        return channels

    top = {key: options[key] for key in ("max_gap",) if key in options}
    mapping = {"rate": rate, "observation": group(observations), "action": group(actions), **top}
    return ChannelConfiguration.from_mapping(mapping)


def feed(sampler: Sampler, messages: Iterable[Message]) -> list[Event]:
    events: list[Event] = []
    for topic, milliseconds, value in messages:
        stamp = round(milliseconds * MS)
        events += sampler.feed(f"/{topic}", stamp, SimpleNamespace(data=value))
    return events


def run(configuration: ChannelConfiguration, messages: Iterable[Message]) -> list[Event]:
    sampler = Sampler(configuration)
    return feed(sampler, messages) + sampler.end_segment()


def ticks(events: Iterable[Event]) -> list[Tick]:
    return [event for event in events if isinstance(event, Tick)]


def segments(events: Iterable[Event]) -> list[tuple[str, list[Tick]]]:
    """Return the cause of each segment's end and its ticks."""
    found: list[tuple[str, list[Tick]]] = []
    current: list[Tick] = []
    for event in events:
        if isinstance(event, SegmentEnd):
            found.append((event.cause, current))
            current = []
        else:
            current.append(event)
    assert not current, "a segment was not ended"
    return found


def rows(found: Iterable[Tick]) -> np.ndarray[Any, Any]:
    return np.array([tick.observation for tick in found])


def actions(found: Iterable[Tick]) -> np.ndarray[Any, Any]:
    return np.array([tick.action for tick in found])


def fast_samples(start: float, count: int) -> list[Message]:
    """Samples at 200 Hz, up to 1 ms early or late; the value is the stamp."""
    stamps = [start + 5 * i + (0, 1, -1, 1)[i % 4] for i in range(count)]
    return [("fast", stamp, stamp) for stamp in stamps]


def by_time(messages: Iterable[Message]) -> list[Message]:
    return sorted(messages, key=lambda message: message[1])


def slow_samples(*stamps: float) -> list[Message]:
    return [("slow", stamp, stamp) for stamp in stamps]


def test_two_rates_with_jitter_a_gap_a_backward_jump_and_a_silent_channel() -> None:
    """Written out by hand: 20 ticks per second, values are stamps in ms, so rows say what was seen.

    The fast channel leads. Its sample nearest to each tick's end is the one 10 samples later, 1 ms
    early at every other tick. Commands: 1 before the start, 2 and 3 in time for ticks 1 and 3; 4
    was given before tick 3 but arrived after it.
    """
    first = by_time(
        fast_samples(1000, 65)
        + slow_samples(998, 1047, 1103, 1148, 1201, 1252, 1299)
        + [("command", 990, 1.0), ("command", 1030, 2.0), ("command", 1120, 3.0)]
    )
    after_tick_3 = next(i for i, message in enumerate(first) if message[1] > 1200)
    first.insert(after_tick_3, ("command", 1148, 4.0))
    after_gap = by_time(fast_samples(3320, 33) + slow_samples(3318, 3367, 3419))
    after_jump = by_time([("command", 495, 5.0), *slow_samples(498), *fast_samples(500, 53)])

    found = segments(run(configured(), first + after_gap + after_jump))

    assert [cause for cause, _ in found] == ["gap", "time_jump", "end"]
    expected_rows = [
        [[1049, 1047], [1100, 1047], [1149, 1148], [1200, 1148], [1249, 1201], [1300, 1299]],
        [[3369, 3367], [3420, 3419], [3469, 3419]],
        [[549, 498], [600, 498], [649, 498], [700, nan], [749, nan]],
    ]
    expected_actions = [[1, 2, 2, 3, 4, 4], [4, 4, 4], [5, 5, 5, 5, 5]]
    for (_, segment), observed, acted in zip(found, expected_rows, expected_actions, strict=True):
        np.testing.assert_array_equal(rows(segment), observed)
        np.testing.assert_array_equal(actions(segment)[:, 0], acted)
        assert [tick.number for tick in segment] == list(range(len(segment)))


def test_a_tick_is_closed_on_arrival_of_the_sample_at_its_end() -> None:
    sampler = Sampler(configured(observations=["fast"], command_initial=0.0))
    assert feed(sampler, [("fast", 0, 0.0)]) == []
    (first,) = feed(sampler, [("fast", 50, 1.0)])
    assert isinstance(first, Tick)
    assert (first.number, first.start_ns, first.stamp_ns) == (0, 0, 50 * MS)
    (second,) = feed(sampler, [("fast", 92, 2.0)])  # 8 ms early
    assert isinstance(second, Tick)
    assert second.observation.tolist() == [2.0]


def test_the_command_at_the_very_start_of_a_tick_is_in_force_on_it() -> None:
    messages: list[Message] = [("command", 0, 7.0)]
    messages += [("fast", stamp, 0.0) for stamp in (0, 50, 100)]
    messages.insert(3, ("command", 50, 8.0))
    found = ticks(run(configured(observations=["fast"]), messages))
    assert actions(found)[:, 0].tolist() == [7.0, 8.0]


def test_initial_values_act_until_the_first_command() -> None:
    configuration = configured(observations=["fast"], command_initial=[-1.0])
    messages: list[Message] = [("fast", stamp, 0.0) for stamp in (0, 50, 100, 150)]
    messages.insert(2, ("command", 60, 3.0))
    found = ticks(run(configuration, messages))
    assert actions(found)[:, 0].tolist() == [-1.0, -1.0, 3.0]


def test_an_expired_command_gives_way_to_the_initial_values() -> None:
    configuration = configured(observations=["fast"], command_initial=0.0, command_max_age=0.1)
    messages: list[Message] = [("command", -1, 5.0)]
    messages += [("fast", stamp, 0.0) for stamp in range(0, 300, 50)]
    found = ticks(run(configuration, messages))
    assert actions(found)[:, 0].tolist() == [5.0, 5.0, 0.0, 0.0, 0.0]


def test_an_expired_command_without_initial_values_ends_the_segment() -> None:
    configuration = configured(observations=["fast"], command_max_age=0.1)
    messages: list[Message] = [("command", -1, 5.0)]
    messages += [("fast", stamp, 0.0) for stamp in range(0, 300, 50)]
    messages += [("command", 299, 6.0), *[("fast", stamp, 0.0) for stamp in (300, 350)]]
    found = segments(run(configuration, messages))
    assert [(cause, len(segment)) for cause, segment in found] == [("expired", 2), ("end", 1)]


def test_a_command_holds_column_by_column() -> None:
    configuration = configured(
        observations=["fast"], command_fields=["position.left", "position.right"]
    )

    def command(names: list[str], values: list[float]) -> SimpleNamespace:
        return SimpleNamespace(name=names, position=values)

    sampler = Sampler(configuration)
    sampler.feed("/command", -2 * MS, command(["left"], [1.0]))
    sampler.feed("/command", -1 * MS, command(["right"], [2.0]))
    events = feed(sampler, [("fast", 0, 0.0), ("fast", 50, 0.0)])
    sampler.feed("/command", 60 * MS, command(["right", "left"], [4.0, 3.0]))
    sampler.feed("/command", 70 * MS, command(["right"], [5.0]))
    events += feed(sampler, [("fast", 100, 0.0), ("fast", 150, 0.0)])
    assert actions(ticks(events)).tolist() == [[1, 2], [1, 2], [3, 5]]


def test_ticks_of_a_short_silence_are_missing_for_the_pace_channel_only() -> None:
    messages: list[Message] = [("command", -1, 0.0), ("slow", -1, 9.0)]
    messages += [("fast", stamp, stamp) for stamp in (0, 50, 100)]
    messages += [("slow", 140, 10.0), ("slow", 190, 11.0)]
    messages += [("fast", stamp, stamp) for stamp in (250, 300)]
    found = ticks(run(configured(), messages))
    np.testing.assert_array_equal(
        rows(found), [[50, 9], [100, 9], [nan, 10], [nan, 11], [250, 11], [300, 11]]
    )
    assert [tick.stamp_ns // MS for tick in found] == [50, 100, 150, 200, 250, 300]


@pytest.mark.parametrize(("max_gap", "expected"), [(0.15, [6]), (0.149, [1, 1])])
def test_the_longest_run_of_missing_rows_is_max_gap(max_gap: float, expected: list[int]) -> None:
    """Three ticks of 50 ms are missed."""
    configuration = configured(observations=["fast"], command_initial=0.0, max_gap=max_gap)
    messages: list[Message] = [("fast", stamp, 0.0) for stamp in (0, 50, 250, 300)]
    found = segments(run(configuration, messages))
    assert [len(segment) for _, segment in found] == expected


def test_a_run_of_values_that_are_no_numbers_ends_the_segment() -> None:
    configuration = configured(observations=["fast"], command_initial=0.0, max_gap=0.1)
    values = [0.0, 1.0, nan, float("inf"), nan, nan, nan, 2.0, 3.0]
    found = segments(run(configuration, [("fast", 50 * i, v) for i, v in enumerate(values)]))
    assert [cause for cause, _ in found] == ["missing", "end"]
    np.testing.assert_array_equal(rows(found[0][1]), [[1], [nan], [nan], [nan]])
    np.testing.assert_array_equal(rows(found[1][1]), [[3]])


def test_missing_rows_between_others_are_no_run() -> None:
    configuration = configured(observations=["fast"], command_initial=0.0, max_gap=0.05)
    values = [0.0, nan, 1.0, nan, 2.0, nan, 3.0]
    found = segments(run(configuration, [("fast", 50 * i, v) for i, v in enumerate(values)]))
    assert [len(segment) for _, segment in found] == [6]


def test_a_gap_of_years_costs_no_time() -> None:
    configuration = configured(observations=["fast"], command_initial=0.0)
    year = 365 * 24 * 3600 * 1000
    messages: list[Message] = [("fast", s, 0.0) for s in (0, 50, 30 * year, 30 * year + 50)]
    assert [len(segment) for _, segment in segments(run(configuration, messages))] == [1, 1]


def test_late_and_duplicate_samples_are_ignored() -> None:
    sampler = Sampler(configured(observations=["fast"], command_initial=0.0))
    stamps = [0, 50, 50, 100, 90, 150]
    events = feed(sampler, [("fast", stamp, float(i)) for i, stamp in enumerate(stamps)])
    assert rows(ticks(events))[:, 0].tolist() == [1.0, 3.0, 5.0]
    assert (sampler.late, sampler.duplicates) == (1, 1)


def test_after_a_time_jump_everything_starts_anew() -> None:
    """The command of the time before is not in force after it."""
    messages: list[Message] = [("command", 1000, 1.0)]
    messages += [("fast", stamp, stamp) for stamp in (1000, 1050, 1100)]
    messages += [("fast", stamp, stamp) for stamp in (0, 50, 100)]
    messages += [("command", 101, 2.0), *[("fast", stamp, stamp) for stamp in (150, 200)]]
    found = segments(run(configured(observations=["fast"]), messages))
    assert [cause for cause, _ in found] == ["time_jump", "end"]
    assert rows(found[1][1]).tolist() == [[200.0]]
    assert actions(found[1][1]).tolist() == [[2.0]]


def test_jumps_of_time_are_counted_by_topic_though_no_segment_begins_between_them() -> None:
    """Two clocks on one topic: only the first jump ends a segment."""
    sampler = Sampler(configured(observations=["fast"]))
    feed(sampler, [("command", 6000, 0.0), *[("fast", 6000 + 50 * k, 0.0) for k in range(3)]])
    ends = []
    for k in range(3, 7):
        own, other = 6000 + 50 * k, 1000 + 50 * k
        found = [("fast", own, 0.0), ("fast", other, 0.0), ("command", own, 0.0)]
        ends += [one for one in feed(sampler, found) if isinstance(one, SegmentEnd)]
    assert len(ends) == 1
    assert (sampler.jumps, sampler.jumps_in_a_row) == ({"/fast": 4}, 4)
    feed(sampler, [("fast", 6000 + 50 * k, 0.0) for k in range(7, 10)])
    assert (sampler.jumps, sampler.jumps_in_a_row) == ({"/fast": 4}, 0)


def test_after_a_time_jump_the_pace_is_learned_anew() -> None:
    """200 Hz before; after it 20 Hz, the first sample 5 ms early."""
    messages = fast_samples(1000, 40) + [("fast", stamp, stamp) for stamp in (0.0, 45.0, 100.0)]
    configuration = configured(observations=["fast"], command_initial=0.0)
    found = segments(run(configuration, messages))
    assert rows(found[1][1])[:, 0].tolist() == [45.0, 100.0]


def test_it_says_what_it_waits_for() -> None:
    sampler = Sampler(configured())
    assert [channel.name for channel in sampler.waiting_for] == ["fast", "slow", "command"]
    feed(sampler, [("fast", 0, 0.0), ("slow", 1, 0.0)])
    assert [channel.name for channel in sampler.waiting_for] == ["command"]
    feed(sampler, [("command", 2, 0.0), ("fast", 50, 0.0), ("fast", 100, 0.0)])
    assert sampler.waiting_for == ()
    assert sampler.running


def test_a_segment_starts_once_every_channel_was_heard() -> None:
    messages: list[Message] = [("command", 0, 0.0), ("slow", 120, 5.0)]
    messages += [("fast", stamp, stamp) for stamp in range(0, 301, 50)]
    found = ticks(run(configured(), by_time(messages)))
    assert [tick.start_ns // MS for tick in found] == [150, 200, 250]


def test_channels_of_one_topic_see_the_same_message() -> None:
    """The pace topic gives a second observation and the action as well."""
    configuration = configured(
        observations=["fast", "slow"], slow_topic="/fast", command_topic="/fast"
    )
    found = ticks(run(configuration, [("fast", 50 * i, float(i)) for i in range(5)]))
    assert rows(found).tolist() == [[1, 1], [2, 2], [3, 3], [4, 4]]
    assert actions(found)[:, 0].tolist() == [0, 1, 2, 3]


@given(st.lists(st.integers(-20 * MS, 20 * MS), min_size=40, max_size=40))
def test_a_command_of_the_same_message_acts_in_the_tick_that_this_begins(jitter: list[int]) -> None:
    """Whichever side of the grid its stamp is, and however little."""
    both = configured(observations=("fast",), fast_topic="/fast", command_topic="/fast")
    sampler, found = Sampler(both), []
    for number, late in enumerate([0] * 10 + jitter):
        message = SimpleNamespace(data=float(number))
        found += sampler.feed("/fast", number * 50 * MS + late, message)
        if sampler.running:
            under_way, stamp_ns = sampler.tick_under_way, number * 50 * MS + late
            assert sampler.first_tick_from(stamp_ns) == under_way
            assert sampler.first_tick_from(stamp_ns + 21 * MS) == under_way + 1
    told = [(tick.action[0], tick.observation[0]) for tick in ticks(found)]
    assert len(told) == 49
    assert all(seen == acted + 1 for acted, seen in told)


@pytest.mark.parametrize("late_ns", [-20 * MS, -20, -1, 0, 1, 20, 20 * MS])
def test_one_odd_stamp_shifts_no_commands_for_good(late_ns: int) -> None:
    """The grid then stays a few nanoseconds off: less than it is pulled by."""
    both = configured(observations=("fast",), fast_topic="/fast", command_topic="/fast")
    sampler, found = Sampler(both), []
    for number in range(200):
        stamp_ns = number * 50 * MS + late_ns * (number == 100)
        found += sampler.feed("/fast", stamp_ns, SimpleNamespace(data=float(number)))
    told = ticks(found)
    assert [tick.action[0] + 1 for tick in told] == [tick.observation[0] for tick in told]
    assert len(told) == 199


def test_a_faster_pace_channel_gives_its_sample_nearest_to_the_ticks_end() -> None:
    configuration = configured(observations=["fast"], command_initial=0.0)
    found = ticks(run(configuration, [("fast", 5 * i, 5.0 * i) for i in range(50)]))
    assert rows(found)[:, 0].tolist() == [50, 100, 150, 200]


def test_a_slower_pace_channel_leaves_ticks_missing() -> None:
    configuration = configured(observations=["fast"], command_initial=0.0)
    found = ticks(run(configuration, [("fast", 100 * i, 100.0 * i) for i in range(4)]))
    np.testing.assert_array_equal(rows(found)[:, 0], [nan, 100, nan, 200, nan, 300])


def test_an_angle_is_unwrapped_over_all_samples_not_only_those_of_ticks() -> None:
    """A full turn in every tick of four samples: seen at the ticks only, nothing would move."""
    configuration = configured(
        observations=["fast"], fast_fields=["unwrap(data)"], command_initial=0.0
    )
    angles = np.arange(21) * np.pi / 2
    wrapped = np.arctan2(np.sin(angles), np.cos(angles))
    found = ticks(run(configuration, [("fast", 12.5 * i, a) for i, a in enumerate(wrapped)]))
    np.testing.assert_allclose(np.diff(rows(found)[:, 0]), 2 * np.pi)


def test_messages_are_decoded_only_when_a_tick_needs_them() -> None:
    decoded: list[int] = []

    def decode(number: int) -> SimpleNamespace:
        decoded.append(number)
        return SimpleNamespace(data=float(number))

    sampler = Sampler(configured(observations=["fast"], command_initial=0.0), {"/fast": decode})
    events = [event for i in range(101) for event in sampler.feed("/fast", 5 * i * MS, i)]
    assert rows(ticks(events))[:, 0].tolist() == list(range(10, 101, 10))
    assert decoded == [0, *range(10, 101, 10)]


def test_a_message_that_cannot_be_decoded_is_missing() -> None:
    sampler = Sampler(
        configured(observations=["fast"], command_initial=0.0),
        {"/fast": lambda value: None if value == 2 else SimpleNamespace(data=value)},
    )
    events = [event for i in range(5) for event in sampler.feed("/fast", 50 * i * MS, i)]
    np.testing.assert_array_equal(rows(ticks(events))[:, 0], [1, nan, 3, 4])


def test_initial_values_of_another_width_are_refused_at_the_first_command() -> None:
    sampler = Sampler(configured(observations=["fast"], command_initial=[0.0, 0.0]))
    with pytest.raises(InputError, match=r"'command' has 1 columns, but 'initial' has 2 values"):
        feed(sampler, [("command", 0, 1.0)])


def test_units_belong_to_columns() -> None:
    mapping = configured(observations=["fast"], fast_fields=["data", "angle"]).to_mapping()
    mapping["observation"]["fast"]["units"] = ["m", "rad"]
    sampler = Sampler(ChannelConfiguration.from_mapping(mapping))
    sampler.feed("/fast", 0, SimpleNamespace(data=[1.0, 2.0], angle=0.0))
    assert sampler.observation_names == ("fast.data[0]", "fast.data[1]", "fast.angle")
    assert sampler.observation_units == ("m", "m", "rad")
    assert sampler.action_units == ()


# Properties.

jitters = st.lists(st.floats(-0.2, 0.2), min_size=1, max_size=40)


@given(jitters, st.floats(-0.001, 0.001), st.sampled_from([1.0, 7.3, 50.0, 1000.0]))
def test_jitter_and_drift_give_neither_a_duplicate_nor_a_skip(
    jitter: list[float], drift: float, rate: float
) -> None:
    """1500 samples: a grid that did not follow the drift would slip by one and a half ticks."""
    period = 1e9 / rate * (1 + drift)
    count = 1500
    stamps = [
        round(10**9 + period * (i + j))
        for i, j in zip(range(count), itertools.cycle(jitter), strict=False)
    ]
    sampler = Sampler(configured(rate, observations=["fast"], command_initial=0.0))
    events: list[Event] = []
    for i, stamp in enumerate(stamps):
        events += sampler.feed("/fast", stamp, SimpleNamespace(data=float(i)))
    assert rows(ticks(events))[:, 0].tolist() == list(range(1, count))


@given(jitters, st.floats(-0.001, 0.001))
def test_decimation_gives_every_tick_a_sample_near_its_end(
    jitter: list[float], drift: float
) -> None:
    interval = 5 * MS * (1 + drift)
    stamps = [
        round(interval * (i + j))
        for i, j in zip(range(2000), itertools.cycle(jitter), strict=False)
    ]
    sampler = Sampler(configured(observations=["fast"], command_initial=0.0))
    events: list[Event] = []
    for i, stamp in enumerate(stamps):
        events += sampler.feed("/fast", stamp, SimpleNamespace(data=float(i)))
    chosen = rows(ticks(events))[:, 0]
    assert len(chosen) in (198, 199, 200)
    assert set(np.diff(chosen)) <= {9.0, 10.0, 11.0}


@st.composite
def recordings(draw: st.DrawFn) -> list[Message]:
    """Draw messages of three topics in the order of their stamps, some of them equal."""
    grid = draw(st.sampled_from([1.0, 5.0, 10.0, 50.0]))
    messages: list[Message] = []
    for topic in ("fast", "slow", "command"):
        steps = draw(st.lists(st.integers(1, 9), min_size=5, max_size=40))
        stamps = np.cumsum(steps) * grid + draw(st.sampled_from([0.0, 0.0, 0.5]))
        messages += [(topic, float(stamp), float(i)) for i, stamp in enumerate(stamps)]
    return by_time(messages)


def same(one: Sequence[Event], other: Sequence[Event]) -> bool:
    return len(one) == len(other) and all(
        type(a) is type(b)
        and all(np.array_equal(x, y, equal_nan=x.dtype == float) for x, y in _arrays(a, b))
        for a, b in zip(one, other, strict=True)
    )


def _arrays(one: Event, other: Event) -> Iterable[tuple[Any, Any]]:
    return [(np.asarray(x), np.asarray(y)) for x, y in zip(one, other, strict=True)]


@given(recordings(), st.integers(0, 10**6))
def test_the_order_of_equal_stamps_does_not_matter(messages: list[Message], seed: int) -> None:
    shuffled = list(messages)
    random.Random(seed).shuffle(shuffled)
    configuration = configured()
    assert same(run(configuration, by_time(shuffled)), run(configuration, messages))


@given(recordings(), st.lists(st.integers(0, 120), max_size=5))
def test_any_split_of_the_sequence_gives_the_same_ticks(
    messages: list[Message], cuts: list[int]
) -> None:
    sampler = Sampler(configured())
    edges = [0, *sorted(cuts), len(messages)]
    events: list[Event] = []
    for start, stop in itertools.pairwise(edges):
        events += feed(sampler, messages[start:stop])
        assert sampler.observation_names is not None  # looking in between changes nothing
        assert sampler.waiting_for is not None
    assert same(events + sampler.end_segment(), run(configured(), messages))


def newest(messages: list[Message], topic: str, earliest: float, latest: float) -> float | None:
    """Return the value of the last message of a topic within two times, both included."""
    found = [v for name, stamp, v in messages if name == topic and earliest <= stamp <= latest]
    return found[-1] if found else None


@given(recordings())
def test_every_tick_holds_what_the_contract_says(messages: list[Message]) -> None:
    """Judged from the outside: by searching the whole sequence for every tick."""
    before_ns = 0
    for tick in ticks(run(configured(), messages)):
        start, end = tick.start_ns / MS, tick.stamp_ns / MS
        fast, slow = tick.observation
        # What was observed last may have been a little later than the tick's start.
        near = tick.number and 0 < before_ns - tick.start_ns <= 25 * MS
        starts = [start, before_ns / MS] if near else [start]
        assert tick.action[0] in [newest(messages, "command", -1e9, at) for at in starts]
        before_ns = tick.stamp_ns
        assert np.isnan(fast) or fast == newest(messages, "fast", end, end)
        before = newest(messages, "slow", end - 200, end - 1e-6)
        assert slow in (before, newest(messages, "slow", end, end)) or (
            np.isnan(slow) and before is None
        )


def test_companions_with_coinciding_stamps_belong_to_one_tick() -> None:
    """As simulators publish: both topics at every step, in any order."""
    messages: list[Message] = [("command", 0, 0.0)]
    for i in range(1, 7):
        pair: list[Message] = [("fast", 50 * i, float(i)), ("slow", 50 * i, float(i))]
        messages += pair if i % 2 else pair[::-1]
    sampler = Sampler(configured())
    found = ticks(feed(sampler, messages))
    assert rows(found).tolist() == [[2, 2], [3, 3], [4, 4], [5, 5], [6, 6]]


def test_a_companion_that_fails_to_come_is_waited_for_until_anything_newer() -> None:
    messages: list[Message] = [("command", 0, 0.0)]
    messages += [(topic, 50 * i, float(i)) for i in (1, 2) for topic in ("fast", "slow")]
    sampler = Sampler(configured())
    feed(sampler, messages)
    assert feed(sampler, [("fast", 150, 3.0)]) == []
    (tick,) = feed(sampler, [("command", 151, 0.0)])
    assert isinstance(tick, Tick)
    assert tick.observation.tolist() == [3.0, 2.0]


def test_stamps_that_stand_still_ahead_of_the_pace_do_not_fill_the_memory() -> None:
    """The newest of them is what the tick sees that reaches them."""
    sampler = Sampler(configured(command_initial=0.0))
    feed(sampler, [("slow", 0, 1.0), ("fast", 1, 1.0)])
    (track,) = sampler._tracks.lines["/slow"].tracks
    assert isinstance(track, ObservationTrack)
    for number in range(50_000):
        feed(sampler, [("slow", 10, float(number))])
    assert len(track._samples) <= 2
    events = feed(sampler, [("fast", 51, 2.0)])
    (tick,) = ticks(events)
    assert tick.observation.tolist() == [2.0, 49_999.0]


def test_stamps_that_creep_ahead_of_the_pace_do_not_fill_the_memory() -> None:
    sampler = Sampler(configured(command_initial=0.0))
    feed(sampler, [("slow", 0, 1.0), ("fast", 1, 1.0)])
    (track,) = sampler._tracks.lines["/slow"].tracks
    assert isinstance(track, ObservationTrack)
    for number in range(10_000):
        sampler.feed("/slow", 10 * MS + number, SimpleNamespace(data=1.0))
    assert len(track._samples) == MOST_SAMPLES


def test_a_far_stamp_makes_no_more_rows_than_the_limit() -> None:
    longest = MOST_MISSING / 20
    sampler = Sampler(configured(observations=["fast"], command_initial=0.0, max_gap=longest))
    feed(sampler, [("fast", 0, 1.0), ("fast", 50, 1.0)])
    assert len(feed(sampler, [("fast", 50 + 1000 * longest, 1.0)])) <= MOST_MISSING + 1
    assert len(feed(sampler, [("fast", 86_400_000, 1.0)])) <= 1
    with pytest.raises(InputError, match=r"'max_gap' is 86400.* from 0 to 500, .* 10000 ticks"):
        configured(max_gap=86_400)


@pytest.mark.parametrize("initial", [None, [0.0, 0.0, 0.0]])
def test_where_columns_are_settled_a_first_message_of_another_length_is_left_out(
    initial: list[float] | None,
) -> None:
    options: dict[str, Any] = {} if initial is None else {"command_initial": initial}
    names = ("fast.data[0]", "fast.data[1]"), tuple(f"command.data[{i}]" for i in range(3))
    settled = replace(configured(observations=["fast"], **options), columns=names)
    good: list[Message] = [
        (topic, 50 * tick, [1.0 * tick] * width)
        for tick in range(1, 30)
        for topic, width in (("command", 3), ("fast", 2))
    ]
    expected = ticks(run(settled, good))
    assert len(expected) == 28
    for odd in ([1.0], [1.0] * 3, [1.0] * 100):
        sampler = Sampler(settled)
        first: list[Message] = [("fast", 10, odd), ("fast", 20, odd), ("command", 20, odd[:1])]
        events = ticks(feed(sampler, first + good) + sampler.end_segment())
        assert [tick.observation.tolist() for tick in events] == [
            tick.observation.tolist() for tick in expected
        ]
        assert (sampler.observation_names, sampler.action_names) == names
        assert sorted(sampler.misfits.values()) == [1, 2]
        assert all("is left out" in sentence for sentence in sampler.misfits)


def test_a_command_without_a_number_changes_nothing_and_is_named() -> None:
    fields = ["data[0]", "data[1]"]
    sampler = Sampler(configured(observations=["fast"], command_fields=fields))
    feed(sampler, [("command", 0, [1.0, 2.0]), ("fast", 0, 0.0)])

    def after(tick: int, command: list[float]) -> tuple[list[list[float]], list[tuple[str, ...]]]:
        """Return what acts in the tick after a command, and the columns that it leaves empty."""
        begins = 50 * tick
        found = feed(sampler, [("command", begins, command), ("fast", begins + 50, 0.0)])
        return actions(ticks(found)).tolist(), [names for _, names in sampler.empty_commands]

    assert after(0, [nan, 3.0]) == ([[1.0, 3.0]], [])
    assert after(1, [nan, nan]) == ([[1.0, 3.0]], [("command.data[0]", "command.data[1]")])
    assert after(2, [4.0, nan]) == ([[4.0, 3.0]], [])


def test_columns_that_are_commanded_in_turn_are_together_a_command() -> None:
    """The first message has one column, the second the other: from then on there is a command."""
    configuration = configured(observations=("fast",), command_fields=["data[0]", "data[1]"])
    messages: list[Message] = []
    for k in range(8):
        turn = np.array([10.0 + k, nan] if k % 2 == 0 else [nan, 20.0 + k])
        messages += [("command", 1000 + 50 * k, turn), ("fast", 1000 + 50 * k, float(k))]
    found = ticks(run(configuration, messages))
    np.testing.assert_array_equal(actions(found)[:3], [[10, 21], [12, 21], [12, 23]])


def test_huge_values_are_finite_and_give_no_warning() -> None:
    for width in (1, 6, 200):
        values = np.full(width, 1.7e308)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert all_finite(values)
            for bad in (nan, np.inf, -np.inf):
                spoilt = values.copy()
                spoilt[-1] = bad
                assert not all_finite(spoilt)
