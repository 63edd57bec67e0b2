"""Vectors to command messages: the way back from what `FieldResolver` reads of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from rffpsr_ros.errors import InputError, did_you_mean
from rffpsr_ros.nodes.shared.message_classes import message_class
from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.signals.fields.grammar import Element, Member, Path, Range, parse_field
from rffpsr_ros.signals.fields.places import NAME_LISTS, fields_of, is_array, is_number


class _Target(NamedTuple):
    """One number of a message: an attribute of what ``owner`` leads to, or an element of it."""

    owner: tuple[str, ...]
    attribute: str
    element: int | None


class CommandWriter:
    """Makes messages of an action channel; everything its fields do not name stays at its default.

    Parameters
    ----------
    channel
        Its type must be given. Fields are numbers, elements (``data[0]``), ranges with an end
        (``data[0:6]``) and elements named in a list of names (``effort.elbow``).

    Raises
    ------
    InputError
        If a field cannot be written.
    """

    def __init__(self, channel: Channel) -> None:
        if not channel.type:
            raise InputError(
                f"channel '{channel.name}' has no type; to publish commands on {channel.topic}"
                " write one, such as type: geometry_msgs/msg/Twist"
            )
        self.message_class = message_class(channel.type)
        self._names: dict[tuple[str, ...], list[str]] = {}
        self._targets = [
            target for text in channel.fields for target in self._bind(text, channel.name)
        ]
        self.write([0.0] * self.width)

    @property
    def width(self) -> int:
        """Number of values of a command."""
        return len(self._targets)

    def write(self, values: Sequence[float]) -> Any:
        """Return a message with these values."""
        message = self.message_class()
        for path, names in self._names.items():
            setattr(_follow(message, path[:-1]), path[-1], names)
        for target, value in zip(self._targets, values, strict=True):
            owner = _follow(message, target.owner)
            if target.element is None:
                kind = type(getattr(owner, target.attribute))
                setattr(owner, target.attribute, round(value) if kind is int else float(value))
            else:
                array = getattr(owner, target.attribute)
                if len(array) <= target.element:
                    array.extend([0.0] * (target.element + 1 - len(array)))
                array[target.element] = value
        return message

    def _bind(self, text: str, channel: str) -> Iterator[_Target]:
        where = f"field '{text}' of channel '{channel}'"
        expression = parse_field(text)
        if not isinstance(expression, Path):
            raise InputError(f"{where} cannot be commanded: only plain fields can be written")
        owner: tuple[str, ...] = ()
        value = self.message_class()
        for number, step in enumerate(expression.steps):
            rest = expression.steps[number + 1 :]
            if not isinstance(step, Member) or is_array(value):
                break
            if not hasattr(value, step.name):
                known = fields_of(value)
                raise InputError(f"{where} does not exist{did_you_mean(step.name, known)}")
            value = getattr(value, step.name)
            if is_number(value) and not rest:
                yield _Target(owner, step.name, None)
                return
            if is_array(value) and len(rest) == 1:
                for index in self._indices(rest[0], owner, where):
                    yield _Target(owner, step.name, index)
                return
            owner = (*owner, step.name)
        raise InputError(
            f"{where} cannot be commanded; write a number of the message, an element such as"
            " data[0], or a range with an end such as data[0:6]"
        )

    def _indices(self, step: Any, owner: tuple[str, ...], where: str) -> range:
        if isinstance(step, Element) and step.index >= 0:
            return range(step.index, step.index + 1)
        if isinstance(step, Range) and (step.start or 0) >= 0 and (step.stop or -1) > 0:
            return range(step.start or 0, step.stop or 0)
        if isinstance(step, Member):
            holder = _follow(self.message_class(), owner)
            for attribute in NAME_LISTS:
                if is_array(getattr(holder, attribute, None)):
                    names = self._names.setdefault((*owner, attribute), [])
                    names += [step.name] * (step.name not in names)
                    position = names.index(step.name)
                    return range(position, position + 1)
        raise InputError(
            f"{where} cannot be commanded: write indices from 0 and ranges with an end, as in"
            " data[0:6]"
        )


def _follow(message: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        message = getattr(message, name)
    return message
