"""The fields of NamedTuples and dataclasses with their types, and their dotted names."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any, get_origin, get_type_hints


@cache
def fields_of(cls: Any) -> Mapping[str, Any] | None:
    """Return the fields of a NamedTuple or dataclass with their types; None for other types."""
    return _fields(cls, declared=False)


@cache
def declared_fields(cls: Any) -> Mapping[str, Any] | None:
    """Return what `fields_of` does, with what is declared of them, see `numerics.contents`."""
    return _fields(cls, declared=True)


def _fields(cls: Any, declared: bool) -> Mapping[str, Any] | None:
    if dataclasses.is_dataclass(cls):
        names = [field.name for field in dataclasses.fields(cls)]
    elif isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields"):
        names = list(cls._fields)
    else:
        return None
    hints = get_type_hints(cls, include_extras=declared)
    return {name: hints[name] for name in names}


def origin_of(hint: Any) -> Any:
    """Return the class that a type hint is about.

    Since NumPy 2.5 `numpy.typing.NDArray` is a named alias, of which one asks what it stands for.
    """
    while hasattr(hint, "__value__"):
        hint = hint.__value__
    return get_origin(hint) or hint


def join(name: str, part: object) -> str:
    """Return the dotted name of a part."""
    return f"{name}.{part}" if name else str(part)
