"""Which topics and fields make up the observations and the actions, and how they are timed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from rffpsr_ros.errors import InputError, did_you_mean
from rffpsr_ros.signals.channel import ACTION_KEYS, OBSERVATION_KEYS, Channel
from rffpsr_ros.signals.checked_values import Checker

DEFAULT_MAX_AGE = 0.2
"""Seconds for which an observation counts as current, but at least 2.5 ticks."""

DEFAULT_MAX_GAP = 0.5
"""Seconds of missing rows that a segment survives, but at least 3 ticks."""

MOST_MISSING = 10_000
"""Ticks of a gap that a segment survives: one far stamp makes rows for all of them at once."""

STAMPS = ("header", "receive")

TOP_KEYS = ("rate", "max_gap", "stamps", "observation", "action", "learning", "dataset")
"""The keys of a channel configuration."""

_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)


@dataclass(frozen=True)
class ChannelConfiguration:
    """The channels of observations and actions and the grid of ticks they are sampled on.

    Attributes
    ----------
    rate
        Ticks per second.
    max_gap
        A run of missing rows longer than this many seconds ends the segment.
    observations, actions
        The channels in the order of their columns; the first observation is the pace channel.
    stamps
        ``header``: the time of a message is its header's stamp, where it has one; ``receive``: it
        is always the time at which the message was received (or logged).
    learning, dataset
        Options for the learner and for the choice of data; checked by who uses them.
    columns
        The names of observation and action columns, where a model has settled them; no part of
        what is written down. A first message that gives other columns is left out.
    """

    rate: float
    max_gap: float
    observations: tuple[Channel, ...]
    actions: tuple[Channel, ...]
    stamps: str = "header"
    learning: Mapping[str, Any] = field(default_factory=dict)
    dataset: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())

    @property
    def period(self) -> float:
        """Seconds per tick."""
        return 1.0 / self.rate

    @property
    def exact_period_ns(self) -> Fraction:
        """Nanoseconds per tick, exactly: no drift builds up over a long recording."""
        return Fraction(10**9) / Fraction(repr(self.rate))

    @property
    def channels(self) -> tuple[Channel, ...]:
        """All channels, observations first."""
        return self.observations + self.actions

    @property
    def on_both_sides(self) -> tuple[str, ...]:
        """The fields, with their topics, that are observed and commanded."""
        sides = (
            {f"'{field}' of {one.topic}": None for one in channels for field in one.fields}
            for channels in (self.observations, self.actions)
        )
        observed, commanded = sides
        return tuple(field for field in observed if field in commanded)

    @property
    def topics(self) -> dict[str, str]:
        """Type by topic, each topic once; the type is empty where none was given."""
        types: dict[str, str] = {}
        for channel in self.channels:
            types[channel.topic] = types.get(channel.topic) or channel.type
        return types

    def with_types(self, types: Mapping[str, str]) -> ChannelConfiguration:
        """Return the configuration with the types filled in that were not given."""

        def complete(channels: tuple[Channel, ...]) -> tuple[Channel, ...]:
            return tuple(
                replace(channel, type=channel.type or types.get(channel.topic, ""))
                for channel in channels
            )

        return replace(
            self, observations=complete(self.observations), actions=complete(self.actions)
        )

    def to_mapping(self) -> dict[str, Any]:
        """Return the configuration as `from_mapping` takes it; JSON types only."""

        def group(channels: tuple[Channel, ...]) -> dict[str, Any]:
            mapping: dict[str, Any] = {"inputs": [channel.name for channel in channels]}
            mapping.update({channel.name: channel.to_mapping() for channel in channels})
            return mapping

        return {
            "rate": self.rate,
            "max_gap": self.max_gap,
            "stamps": self.stamps,
            "observation": group(self.observations),
            "action": group(self.actions),
            "learning": dict(self.learning),
            "dataset": dict(self.dataset),
        }

    @classmethod
    def from_mapping(
        cls, mapping: Mapping[str, Any], source: str = "the channel configuration"
    ) -> ChannelConfiguration:
        """Check a mapping as it stands in a configuration file and fill in the defaults.

        Parameters
        ----------
        mapping
            Keys ``rate``, ``observation``, ``action`` and optionally ``max_gap``, ``stamps``,
            ``learning``, ``dataset``.
        source
            What the mapping was read from, for messages.

        Raises
        ------
        InputError
            If a key is unknown or missing, or a value is of the wrong kind or out of range.
        """
        check = Checker(source)
        top = check.mapping(mapping, "")
        check.known_keys(top, TOP_KEYS, "")
        rate = check.positive(top, "rate", "", "ticks per second")
        period = 1.0 / rate
        stamps = top.get("stamps", "header")
        if stamps not in STAMPS:
            raise check.error("stamps", stamps, "'header' or 'receive'")
        observations = _group(top, "observation", OBSERVATION_KEYS, check)
        max_age = max(DEFAULT_MAX_AGE, 2.5 * period)
        observations = tuple(
            channel if channel.max_age is not None else replace(channel, max_age=max_age)
            for channel in observations
        )
        actions = _group(top, "action", ACTION_KEYS, check)
        _check_types(observations + actions, source)
        return cls(
            rate=rate,
            max_gap=_max_gap(top, period, check),
            observations=observations,
            actions=actions,
            stamps=stamps,
            learning=check.options(top, "learning"),
            dataset=check.options(top, "dataset"),
        )


def _max_gap(top: Mapping[str, Any], period: float, check: Checker) -> float:
    longest = MOST_MISSING * period
    if "max_gap" not in top:
        return min(max(DEFAULT_MAX_GAP, 3 * period), longest)
    right = f"a number of seconds from 0 to {longest:g}, which are {MOST_MISSING} ticks"
    max_gap = check.number(top["max_gap"], "max_gap", right)
    if not 0 <= max_gap <= longest:
        raise check.error("max_gap", max_gap, right)
    return max_gap


def _group(
    top: Mapping[str, Any], name: str, keys: Sequence[str], check: Checker
) -> tuple[Channel, ...]:
    example = f"{name}: {{inputs: [imu], imu: {{topic: /imu, fields: [...]}}}}"
    if name not in top:
        raise InputError(f"'{name}' is missing in {check.source}; write {example}")
    group = check.mapping(top[name], name)
    if "inputs" not in group:
        raise InputError(f"'{name}.inputs' is missing in {check.source}; write {example}")
    inputs = check.strings(group["inputs"], f"{name}.inputs", "a list of channel names")
    if not inputs or len(set(inputs)) != len(inputs):
        raise check.error(f"{name}.inputs", list(inputs), "one or more names, each once")
    for channel in inputs:
        if not _NAME.match(channel) or channel == "inputs":
            raise check.error(f"{name}.inputs", channel, "a name of letters, digits and '_'")
    for key in group:
        if key != "inputs" and key not in inputs:
            raise InputError(
                f"'{name}.{key}' in {check.source} is not listed in {name}.inputs"
                f"{did_you_mean(key, inputs)}"
            )
    return tuple(_channel(group, name, channel, keys, check) for channel in inputs)


def _channel(
    group: Mapping[str, Any], group_name: str, name: str, keys: Sequence[str], check: Checker
) -> Channel:
    path = f"{group_name}.{name}"
    if name not in group:
        raise InputError(
            f"'{group_name}.inputs' lists '{name}', but {check.source} has no"
            f" '{path}'{did_you_mean(name, [key for key in group if key != 'inputs'])}"
        )
    return Channel.from_mapping(name, check.mapping(group[name], path), keys, f"{path}.", check)


def _check_types(channels: Sequence[Channel], source: str) -> None:
    """Refuse a topic that has two types."""
    types: dict[str, Channel] = {}
    for channel in channels:
        other = types.setdefault(channel.topic, channel)
        if channel.type and other.type and channel.type != other.type:
            raise InputError(
                f"topic {channel.topic} has type {other.type} in channel '{other.name}' but"
                f" {channel.type} in channel '{channel.name}' in {source}"
            )
