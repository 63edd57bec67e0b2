"""Which topics and fields make up the observations and the actions, and how they are timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

DEFAULT_MAX_AGE = 0.2
"""Seconds for which an observation counts as current, but at least 2.5 ticks."""

DEFAULT_MAX_GAP = 0.5
"""Seconds of missing rows that a segment survives, but at least 3 ticks."""

STAMPS = ("header", "receive")


@dataclass(frozen=True)
class Channel:
    """One topic's contribution to the observations or to the actions.

    Attributes
    ----------
    name
        Short name; the columns are called ``<name>.<field>``.
    topic
        Topic name, as a node would write it.
    type
        Message type ``package/msg/Name``; empty if it is to be taken from the bag or the graph.
    fields
        Field paths in the grammar of `rffpsr_ros.signals.fields.resolver`.
    max_age
        Seconds for which a sample counts: an older observation is missing; an older command no
        longer acts, and ``initial`` does again. None: for ever.
    units
        One unit per field, or empty if unknown.
    initial
        Actions only: the values (one per column, or one for all) in force before the first
        command; None: a segment starts only after the first command.
    """

    name: str
    topic: str
    type: str = ""
    fields: tuple[str, ...] = ()
    max_age: float | None = None
    units: tuple[str, ...] = ()
    initial: tuple[float, ...] | None = None

    def to_mapping(self) -> dict[str, Any]:
        """Return the channel as it stands in a configuration file; JSON types only."""
        mapping: dict[str, Any] = {"topic": self.topic}
        if self.type:
            mapping["type"] = self.type
        mapping["fields"] = list(self.fields)
        if self.units:
            mapping["units"] = list(self.units)
        if self.max_age is not None:
            mapping["max_age"] = self.max_age
        if self.initial is not None:
            mapping["initial"] = list(self.initial)
        return mapping


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
    """

    rate: float
    max_gap: float
    observations: tuple[Channel, ...]
    actions: tuple[Channel, ...]
    stamps: str = "header"
    learning: Mapping[str, Any] = field(default_factory=dict)
    dataset: Mapping[str, Any] = field(default_factory=dict)

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
            Where the mapping came from, for messages.

        Raises
        ------
        InputError
            If a key is unknown or missing, or a value is of the wrong kind or out of range.
        """
        from rffpsr_ros.signals.channel_parser import parse_channels

        return parse_channels(mapping, source)
