"""Messages to vectors: the fields of a channel, resolved for every message of its topic.

The grammar is that of `rffpsr_ros.signals.fields.grammar`::

    angular_velocity.z        a number
    data[3]  data[-1]         an element
    data[0:3]  ranges         a range, a whole array
    position.elbow            the element of an array named 'elbow' in the message's list of names
    position['left elbow']    the same for a name that is no plain word
    sin(...)                  one of `rffpsr_ros.signals.fields.functions`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals.fields.binding import BoundField, bind
from rffpsr_ros.signals.fields.grammar import Expression, Function, column_names, parse_field
from rffpsr_ros.signals.fields.places import NameIndex, type_name

Vector = NDArray[np.float64]


class FieldResolver:
    """The values of several field paths of one message, as one vector.

    Widths and access paths are learned from the first message that shows them; after that a
    message costs a few microseconds. A value missing in a message (a joint not in it, an array
    too short or of another length, an orientation of all zeros) is NaN.
    """

    def __init__(self, fields: Sequence[str], where: str = "") -> None:
        self.expressions: tuple[Expression, ...] = tuple(parse_field(text) for text in fields)
        self.stateful = any(_is_stateful(expression) for expression in self.expressions)
        """Whether values depend on earlier messages, so that none may be left out."""
        self._where = f"{where}: " if where else ""
        self._bound: list[BoundField] | None = None
        self._fetch: Callable[[Any], Vector] | None = None
        self._width = 0

    @property
    def width(self) -> int | None:
        """Number of values; None until a message has shown it."""
        return None if self._bound is None else self._width

    @property
    def column_names(self) -> tuple[str, ...]:
        """One name per value; empty until a message has shown the widths."""
        return tuple(
            name
            for field in self._bound or ()
            for name in column_names(field.expression, field.width)
        )

    @property
    def columns_per_field(self) -> tuple[int, ...]:
        """Number of values of each field; empty until a message has shown the widths."""
        return tuple(field.columns for field in self._bound or ())

    @property
    def names_never_found(self) -> tuple[NameIndex, ...]:
        """The names (of joints) that no message so far contained."""
        indices = [index for field in self._bound or () for index in field.name_indices]
        return tuple(index for index in indices if not index.found)

    def reset(self) -> None:
        """Forget what functions such as `unwrap` remember of earlier messages."""
        for field in self._bound or ():
            for memory in field.memories:
                memory.reset()

    def unbind(self) -> None:
        """Forget the widths: the next message that shows them settles them."""
        self._bound = None
        self._fetch = None
        self._width = 0

    def resolve(self, message: Any) -> Vector | None:
        """Return the values (width,) of a message; None while the width is unknown.

        Raises
        ------
        InputError
            If the message has no such field, or it is not numeric.
        """
        if self._fetch is None and not self._bind(message):
            return None
        assert self._fetch is not None
        try:
            return self._fetch(message)
        except (IndexError, ValueError, AttributeError, TypeError):
            return self._resolve_with_gaps(message)

    def _bind(self, message: Any) -> bool:
        if message is None:
            return False
        bound = []
        for expression in self.expressions:
            try:
                field = bind(expression, message)
            except InputError as problem:
                raise InputError(f"{self._where}{problem}") from None
            if field is None:
                return False
            bound.append(field)
        self._bound = bound
        self._width = sum(field.columns for field in bound)
        self._fetch = _compile(bound, self._width)
        return True

    def _resolve_with_gaps(self, message: Any) -> Vector:
        values = np.full(self._width, np.nan)
        start = 0
        for field in self._bound or ():
            stop = start + field.columns
            try:
                values[start:stop] = field.fetch(message)
            except (IndexError, ValueError):
                pass  # Missing in this message.
            except (AttributeError, TypeError):
                if message is not None:
                    raise InputError(
                        f"{self._where}a message of another type than the first one arrived:"
                        f" {type_name(message)}"
                    ) from None
            start = stop
        return values


def _is_stateful(expression: Expression) -> bool:
    if not isinstance(expression, Function):
        return False
    if expression.entry.remembers(expression.numbers):
        return True
    return expression.argument is not None and _is_stateful(expression.argument)


def _compile(bound: list[BoundField], width: int) -> Callable[[Any], Vector]:
    """Return one function for all fields, with the common simple cases made fast."""
    attributes = [field.place.attributes for field in bound if field.place is not None]
    if len(attributes) == len(bound) and all(attributes):
        return _attributes(attrgetter(*map(str, attributes)), width)
    pieces = _pieces(bound)
    if len(pieces) == 1:
        only = pieces[0][2]
        return lambda message: np.array(only(message), dtype=np.float64, ndmin=1)

    def fetch(message: Any) -> Vector:
        values = np.empty(width)
        for start, stop, piece in pieces:
            values[start:stop] = piece(message)
        return values

    return fetch


def _attributes(getter: Callable[[Any], Any], width: int) -> Callable[[Any], Vector]:
    if width == 1:
        return lambda message: np.array((getter(message),), dtype=np.float64)
    return lambda message: np.array(getter(message), dtype=np.float64)


def _pieces(bound: list[BoundField]) -> list[tuple[int, int, Callable[[Any], Any]]]:
    """Return (start, stop, fetch); neighbours named in one array share one look-up."""
    pieces: list[tuple[int, int, Callable[[Any], Any]]] = []
    start = 0
    while bound:
        count = 1
        first = bound[0].place
        if first is not None and first.array is not None and first.array.attributes:
            while count < len(bound) and _same_array(bound[0], bound[count]):
                count += 1
        fetch = bound[0].fetch if count == 1 else _gather(bound[:count])
        stop = start + sum(field.columns for field in bound[:count])
        pieces.append((start, stop, fetch))
        start, bound = stop, bound[count:]
    return pieces


def _same_array(one: BoundField, other: BoundField) -> bool:
    return (
        one.place is not None
        and other.place is not None
        and one.place.array is not None
        and other.place.array is not None
        and one.place.array.attributes == other.place.array.attributes
    )


def _gather(fields: list[BoundField]) -> Callable[[Any], Vector]:
    """Return a fetch of several named elements of one array."""
    places = [field.place for field in fields if field.place is not None]
    assert places[0].array is not None
    assert places[0].names is not None
    fetch_array, fetch_names = places[0].array.fetch, places[0].names
    indices = [place.index for place in places if place.index is not None]
    seen: Any = None
    positions = np.empty(0, dtype=np.intp)

    def fetch(message: Any) -> Vector:
        nonlocal seen, positions
        names = fetch_names(message)
        if names != seen:
            # On failure `seen` stays, so that every such message takes the path with gaps.
            positions = np.array([index(names) for index in indices], dtype=np.intp)
            seen = list(names)
        result: Vector = np.asarray(fetch_array(message), dtype=np.float64)[positions]
        return result

    return fetch
