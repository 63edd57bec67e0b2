"""The layout of a topic's messages: where in the bytes each number stands.

A library decodes a message whole, every name of every joint, though only numbers change from
message to message, of which a channel needs a few. A layout is valid for every message that has
the same texts and lengths of arrays, byte by byte: of these, fields are read at their place.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys.store import Typestore

from rffpsr_ros.signals.tracks import Decode

MOST_MISSES = 100
"""After so many messages with another layout than the one before, no more layouts are made."""
FEWEST_TEXTS, MOST_TEXTS = 4, 1000
"""Stretches of texts and lengths that a message with a layout has: with fewer, decoding takes as
little time as reading fields."""

TYPE = "__msgtype__"
"""The attribute that holds a message's type, as in messages of rosbags."""

ENCODING = b"\0\1"  # CDR, little-endian; two bytes of options follow
START = 4
"""Where a message begins; from there on numbers are aligned to their size."""

NUMBERS = {
    **{"bool": "?", "char": "B", "float32": "f", "float64": "d"},
    **{"int8": "b", "int16": "h", "int32": "i", "int64": "q"},
    **{"uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q"},
}
"""Codes of all kinds of numbers, which `struct` and numpy share. The type byte is not among them:
libraries read it differently."""

Part = Callable[[bytes], Any]
"""A field of a message of one layout: from the message's bytes to its value."""


class MessageLayout:
    """The parts of a message by name, and the bytes that all messages of the layout share."""

    def __init__(self, parts: Mapping[str, Part], fixed: list[slice], data: bytes) -> None:
        """Take the parts, and where in the bytes of a message its texts and lengths stand."""
        self.parts = parts
        self._size = len(data)
        stops = [0, *(one.stop for one in fixed)]
        gaps = [one.start - before for one, before in zip(fixed, stops, strict=False)]
        spans = (f"{gap}x{one.stop - one.start}s" for gap, one in zip(gaps, fixed, strict=True))
        self._read = struct.Struct("=" + "".join(spans)).unpack_from
        self._fixed = self._read(data)

    def fits(self, data: bytes) -> bool:
        """Tell whether a message has this layout."""
        return len(data) == self._size and self._read(data) == self._fixed


class LazyMessage:
    """A message whose fields are read from its bytes when they are used."""

    __slots__ = ("_data", "_parts")

    def __init__(self, parts: Mapping[str, Part], data: bytes) -> None:
        self._parts = parts
        self._data = data

    def __getattr__(self, name: str) -> Any:
        """Return a field."""
        try:
            part = self._parts[name]
        except KeyError:
            raise AttributeError(name) from None
        return part(self._data)

    def get_fields_and_field_types(self) -> Mapping[str, Part]:
        """Return the fields by their names, as messages of rclpy do."""
        return {name: part for name, part in self._parts.items() if name != TYPE}


def _constant(value: Any) -> Part:
    return lambda data: value


def _number(code: str, start: int) -> Part:
    unpack = struct.Struct("<" + code).unpack_from
    return lambda data: unpack(data, start)[0]


def _numbers(code: str, start: int, size: int) -> Part:
    kind = np.dtype("<" + code)
    return lambda data: np.frombuffer(data, kind, size, start)


def _message(parts: Mapping[str, Part]) -> Part:
    return lambda data: LazyMessage(parts, data)


def _list(parts: Sequence[Part]) -> Part:
    return lambda data: [part(data) for part in parts]


class QuickDecode:
    """Decodes messages of a type; one with the layout of the last, by reading its numbers only.

    Parameters
    ----------
    decode
        Decodes bytes, and returns None for damaged ones; every message with a new layout passes it.
    store
        Holds the definition of the type.
    """

    def __init__(self, decode: Decode, store: Typestore, type_name: str) -> None:
        self._decode = decode
        self._store, self._type = store, type_name
        self._layout: MessageLayout | None = None
        self._misses = 0

    def __call__(self, data: bytes) -> Any:
        """Return the message; None if it is damaged."""
        layout = self._layout
        if layout is not None and layout.fits(data):
            return LazyMessage(layout.parts, data)
        message = self._decode(data)
        if message is not None and self._misses < MOST_MISSES:
            self._misses += 1
            self._layout = layout_of(data, self._store, self._type)
        return message


def layout_of(data: bytes, store: Typestore, type_name: str) -> MessageLayout | None:
    """Return the layout of an undamaged message; None if only a library can read such messages."""
    walk = _Walk(data, store)
    try:
        parts = walk.message(type_name)
    except (_NotReadHere, KeyError, ValueError, struct.error):
        return None
    if data[:2] != ENCODING or walk.place > len(data):
        return None
    worth = FEWEST_TEXTS <= len(walk.fixed) <= MOST_TEXTS
    return MessageLayout(parts, walk.fixed, bytes(data)) if worth else None


class _NotReadHere(Exception):
    """Something that is not read here, such as a wide text."""


class _Walk:
    """Goes through a message and takes note of what stands where."""

    def __init__(self, data: bytes, store: Typestore) -> None:
        self.place = START
        self.fixed = [slice(0, START)]
        self._data = data
        self._store = store

    def message(self, type_name: str) -> dict[str, Part]:
        """Return the parts of the message that begins here, and pass it."""
        fields = self._store.fielddefs[type_name][1]
        parts = {name: self._part(*kind) for name, kind in fields}
        return {TYPE: _constant(type_name), **parts}

    def _part(self, node: Nodetype, detail: Any) -> Part:
        if node == Nodetype.NAME:
            return _message(self.message(detail))
        if node == Nodetype.BASE:
            return self._one(detail[0])
        (inner_node, inner), count = detail
        if node == Nodetype.SEQUENCE:
            count = self._length()
        if inner_node == Nodetype.BASE and inner[0] != "string":
            return self._many(inner[0], count)
        if len(self.fixed) + count > MOST_TEXTS:
            raise _NotReadHere
        if inner_node == Nodetype.BASE:
            return _constant([self._text() for _ in range(count)])
        return _list([self._part(inner_node, inner) for _ in range(count)])

    def _one(self, kind: str) -> Part:
        if kind == "string":
            return _constant(self._text())
        return _number(_code(kind), self._pass(_code(kind), 1))

    def _many(self, kind: str, count: int) -> Part:
        return _numbers(_code(kind), self._pass(_code(kind), count), count)

    def _pass(self, code: str, count: int) -> int:
        """Pass so many numbers; return where the first one stands."""
        size = struct.calcsize("<" + code)
        if count:
            self._align(size)
        start = self.place
        self.place += size * count
        return start

    def _text(self) -> str:
        length = self._length()
        text = self._data[self.place : self.place + max(length - 1, 0)]
        self._fix(length)
        return bytes(text).decode()

    def _length(self) -> int:
        self._align(4)
        length: int = struct.unpack_from("<I", self._data, self.place)[0]
        self._fix(4)
        return length

    def _fix(self, size: int) -> None:
        """Pass bytes that all messages of the layout share."""
        if self.fixed[-1].stop == self.place:
            self.fixed[-1] = slice(self.fixed[-1].start, self.place + size)
        else:
            self.fixed.append(slice(self.place, self.place + size))
        self.place += size

    def _align(self, size: int) -> None:
        self.place += -(self.place - START) % size


def _code(kind: str) -> str:
    if kind not in NUMBERS:
        raise _NotReadHere
    return NUMBERS[kind]
