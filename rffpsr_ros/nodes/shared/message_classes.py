"""The message classes of the running ROS: by name, from keywords, and as definitions for bags.

Only definitions need rosbags, which is imported where they are made: a filter runs without it.
"""

from __future__ import annotations

import array
import importlib
import re
from collections.abc import Iterable
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from rclpy.serialization import deserialize_message

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals.channel import normalise_type
from rffpsr_ros.signals.tracks import Decode

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

_SEQUENCE = re.compile(r"sequence<(.+?)(?:, *(\d+))?>\Z")
_ARRAY = re.compile(r"(.+)\[(\d+)\]\Z")
_BOUNDED = re.compile(r"(w?string)<(\d+)>\Z")
_PRIMITIVES = {
    "boolean": "bool",
    "octet": "byte",
    "float": "float32",
    "double": "float64",
    "long double": "float64",
}


@cache
def message_class(type_name: str) -> Any:
    """Return the class of ``package/msg/Name``.

    Raises
    ------
    InputError
        If the running ROS does not know it.
    """
    normal = normalise_type(type_name)
    package, name = (normal or "/msg/").split("/msg/")
    try:
        return getattr(importlib.import_module(f"{package}.msg"), name)
    except (ImportError, AttributeError, ValueError):
        raise InputError(
            f"message type '{type_name}' is not installed here; source the workspace of"
            f" {package or 'its package'}"
        ) from None


def make(type_name: str, **fields: Any) -> Any:
    """Return a message with these fields; number arrays may be float64 numpy arrays."""
    plain = {
        name: array.array("d", value.tobytes()) if isinstance(value, np.ndarray) else value
        for name, value in fields.items()
    }
    return message_class(type_name)(**plain)


def has_header_first(type_name: str) -> bool | None:
    """Tell whether a message begins with its header; None if it has none."""
    fields = message_class(type_name).get_fields_and_field_types()
    if fields.get("header") != "std_msgs/Header":
        return None
    return bool(next(iter(fields)) == "header")


def decoder(type_name: str, direct: bool) -> Decode:
    """Return a function from bytes to a message; it returns None for damaged bytes.

    It is rclpy's own, or, if ``direct`` and rosbags is installed, the one that bags are read with.

    Raises
    ------
    InputError
        If the running ROS does not know the type.
    """
    if not direct:
        return partial(_decoded, message_class(type_name))
    try:
        from rffpsr_ros.recordings.bags import message_types

        return message_types.decoder(typestore_of([type_name]), type_name, "cdr")
    except (KeyError, ModuleNotFoundError):  # It knows no wide texts; or there is no rosbags.
        return partial(_decoded, message_class(type_name))


def _decoded(kind: Any, data: bytes) -> Any:
    try:
        return deserialize_message(data, kind)
    except Exception:  # Damaged bytes fail in many ways.
        return None


def typestore_of(types: Iterable[str]) -> Typestore:
    """Return the definitions of types, and of all they are made of, as the running ROS has them."""
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.EMPTY)
    waiting, definitions = list(types), {}
    while waiting:
        name = waiting.pop()
        if name in store.fielddefs or name in definitions:
            continue
        lines = []
        for field, kind in message_class(name).get_fields_and_field_types().items():
            text, inner = _as_definition(kind)
            lines.append(f"{text} {field}")
            waiting += inner
        definitions.update(get_types_from_msg("\n".join(lines), name))
    store.register(definitions)
    return store


def _as_definition(kind: str) -> tuple[str, list[str]]:
    """Return a field's type as a .msg file writes it, and the message types in it."""
    if match := _SEQUENCE.match(kind):
        text, inner = _as_definition(match[1])
        return f"{text}[{'<=' + match[2] if match[2] else ''}]", inner
    if match := _ARRAY.match(kind):
        text, inner = _as_definition(match[1])
        return f"{text}[{match[2]}]", inner
    if match := _BOUNDED.match(kind):
        return f"{match[1]}<={match[2]}", []
    if "/" in kind:
        package, name = kind.split("/")[0], kind.split("/")[-1]
        return f"{package}/{name}", [f"{package}/msg/{name}"]
    return _PRIMITIVES.get(kind, kind), []
