"""Why a bag gave nothing: one sentence for the user."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

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


def why_no_ticks(path: Path, sampler: Sampler, times: Mapping[str, TopicTimes]) -> str:
    """Return the most likely reason why a bag gave not a single tick."""
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
    pace = configuration.observations[0]
    return (
        f"bag {path} is too short for a single tick: {pace.topic} has"
        f" {times[pace.topic].count} messages and a tick takes {configuration.period:g} s"
    )
