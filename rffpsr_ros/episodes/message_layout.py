"""Messages of one topic are laid out alike: their numbers are read off where those before had them.

What a library decodes it decodes whole, every name of every joint, though all that changes from
message to message is numbers, of which a channel asks for few. A layout says where the numbers
stand. It holds for every message that has the same texts and lengths of arrays, byte by byte.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from rosbags.interfaces import Nodetype
from rosbags.typesys.store import Typestore

Decode = Callable[[Any], Any]

MOST_MISSES = 100
"""A topic whose messages were unlike the one before so many times is looked at no longer."""
MOST_TEXTS = 1000
"""Nor are messages with more texts and lengths than these."""

TYPE = "__msgtype__"
"""Under what name a message tells its type, as those of rosbags do."""

ENCODING = b"\0\1"  # CDR, little-endian; two bytes of options follow
START = 4
"""Where a message begins; from there on numbers are aligned to their size."""

NUMBERS = {
    **{"bool": "?", "char": "u1", "float32": "f4", "float64": "f8"},
    **{f"int{8 * size}": f"i{size}" for size in (1, 2, 4, 8)},
    **{f"uint{8 * size}": f"u{size}" for size in (1, 2, 4, 8)},
}
"""numpy's name of every kind of number; a byte is none, and libraries do not agree what it is."""


class Numbers(NamedTuple):
    """Where some numbers stand in a message's bytes; ``size`` is None for a number by itself."""

    start: int
    kind: np.dtype[Any]
    size: int | None


class Layout:
    """The parts of a message by their names, and what it shares with all that are laid out so.

    A part is a text or a list of texts, `Numbers`, a mapping of parts or a list of such.
    """

    def __init__(self, parts: Mapping[str, Any], fixed: list[slice], data: bytes) -> None:
        """Take the parts, and where in the bytes of a message its texts and lengths stand."""
        self.parts = parts
        self._size = len(data)
        stops = [0, *(one.stop for one in fixed)]
        gaps = [one.start - before for one, before in zip(fixed, stops, strict=False)]
        spans = (f"{gap}x{one.stop - one.start}s" for gap, one in zip(gaps, fixed, strict=True))
        self._read = struct.Struct("=" + "".join(spans)).unpack_from
        self._fixed = self._read(data)

    def fits(self, data: bytes) -> bool:
        """Tell whether a message is laid out so."""
        return len(data) == self._size and self._read(data) == self._fixed


class LazyMessage:
    """A message whose fields are read off its bytes as they are asked for."""

    __slots__ = ("_data", "_parts")

    def __init__(self, parts: Mapping[str, Any], data: bytes) -> None:
        self._parts = parts
        self._data = data

    def __getattr__(self, name: str) -> Any:
        """Return a field."""
        try:
            part = self._parts[name]
        except KeyError:
            raise AttributeError(name) from None
        return _read(part, self._data)

    def get_fields_and_field_types(self) -> Mapping[str, Any]:
        """Return the fields by their names, as messages of rclpy do."""
        return {name: part for name, part in self._parts.items() if name != TYPE}


def _read(part: Any, data: bytes) -> Any:
    if isinstance(part, Numbers):
        start, kind, size = part
        if size is None:
            return np.frombuffer(data, kind, 1, start).item()
        return np.frombuffer(data, kind, size, start)
    if isinstance(part, dict):
        return LazyMessage(part, data)
    if isinstance(part, list) and part and isinstance(part[0], dict):
        return [LazyMessage(one, data) for one in part]
    return part


class QuickDecode:
    """Decodes messages of a type; one that is laid out as the last, by looking at its numbers only.

    Parameters
    ----------
    decode
        What decodes bytes, and returns None for damaged ones: it has the say on every new layout.
    store
        Holds the definition of the type.
    """

    def __init__(self, decode: Decode, store: Typestore, type_name: str) -> None:
        self._decode = decode
        self._store, self._type = store, type_name
        self._layout: Layout | None = None
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


def layout_of(data: bytes, store: Typestore, type_name: str) -> Layout | None:
    """Return how an undamaged message is laid out; None if that takes a library to tell."""
    walk = _Walk(data, store)
    try:
        parts = walk.message(type_name)
    except (_NotForUs, KeyError, ValueError, struct.error):
        return None
    fits = data[:2] == ENCODING and len(walk.fixed) <= MOST_TEXTS and walk.place <= len(data)
    return Layout(parts, walk.fixed, bytes(data)) if fits else None


class _NotForUs(Exception):
    """Something that is not read here, such as a wide text."""


class _Walk:
    """Goes through a message and takes note of what stands where."""

    def __init__(self, data: bytes, store: Typestore) -> None:
        self.place = START
        self.fixed = [slice(0, START)]
        self._data = data
        self._store = store

    def message(self, type_name: str) -> dict[str, Any]:
        """Return the parts of the message that begins here, and pass it."""
        fields = self._store.fielddefs[type_name][1]
        return {TYPE: type_name, **{name: self._part(*kind) for name, kind in fields}}

    def _part(self, node: Nodetype, detail: Any) -> Any:
        if node == Nodetype.NAME:
            return self.message(detail)
        if node == Nodetype.BASE:
            return self._text() if detail[0] == "string" else self._numbers(detail[0], None)
        (inner_node, inner), count = detail
        if node == Nodetype.SEQUENCE:
            count = self._length()
        if inner_node == Nodetype.BASE and inner[0] != "string":
            return self._numbers(inner[0], count)
        if len(self.fixed) + count > MOST_TEXTS:
            raise _NotForUs
        return [self._part(inner_node, inner) for _ in range(count)]

    def _numbers(self, kind: str, count: int | None) -> Numbers:
        if kind not in NUMBERS:
            raise _NotForUs
        number = np.dtype(NUMBERS[kind]).newbyteorder("<")
        if count != 0:
            self._align(number.itemsize)
        found = Numbers(self.place, number, count)
        self.place += number.itemsize * (1 if count is None else count)
        return found

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
        """Pass bytes that no message laid out so may have otherwise."""
        if self.fixed[-1].stop == self.place:
            self.fixed[-1] = slice(self.fixed[-1].start, self.place + size)
        else:
            self.fixed.append(slice(self.place, self.place + size))
        self.place += size

    def _align(self, size: int) -> None:
        self.place += -(self.place - START) % size
