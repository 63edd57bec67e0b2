"""One topic's contribution to the observations or to the actions, and how a file writes it down."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals.checked_values import Checker
from rffpsr_ros.signals.fields.grammar import parse_field

OBSERVATION_KEYS = ("topic", "type", "fields", "units", "max_age")
ACTION_KEYS = (*OBSERVATION_KEYS, "initial")

_TOPIC = re.compile(r"[~/A-Za-z_][\w/~{}]*\Z", re.ASCII)
_TYPE = re.compile(r"([A-Za-z]\w*)/(?:msg/)?([A-Za-z]\w*)\Z", re.ASCII)


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

    @classmethod
    def from_mapping(
        cls, name: str, entry: Mapping[str, Any], keys: Sequence[str], path: str, check: Checker
    ) -> Channel:
        """Check a channel as it stands in a configuration file.

        Parameters
        ----------
        name
            The channel's name.
        entry
            What stands under it.
        keys
            `OBSERVATION_KEYS` or `ACTION_KEYS`.
        path
            Where it stands, for messages, such as ``observation.imu.``.
        check
            Knows the source, for messages.

        Raises
        ------
        InputError
            If a key is unknown or missing, or a value is of the wrong kind or out of range.
        """
        check.known_keys(entry, keys, path)
        topic = entry.get("topic")
        if not isinstance(topic, str) or not _TOPIC.match(topic):
            raise check.error(f"{path}topic", topic, "a topic name such as /imu/data")
        fields = _fields(entry, path, check)
        units = check.strings(entry.get("units", ()), f"{path}units", "one unit per field")
        if units and len(units) != len(fields):
            raise check.error(f"{path}units", list(units), "one unit per field")
        max_age = None
        if "max_age" in entry:
            max_age = check.positive(entry, "max_age", path, "seconds")
        return cls(
            name=name,
            topic=topic,
            type=_message_type(entry, path, check),
            fields=fields,
            max_age=max_age,
            units=units,
            initial=_initial(entry, path, check),
        )


def normalise_type(text: str) -> str | None:
    """Return a message type as ``package/msg/Name`` (ROS 1 style accepted), None if it is none."""
    match = _TYPE.match(text)
    return f"{match[1]}/msg/{match[2]}" if match else None


def _message_type(entry: Mapping[str, Any], path: str, check: Checker) -> str:
    value = entry.get("type", "")
    if value == "":
        return ""
    name = normalise_type(value) if isinstance(value, str) else None
    if name is None:
        raise check.error(f"{path}type", value, "a message type such as sensor_msgs/msg/Imu")
    return name


def _fields(entry: Mapping[str, Any], path: str, check: Checker) -> tuple[str, ...]:
    right = 'a list of field paths such as [angular_velocity.z, "data[0]"]'
    if "fields" not in entry:
        raise InputError(f"'{path}fields' is missing in {check.source}; it must be {right}")
    fields = check.strings(entry["fields"], f"{path}fields", right)
    if not fields or len(set(fields)) != len(fields):
        raise check.error(f"{path}fields", list(fields), "one or more field paths, each once")
    for text in fields:
        try:
            parse_field(text)
        except InputError as problem:
            raise InputError(f"'{path}fields' in {check.source}: {problem}") from None
    return fields


def _initial(entry: Mapping[str, Any], path: str, check: Checker) -> tuple[float, ...] | None:
    if "initial" not in entry:
        return None
    value = entry["initial"]
    right = "a number or one number per column"
    values = value if isinstance(value, (list, tuple)) else [value]
    if not values:
        raise check.error(f"{path}initial", value, right)
    return tuple(check.number(v, f"{path}initial", right) for v in values)
