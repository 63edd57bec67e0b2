"""Why a bag gave nothing: one sentence for the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rffpsr_ros.errors import counted
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.fields.resolver import FieldResolver
from rffpsr_ros.signals.sampler import Sampler


@dataclass
class TopicTimes:
    """First and last stamp of a topic (ns) and the number of its messages."""

    first_ns: int = 0
    last_ns: int = 0
    count: int = 0

    def add(self, stamp_ns: int) -> None:
        """Take note of a stamp."""
        if self.count == 0:
            self.first_ns = self.last_ns = stamp_ns
        elif stamp_ns < self.first_ns:
            self.first_ns = stamp_ns
        elif stamp_ns > self.last_ns:
            self.last_ns = stamp_ns
        self.count += 1


def never_numbers(
    configuration: ChannelConfiguration, messages: Iterable[tuple[str, Any]]
) -> list[str]:
    """Return what never is a number, though no tick is without it, in messages by topic.

    These are columns of actions, and the pace channel if none of its columns ever is one.
    """
    pace, *_ = configuration.observations
    needed = [pace, *(one for one in configuration.actions if one.initial is None)]
    resolvers = [FieldResolver(channel.fields) for channel in needed]
    seen: list[dict[str, bool]] = [{} for _ in needed]
    for topic, message in messages:
        for channel, resolver, found in zip(needed, resolvers, seen, strict=True):
            values = resolver.resolve(message) if channel.topic == topic else None
            if values is not None:
                for name, value in zip(resolver.column_names, values, strict=True):
                    found[name] = found.get(name, False) or bool(np.isfinite(value))
    blind = [] if any(seen[0].values()) else list(seen[0])
    columns = [f"'{pace.name}.{name}' ({pace.topic})" for name in blind]
    for channel, found in zip(needed[1:], seen[1:], strict=True):
        never = (name for name, once in found.items() if not once)
        columns += [f"'{channel.name}.{name}' ({channel.topic})" for name in never]
    return columns


def why_no_ticks(
    path: Path,
    sampler: Sampler,
    times: Mapping[str, TopicTimes],
    empty: Callable[[], Sequence[str]],
) -> str:
    """Return the most likely reason why a bag gave not a single tick.

    ``empty`` returns columns that are never a number, as `never_numbers` finds them by reading all
    once more, if nothing else tells.
    """
    configuration = sampler.configuration
    needed = {channel.topic for channel in configuration.channels if channel.initial is None}
    silent = sorted(topic for topic in needed if times[topic].count == 0)
    if silent:
        return f"bag {path} has no message on {' and '.join(silent)}"
    # A command before the first observation is in force on it; one after the last comes too late.
    ends = {channel.topic: times[channel.topic].last_ns for channel in configuration.observations}
    earliest = min(ends, key=lambda topic: ends[topic])
    latest = max(needed, key=lambda topic: times[topic].first_ns)
    apart = times[latest].first_ns - ends[earliest]
    if apart > 0:
        seconds = apart / 1e9
        years = "; their clocks differ, try 'stamps: receive' in the configuration"
        return (
            f"{earliest} and {latest} do not overlap in time in bag {path}: the first ends"
            f" {seconds:.6g} s before the second begins{years if seconds > 3600 else ''}"
        )
    waiting = sampler.waiting_for
    if waiting:
        return (
            f"bag {path} gives no values for channel '{waiting[0].name}' ({waiting[0].topic}):"
            " its fields are empty in every message"
        )
    if columns := empty():
        return f"in bag {path} {' and '.join(columns)} is never a number, so no tick is complete"
    pace = configuration.observations[0]
    return _too_slow_or_short(path, pace.topic, times[pace.topic], configuration)


def _too_slow_or_short(
    path: Path, topic: str, times: TopicTimes, configuration: ChannelConfiguration
) -> str:
    """Return why the messages of the pace channel make no tick."""
    period, seconds = configuration.period, (times.last_ns - times.first_ns) / 1e9
    short = f"bag {path} is too short for a single tick"
    if times.count < 2:
        return (
            f"{short}: {topic} has {counted(times.count, 'message')} and a tick takes {period:g} s"
        )
    if seconds < period:
        return (
            f"{short}: the {times.count} messages of {topic} lie within {seconds:.3g} s and a tick"
            f" takes {period:g} s; check the unit of their time, and rate"
        )
    apart = seconds / (times.count - 1)
    if apart > configuration.max_gap:
        return (
            f"the messages of {topic} in bag {path} come about {apart:.3g} s apart, too far for"
            f" ticks of {period:g} s and a max_gap of {configuration.max_gap:g} s; check the unit"
            " of their time, and rate"
        )
    return f"in bag {path} not every channel has a value at the same time, so no tick is complete"
