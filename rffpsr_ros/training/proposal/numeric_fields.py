"""The numeric fields of a message, as the field paths by which a configuration names them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from rffpsr_ros.signals.fields.places import (
    NAME_LISTS,
    fields_of,
    is_array,
    is_number,
    type_name,
)

LONGEST_LISTED = 16
"""Longer arrays are listed as one range, not element by element."""

_WORD = re.compile(r"[A-Za-z_][\w/-]*\Z", re.ASCII)
_IMAGES = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage")
_DEEPEST = 6


def numeric_fields(message: Any) -> Iterator[str]:
    """Yield the paths of all numeric fields of a message, in its own order.

    A quaternion stands as its yaw, a covariance is left out, and so is the header.
    """
    if type_name(message) in _IMAGES:
        yield "image(32x32)"
        return
    yield from _of_message(message, "", 0)


def _of_message(message: Any, prefix: str, depth: int) -> Iterator[str]:
    names = _element_names(message)
    for name in fields_of(message):
        if name == "header" or "covariance" in name:
            continue
        value, path = getattr(message, name, None), prefix + name
        if is_number(value):
            yield path
        elif is_array(value):
            yield from _of_array(value, path, names)
        elif value is not None and not isinstance(value, str) and depth < _DEEPEST:
            if set(fields_of(value)) >= set("xyzw"):
                yield f"yaw({path})"
            else:
                yield from _of_message(value, path + ".", depth + 1)


def _element_names(message: Any) -> list[str]:
    """Return the names of the elements of arrays in a message, as JointState has them."""
    for name in NAME_LISTS:
        names = getattr(message, name, None)
        if names is not None and is_array(names) and all(isinstance(n, str) for n in names):
            return list(names)
    return []


def element_path(array: str, name: str) -> str:
    """Return the path of an array's element that has a name; empty if none can be written."""
    if _WORD.match(name):
        return f"{array}.{name}"
    return f"{array}['{name}']" if name and "'" not in name else ""


def _of_array(values: Any, path: str, names: list[str]) -> Iterator[str]:
    if not len(values) or not is_number(values[0]):
        return
    if len(names) == len(values):
        yield from (found for name in names if (found := element_path(path, name)))
    elif len(values) <= LONGEST_LISTED:
        yield from (f"{path}[{i}]" for i in range(len(values)))
    else:
        yield f"{path}[0:{len(values)}]"
