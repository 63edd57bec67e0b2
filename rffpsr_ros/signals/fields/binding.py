"""A field path bound to the structure of a real message: a function that fetches its value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.errors import InputError, did_you_mean
from rffpsr_ros.signals.fields.functions import Memory, Takes
from rffpsr_ros.signals.fields.grammar import (
    Element,
    Expression,
    Function,
    Member,
    Path,
    Range,
    unparse,
)
from rffpsr_ros.signals.fields.places import (
    NAME_LISTS,
    Fetch,
    NameIndex,
    Place,
    fields_of,
    is_array,
    is_number,
    type_name,
)

Vector = NDArray[np.float64]
_ABSENT: Any = object()


@dataclass
class BoundField:
    """A field bound to a message type.

    ``fetch`` returns a number if ``width`` is None, else a vector of that width; it raises
    IndexError where the value is missing in a message. ``place`` is set for bare paths.
    """

    expression: Expression
    width: int | None
    fetch: Fetch
    place: Place | None = None
    name_indices: tuple[NameIndex, ...] = ()
    memories: tuple[Memory, ...] = ()

    @property
    def columns(self) -> int:
        """Number of columns."""
        return 1 if self.width is None else self.width


def bind(expression: Expression, message: Any) -> BoundField | None:
    """Bind a field to the type of a message; None if this message does not tell enough.

    Raises
    ------
    InputError
        If the message has no such field, or it is not numeric.
    """
    if isinstance(expression, Path):
        return _bind_path(expression, message)
    operand = _operand(expression, message)
    return None if operand is None else _apply(expression, operand)


def _bind_path(path: Path, message: Any) -> BoundField | None:
    walked = _PathWalk(path, message)
    value = walked.value
    if value is _ABSENT:
        if not walked.ends_in_element:
            return None
        return BoundField(path, None, walked.place.fetch, walked.place, walked.name_indices)
    if is_number(value):
        return BoundField(path, None, walked.place.fetch, walked.place, walked.name_indices)
    if not is_array(value) or (len(value) and not is_number(value[0])):
        raise InputError(_not_numeric(path, value))
    last = path.steps[-1]
    width = (last.width if isinstance(last, Range) else None) or len(value)
    if width == 0:
        return None
    return BoundField(path, width, _vector(walked.place.fetch, width), None, walked.name_indices)


def _vector(fetch: Fetch, width: int) -> Fetch:
    def fetch_vector(message: Any) -> Vector:
        values = np.asarray(fetch(message), dtype=np.float64)
        if len(values) != width:
            raise IndexError(f"{len(values)} values instead of {width}")
        return values

    return fetch_vector


class _PathWalk:
    """Follows a path through one message and notes how to follow it through the next."""

    def __init__(self, path: Path, message: Any) -> None:
        self.path = path
        self.value = message
        self.place = Place(lambda root: root, "")
        self.name_indices: tuple[NameIndex, ...] = ()
        self.ends_in_element = False
        self._owners = [(message, self.place)]
        for number, step in enumerate(path.steps):
            if self.value is _ABSENT:
                return
            self.ends_in_element = number == len(path.steps) - 1
            so_far = unparse(Path(path.steps[:number])) if number else "the message"
            if isinstance(step, Member):
                self._member(step.name, so_far)
            else:
                self._bracket(step, so_far)

    def _member(self, name: str, so_far: str) -> None:
        if is_array(self.value):
            self._named(name, so_far)
            return
        if is_number(self.value) or isinstance(self.value, str):
            raise InputError(
                f"field path '{unparse(self.path)}': '{so_far}' is no message and has no '{name}'"
            )
        fields = fields_of(self.value)
        if not hasattr(self.value, name):
            where = "" if so_far == "the message" else f" in '{so_far}'"
            raise InputError(
                f"field path '{unparse(self.path)}': {type_name(self.value)} has no field"
                f" '{name}'{where}{did_you_mean(name, fields)}"
            )
        self.value = getattr(self.value, name)
        self.place = self.place.member(name)
        self._owners.append((self.value, self.place))

    def _named(self, name: str, so_far: str) -> None:
        for owner, place in reversed(self._owners):
            for attribute in NAME_LISTS:
                names = getattr(owner, attribute, None)
                if names is not None and is_array(names):
                    position = list(names).index(name) if name in names else len(names)
                    self.place = self.place.named(place.member(attribute), name)
                    assert self.place.index is not None
                    self.name_indices += (self.place.index,)
                    self._take(position)
                    self._owners.append((self.value, self.place))
                    return
        raise InputError(
            f"field path '{unparse(self.path)}': '{so_far}' is an array and the message has no"
            f" list of names beside it; pick an element by index, as in {so_far}[0]"
        )

    def _bracket(self, step: Element | Range, so_far: str) -> None:
        if not is_array(self.value):
            raise InputError(
                f"field path '{unparse(self.path)}': '{so_far}' is"
                f" {_described(self.value)}, not an array"
            )
        if isinstance(step, Range):
            chosen = slice(step.start, step.stop)
            outer = self.place.fetch
            self.place = Place(lambda message: outer(message)[chosen])
            self.value = self.value[chosen]
        else:
            self.place = self.place.element(step.index)
            self._take(step.index)
            self._owners.append((self.value, self.place))

    def _take(self, index: int) -> None:
        try:
            self.value = self.value[index]
        except IndexError:
            self.value = _ABSENT


def _described(value: Any) -> str:
    if is_number(value):
        return "a number"
    return "a text" if isinstance(value, str) else f"a message ({type_name(value)})"


def _not_numeric(path: Path, value: Any) -> str:
    text = unparse(path)
    if isinstance(value, str):
        return f"field path '{text}' is a text, not a number"
    if is_array(value):
        if isinstance(value[0], str):
            return f"field path '{text}' is an array of texts, not of numbers"
        fields = fields_of(value[0])
        return (
            f"field path '{text}' is an array of messages; pick an element and a field of it, as"
            f" in {text}[0].{fields[0] if fields else 'x'}"
        )
    choice = ", ".join(f"{text}.{name}" for name in fields_of(value)[:6])
    return f"field path '{text}' is a message ({type_name(value)}); pick a field of it: {choice}"


def _operand(function: Function, message: Any) -> BoundField | None:
    """Return what a function is applied to; None if this message does not tell enough."""
    if function.argument is None:
        return _whole_image(function, message)
    if function.entry.takes is Takes.QUATERNION:
        return _quaternion(function, message)
    return bind(function.argument, message)


def _whole_image(function: Function, message: Any) -> BoundField | None:
    try:
        function.entry.evaluation(function.numbers, None)(message)
    except IndexError:  # Damaged: the next one shows whether its encoding is known.
        return None
    except (AttributeError, TypeError) as problem:
        raise InputError(
            f"field path '{unparse(function)}': {type_name(message)} is no image ({problem})"
        ) from None
    return BoundField(function, None, lambda image: image)


def _quaternion(function: Function, message: Any) -> BoundField | None:
    assert isinstance(function.argument, Path)
    walked = _PathWalk(function.argument, message)
    if walked.value is _ABSENT:
        return None
    if not all(hasattr(walked.value, axis) for axis in "xyzw"):
        raise InputError(
            f"field path '{unparse(function)}': {function.name} takes a quaternion, but"
            f" '{unparse(function.argument)}' is {_described(walked.value)}"
        )
    return BoundField(function.argument, None, walked.place.fetch, None, walked.name_indices)


def _apply(function: Function, operand: BoundField) -> BoundField:
    entry, fetch = function.entry, operand.fetch
    evaluate = entry.evaluation(function.numbers, operand.width)
    memories = operand.memories
    if isinstance(evaluate, Memory):
        memories = (*memories, evaluate)
    width = operand.width
    if entry.shape is not None:
        shape = entry.shape(function.numbers)
        width = math.prod(shape) if shape else None
    return BoundField(
        function,
        width,
        lambda message: evaluate(fetch(message)),
        None,
        operand.name_indices,
        memories,
    )
