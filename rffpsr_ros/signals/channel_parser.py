"""From the plain keys and values of a configuration file to checked channels."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rffpsr_ros.errors import InputError, did_you_mean
from rffpsr_ros.signals.channels import (
    DEFAULT_MAX_AGE,
    DEFAULT_MAX_GAP,
    STAMPS,
    Channel,
    ChannelConfiguration,
)
from rffpsr_ros.signals.fields.grammar import parse_field

TOP_KEYS = ("rate", "max_gap", "stamps", "observation", "action", "learning", "dataset")
"""The keys of a channel configuration."""

_CHANNEL_KEYS = ("topic", "type", "fields", "units", "max_age")
_ACTION_KEYS = (*_CHANNEL_KEYS, "initial")
_NAME = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_TOPIC = re.compile(r"[~/A-Za-z_][\w/~{}]*\Z", re.ASCII)
_TYPE = re.compile(r"([A-Za-z]\w*)/(?:msg/)?([A-Za-z]\w*)\Z", re.ASCII)


def parse_channels(mapping: Mapping[str, Any], source: str) -> ChannelConfiguration:
    """Check a mapping and fill in the defaults; see `ChannelConfiguration.from_mapping`."""
    check = _Checker(source)
    top = check.mapping(mapping, "")
    check.known_keys(top, TOP_KEYS, "")
    rate = check.positive(top, "rate", "", "ticks per second")
    period = 1.0 / rate
    max_gap = max(DEFAULT_MAX_GAP, 3 * period)
    if "max_gap" in top:
        max_gap = check.number(top["max_gap"], "max_gap", "a number of seconds, 0 or more")
        if max_gap < 0:
            raise check.error("max_gap", max_gap, "a number of seconds, 0 or more")
    stamps = top.get("stamps", "header")
    if stamps not in STAMPS:
        raise check.error("stamps", stamps, "'header' or 'receive'")
    observations = check.group(top, "observation", _CHANNEL_KEYS)
    max_age = max(DEFAULT_MAX_AGE, 2.5 * period)
    observations = tuple(
        channel if channel.max_age is not None else replace(channel, max_age=max_age)
        for channel in observations
    )
    actions = check.group(top, "action", _ACTION_KEYS)
    check.one_type_per_topic(observations + actions)
    return ChannelConfiguration(
        rate=rate,
        max_gap=max_gap,
        observations=observations,
        actions=actions,
        stamps=stamps,
        learning=check.options(top, "learning"),
        dataset=check.options(top, "dataset"),
    )


def normalise_type(text: str) -> str | None:
    """Return a message type as ``package/msg/Name`` (ROS 1 style accepted), None if it is none."""
    match = _TYPE.match(text)
    return f"{match[1]}/msg/{match[2]}" if match else None


class _Checker:
    """Turns plain values into checked ones; every error says which key of which source."""

    def __init__(self, source: str) -> None:
        self.source = source

    def error(self, key: str, value: object, right: str) -> InputError:
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return InputError(f"'{key}' is {shown} in {self.source}; it must be {right}")

    def mapping(self, value: object, key: str) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            if not key:
                raise InputError(f"{self.source} holds no mapping of keys to values")
            raise self.error(key, value, "a mapping of keys to values")
        return {str(name): entry for name, entry in value.items()}

    def known_keys(self, mapping: Mapping[str, Any], known: Sequence[str], path: str) -> None:
        for key in mapping:
            if key not in known:
                raise InputError(
                    f"unknown key '{path}{key}' in {self.source}{did_you_mean(key, known, path)}"
                )

    def number(self, value: object, key: str, right: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(key, value, right)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.error(key, value, right)
        return number

    def positive(self, mapping: Mapping[str, Any], key: str, path: str, unit: str) -> float:
        if key not in mapping:
            raise InputError(
                f"'{path}{key}' is missing in {self.source}; it must be a positive number of {unit}"
            )
        right = f"a positive number of {unit}"
        number = self.number(mapping[key], path + key, right)
        # Beyond these bounds a tick is shorter than a nanosecond or longer than thirty years.
        if not 1e-9 <= number <= 1e9:
            raise self.error(path + key, mapping[key], right)
        return number

    def strings(self, value: object, key: str, right: str) -> tuple[str, ...]:
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
            raise self.error(key, value, right)
        return tuple(value)

    def group(
        self, top: Mapping[str, Any], name: str, channel_keys: Sequence[str]
    ) -> tuple[Channel, ...]:
        example = f"{name}: {{inputs: [imu], imu: {{topic: /imu, fields: [...]}}}}"
        if name not in top:
            raise InputError(f"'{name}' is missing in {self.source}; write {example}")
        group = self.mapping(top[name], name)
        if "inputs" not in group:
            raise InputError(f"'{name}.inputs' is missing in {self.source}; write {example}")
        inputs = self.strings(group["inputs"], f"{name}.inputs", "a list of channel names")
        if not inputs or len(set(inputs)) != len(inputs):
            raise self.error(f"{name}.inputs", list(inputs), "one or more names, each once")
        for channel in inputs:
            if not _NAME.match(channel) or channel == "inputs":
                raise self.error(f"{name}.inputs", channel, "a name of letters, digits and '_'")
        for key in group:
            if key != "inputs" and key not in inputs:
                raise InputError(
                    f"'{name}.{key}' in {self.source} is not listed in {name}.inputs"
                    f"{did_you_mean(key, inputs)}"
                )
        return tuple(self.channel(group, channel, name, channel_keys) for channel in inputs)

    def channel(
        self, group: Mapping[str, Any], name: str, group_name: str, keys: Sequence[str]
    ) -> Channel:
        path = f"{group_name}.{name}."
        if name not in group:
            raise InputError(
                f"'{group_name}.inputs' lists '{name}', but {self.source} has no"
                f" '{group_name}.{name}'{did_you_mean(name, [k for k in group if k != 'inputs'])}"
            )
        entry = self.mapping(group[name], f"{group_name}.{name}")
        self.known_keys(entry, keys, path)
        topic = entry.get("topic")
        if not isinstance(topic, str) or not _TOPIC.match(topic):
            raise self.error(f"{path}topic", topic, "a topic name such as /imu/data")
        fields = self.fields(entry, path)
        units = self.strings(entry.get("units", ()), f"{path}units", "one unit per field")
        if units and len(units) != len(fields):
            raise self.error(f"{path}units", list(units), "one unit per field")
        max_age = None
        if "max_age" in entry:
            max_age = self.positive(entry, "max_age", path, "seconds")
        return Channel(
            name=name,
            topic=topic,
            type=self.message_type(entry, path),
            fields=fields,
            max_age=max_age,
            units=units,
            initial=self.initial(entry, path),
        )

    def message_type(self, entry: Mapping[str, Any], path: str) -> str:
        value = entry.get("type", "")
        if value == "":
            return ""
        name = normalise_type(value) if isinstance(value, str) else None
        if name is None:
            raise self.error(f"{path}type", value, "a message type such as sensor_msgs/msg/Imu")
        return name

    def fields(self, entry: Mapping[str, Any], path: str) -> tuple[str, ...]:
        right = 'a list of field paths such as [angular_velocity.z, "data[0]"]'
        if "fields" not in entry:
            raise InputError(f"'{path}fields' is missing in {self.source}; it must be {right}")
        fields = self.strings(entry["fields"], f"{path}fields", right)
        if not fields or len(set(fields)) != len(fields):
            raise self.error(f"{path}fields", list(fields), "one or more field paths, each once")
        for text in fields:
            try:
                parse_field(text)
            except InputError as problem:
                raise InputError(f"'{path}fields' in {self.source}: {problem}") from None
        return fields

    def initial(self, entry: Mapping[str, Any], path: str) -> tuple[float, ...] | None:
        if "initial" not in entry:
            return None
        value = entry["initial"]
        right = "a number or one number per column"
        values = value if isinstance(value, (list, tuple)) else [value]
        if not values:
            raise self.error(f"{path}initial", value, right)
        return tuple(self.number(v, f"{path}initial", right) for v in values)

    def one_type_per_topic(self, channels: Sequence[Channel]) -> None:
        types: dict[str, Channel] = {}
        for channel in channels:
            other = types.setdefault(channel.topic, channel)
            if channel.type and other.type and channel.type != other.type:
                raise InputError(
                    f"topic {channel.topic} has type {other.type} in channel '{other.name}' but"
                    f" {channel.type} in channel '{channel.name}' in {self.source}"
                )

    def options(self, top: Mapping[str, Any], key: str) -> dict[str, Any]:
        if key not in top or top[key] is None:
            return {}
        plain = _plain(self.mapping(top[key], key), 0)
        if plain is _NOT_PLAIN:
            raise self.error(key, top[key], "plain keys, numbers, texts and lists")
        return dict(plain)


_NOT_PLAIN: Any = object()


def _plain(value: Any, depth: int) -> Any:
    """Return a value in JSON types, `_NOT_PLAIN` if it cannot be expressed in them."""
    if depth > 8:
        return _NOT_PLAIN
    if isinstance(value, Mapping):
        entries = {str(key): _plain(entry, depth + 1) for key, entry in value.items()}
        return _NOT_PLAIN if any(e is _NOT_PLAIN for e in entries.values()) else entries
    if isinstance(value, (list, tuple)):
        items = [_plain(entry, depth + 1) for entry in value]
        return _NOT_PLAIN if any(item is _NOT_PLAIN for item in items) else items
    return value if value is None or isinstance(value, (bool, int, float, str)) else _NOT_PLAIN
