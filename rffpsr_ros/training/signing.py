"""A model is given the channels of its columns, so that whoever loads it can feed it messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.record_check import PERIOD_TOLERANCE
from rffpsr_ros.parallel.processes import PROCESSES
from rffpsr_ros.recordings.bags.read_report import BagReport
from rffpsr_ros.recordings.trajectory import default_names
from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.fields.grammar import Expression, column_names, known_width, parse_field
from rffpsr_ros.training.configuration import Configuration, channel_configuration
from rffpsr_ros.training.known_policy import without_policy


def signed(
    model: PredictiveModel[Any], configuration: ChannelConfiguration, bag: BagReport
) -> PredictiveModel[Any]:
    """Return the model with the channels it was trained on; types and units are those of a bag.

    By how many processes it was learned is forgotten: the file is the same.
    """
    learning = {name: value for name, value in configuration.learning.items() if name != PROCESSES}
    known = replace(without_policy(configuration), learning=learning)
    signature = replace(
        model.signature,
        channels=known.with_types(bag.topic_types).to_mapping(),
        observation_units=bag.observation_units,
        action_units=bag.action_units,
    )
    return model.replaced(signature=signature)


def with_channels(
    model: PredictiveModel[Any], configuration: Configuration
) -> PredictiveModel[Any]:
    """Return a model that was learned from arrays with the channels that its columns are made of.

    It can then run live: its file says which topics and fields a node reads. Columns without
    names of their own (``observation[0]``) take the configuration's.

    Raises
    ------
    InputError
        If the configuration is wrong, or its columns or its period are not the model's.
    """
    channels = without_policy(channel_configuration(configuration))
    trained = model.signature
    if abs(channels.period - trained.period) > PERIOD_TOLERANCE * trained.period:
        raise InputError(
            f"the configuration has {channels.rate:g} ticks per second, but the model was trained"
            f" on ticks of {trained.period:g} s; set 'rate' to {1 / trained.period:g}"
        )
    observed = _columns(channels.observations, trained.observation_names, "observation")
    acted = _columns(channels.actions, trained.action_names, "action")
    signature = replace(
        trained,
        channels=channels.to_mapping(),
        observation_names=observed.names,
        observation_units=observed.units,
        action_names=acted.names,
        action_units=acted.units,
    )
    return model.replaced(signature=signature)


class _Columns(NamedTuple):
    """Name and unit of every column; no units if one is unknown."""

    names: tuple[str, ...]
    units: tuple[str, ...]


class _Field(NamedTuple):
    """One field of a channel.

    How many columns it has is known from its path, or else from a message: it may be a number
    (width None) or an array.
    """

    channel: str
    expression: Expression
    unit: str

    def names(self, width: int | None) -> tuple[str, ...]:
        return tuple(f"{self.channel}.{name}" for name in column_names(self.expression, width))


def _columns(channels: Sequence[Channel], trained: Sequence[str], what: str) -> _Columns:
    """Return the columns of channels, as many as the model was trained on.

    Raises
    ------
    InputError
        If the channels do not give these columns.
    """
    fields = [
        _Field(channel.name, parse_field(path), channel.units[i] if channel.units else "")
        for channel in channels
        for i, path in enumerate(channel.fields)
    ]
    unnamed = tuple(trained) == default_names(what, len(trained))
    widths = (
        _widths_by_count(fields, trained, what) if unnamed else _widths_by_name(fields, trained)
    )
    by_field = [field.names(width) for field, width in zip(fields, widths, strict=True)]
    names = tuple(name for some in by_field for name in some)
    units = [field.unit for field, some in zip(fields, by_field, strict=True) for _ in some]
    if len(names) != len(trained):
        raise _wrong_count(what, len(names), trained)
    if not unnamed and names != tuple(trained):
        column = next(i for i, name in enumerate(names) if name != trained[i])
        raise InputError(
            f"{what} {column} of the configuration is '{names[column]}', but the model was trained"
            f" on '{trained[column]}'; give the configuration of the data it was trained on"
        )
    return _Columns(names, tuple(units) if all(units) else ())


def _widths_by_count(
    fields: Sequence[_Field], trained: Sequence[str], what: str
) -> list[int | None]:
    """Return the width of every field, where only the number of all columns is known.

    Either all fields whose paths do not tell are numbers, or the only one is an array.
    """
    widths = [known_width(field.expression) for field in fields]
    rest = len(trained) - sum(width or 0 for width in widths)
    untold = widths.count(None)
    if untold == rest:
        return widths
    if untold != 1 or rest < 1:
        raise _wrong_count(what, len(trained) - rest + untold, trained)
    return [rest if width is None else width for width in widths]


def _widths_by_name(fields: Sequence[_Field], trained: Sequence[str]) -> list[int | None]:
    """Return the width of every field, read off the names of the columns."""
    widths: list[int | None] = []
    first = 0
    for field in fields:
        rest = tuple(trained[first:])
        width = known_width(field.expression)
        if width is None and rest[:1] != field.names(None):
            pairs = zip(rest, field.names(len(rest)), strict=True)
            width = next((i for i, (one, other) in enumerate(pairs) if one != other), len(rest))
            width = width or None
        widths.append(width)
        first += 1 if width is None else width
    return widths


def _wrong_count(what: str, count: int, trained: Sequence[str]) -> InputError:
    return InputError(
        f"the configuration has {count} {what} columns, but the model was trained on"
        f" {len(trained)}; name one field for each (an array as a range, such as data[0:3])"
    )
