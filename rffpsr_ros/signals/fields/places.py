"""Places inside messages: what kinds of values there are and how to fetch one from each message.

Only attributes, indices and lengths are used, so messages of rclpy and of rosbags serve alike.
"""

from __future__ import annotations

import array
import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

Fetch = Callable[[Any], Any]

NAME_LISTS = ("name", "names", "joint_names", "interface_names")
"""Fields that name the elements of arrays parallel to them."""


def is_number(value: Any) -> bool:
    """Tell whether a value is numeric (booleans count)."""
    return isinstance(value, (int, float, np.number, np.bool_))


def is_array(value: Any) -> bool:
    """Tell whether a value is an array field of a message."""
    return isinstance(value, (list, tuple, np.ndarray, array.array, bytes, bytearray))


def fields_of(message: Any) -> list[str]:
    """Return the names of a message's fields."""
    if hasattr(message, "get_fields_and_field_types"):
        return list(message.get_fields_and_field_types())
    if dataclasses.is_dataclass(message):
        names = [field.name for field in dataclasses.fields(message)]
        return [name for name in names if not name.startswith("__")]  # rosbags keeps the type there
    return list(vars(message)) if hasattr(message, "__dict__") else []


def type_name(message: Any) -> str:
    """Return a message's type name for messages to the user."""
    return str(getattr(message, "__msgtype__", type(message).__name__))


class NameIndex:
    """Where a name stands in the list of names of a message; looked up anew only if it changes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.found = False
        self.seen: Sequence[str] = ()
        self._index = -1

    def __call__(self, names: Any) -> int:
        """Return the index; IndexError if the name is not there."""
        if names != self.seen:
            self.seen = list(names)
            self._index = self.seen.index(self.name) if self.name in self.seen else -1
            self.found = self.found or self._index >= 0
        if self._index < 0:
            raise IndexError(self.name)
        return self._index


@dataclasses.dataclass
class Place:
    """A place in every message of a type: how to fetch it, and as an attribute path if it is one.

    ``array``, ``names`` and ``index`` are set where the last step picks by name from an array.
    """

    fetch: Fetch
    attributes: str | None = None
    array: Place | None = None
    names: Fetch | None = None
    index: NameIndex | None = None

    def member(self, name: str) -> Place:
        """Return the place of a message's field."""
        if self.attributes is not None:
            path = f"{self.attributes}.{name}" if self.attributes else name
            return Place(attrgetter(path), path)
        outer = self.fetch
        return Place(lambda message: getattr(outer(message), name))

    def element(self, index: int) -> Place:
        """Return the place of an array's element."""
        outer = self.fetch
        return Place(lambda message: outer(message)[index])

    def named(self, names: Place, name: str) -> Place:
        """Return the place of the element whose name stands at the same index in a list."""
        outer, fetch_names, index = self.fetch, names.fetch, NameIndex(name)
        return Place(
            lambda message: outer(message)[index(fetch_names(message))],
            array=self,
            names=fetch_names,
            index=index,
        )
