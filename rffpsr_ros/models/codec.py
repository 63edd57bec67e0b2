"""Trees of named parts as a JSON header and named arrays, and back.

A tree is made of NamedTuples and dataclasses. Their type hints say what stands in each field, in
writing as in reading, so a file names no class that could be imported:

    NamedTuple, dataclass    a mapping from field to what it holds
    A | B of such classes    {"A": ...}: the name of the one of them
    anything | None          null, or the thing
    tuple[X, ...], tuple[X, Y]   a list
    np.ndarray               "float64 (3, 2)" in the header; the numbers under the field's dotted
                             name, such as "parts.structure.conditioning"
    bool, int, float, str, Literal   themselves; "inf", "-inf" and "nan", which JSON lacks, as text
    Mapping[str, Any]        JSON types as they are; a number that is not finite is null
    a class with `stored_fields`   its kind beside its fields: of a nested model, say, which can be
                             of any kind
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    NamedTuple,
    NoReturn,
    Protocol,
    Union,
    get_args,
    get_origin,
)

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.models.contents_check import check_contents
from rffpsr_ros.numerics.npy_member import KINDS
from rffpsr_ros.numerics.typed_fields import fields_of, join, origin_of

_WORDS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class CodecError(ValueError):
    """Header and arrays are not those of the tree that is expected, or a tree cannot be written."""


class Encoded(NamedTuple):
    """A tree in the two forms that a model file holds."""

    header: Any
    """JSON types."""
    arrays: dict[str, NDArray[Any]]
    """By dotted name, in C order and little-endian."""


class OfKind(Protocol):
    """A class of which there are several kinds; a file holds the kind, never the class."""

    kind: ClassVar[str]

    @classmethod
    def stored_fields(cls) -> dict[str, Any]:
        """Return the types of the attributes that are kept, which the constructor takes again."""
        ...


def encode(hint: Any, tree: Any, check_kind: Callable[[str], None]) -> Encoded:
    """Return a tree of the type ``hint`` as header and arrays.

    ``check_kind`` refuses kinds that could not be read again.

    Raises
    ------
    CodecError
        If something in it is not what its type hint says.
    """
    writer = _Writer(check_kind)
    return Encoded(writer.header(hint, tree, ""), writer.arrays)


def decode(
    hint: Any,
    header: Any,
    arrays: Mapping[str, NDArray[Any]],
    class_of_kind: Callable[[str], type[Any]],
) -> Any:
    """Return the tree that `encode` wrote.

    ``class_of_kind`` knows the class of each kind; only subclasses of what the hints say are made.

    Raises
    ------
    CodecError
        If a name is missing, left over, or does not hold what the hints say.
    """
    reader = _Reader(dict(arrays), class_of_kind)
    tree = reader.rebuilt(hint, header, "")
    if reader.arrays:
        raise CodecError(f"array '{min(reader.arrays)}' is not part of it")
    return tree


class _Writer:
    """Writes the headers of trees, and collects their arrays."""

    def __init__(self, check_kind: Callable[[str], None]) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._check_kind = check_kind

    def header(self, hint: Any, value: Any, name: str) -> Any:
        """Return what the header says of a value."""
        hint = _bare(hint)
        origin = origin_of(hint)
        if origin in (Union, types.UnionType):
            return self._header_of_several(hint, value, name)
        if origin is np.ndarray:
            return self._header_of_array(value, name)
        if origin is Mapping:
            return _as_json(value)
        if origin is tuple:
            if not isinstance(value, tuple):
                _mismatch(name, value, hint)
            inner = _hints_of_entries(hint, len(value), name)
            pairs = enumerate(zip(inner, value, strict=True))
            return [self.header(one, entry, join(name, place)) for place, (one, entry) in pairs]
        if hasattr(origin, "stored_fields"):
            if not isinstance(value, origin):
                _mismatch(name, value, hint)
            self._check_kind(value.kind)
            return {"kind": value.kind} | self._header_of_fields(value.stored_fields(), value, name)
        if (fields := fields_of(origin)) is not None:
            if type(value) is not origin:
                _mismatch(name, value, hint)
            return self._header_of_fields(fields, value, name)
        return _header_of_scalar(hint, value, name)

    def _header_of_several(self, hint: Any, value: Any, name: str) -> Any:
        if value is None and type(None) in get_args(hint):
            return None
        alternatives = _alternatives(hint)
        if len(alternatives) == 1:
            return self.header(alternatives[0], value, name)
        if type(value) not in alternatives:
            _mismatch(name, value, hint)
        return {type(value).__name__: self.header(type(value), value, name)}

    def _header_of_array(self, value: Any, name: str) -> str:
        if not isinstance(value, np.ndarray | np.generic) or value.dtype.kind not in KINDS:
            _mismatch(name, value, "an array of numbers")
        plain = np.asarray(value, order="C")
        plain = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
        self.arrays[name] = plain
        return _description(plain)

    def _header_of_fields(self, fields: Mapping[str, Any], value: Any, name: str) -> dict[str, Any]:
        return {
            field: self.header(hint, getattr(value, field), join(name, field))
            for field, hint in fields.items()
        }


class _Reader:
    """Rebuilds trees, and takes out the arrays that it has used."""

    def __init__(
        self, arrays: dict[str, NDArray[Any]], class_of_kind: Callable[[str], type[Any]]
    ) -> None:
        self.arrays, self._class_of_kind = arrays, class_of_kind

    def rebuilt(self, hint: Any, stored: Any, name: str) -> Any:
        """Return the value that the header tells."""
        hint = _bare(hint)
        origin = origin_of(hint)
        if origin in (Union, types.UnionType):
            return self._one_of_several(hint, stored, name)
        if origin is np.ndarray:
            return self._array(stored, name)
        if origin is Mapping:
            return _expect(stored, dict, name)
        if origin is tuple:
            entries = _expect(stored, list, name)
            inner = _hints_of_entries(hint, len(entries), name)
            paired = enumerate(zip(inner, entries, strict=True))
            return tuple(self.rebuilt(one, e, join(name, place)) for place, (one, e) in paired)
        if hasattr(origin, "stored_fields"):
            return self._of_kind(origin, stored, name)
        if (fields := fields_of(origin)) is not None:
            return origin(**self._fields(fields, stored, name))
        return _scalar(hint, stored, name)

    def _one_of_several(self, hint: Any, stored: Any, name: str) -> Any:
        if stored is None and type(None) in get_args(hint):
            return None
        alternatives = _alternatives(hint)
        if len(alternatives) == 1:
            return self.rebuilt(alternatives[0], stored, name)
        known = {alternative.__name__: alternative for alternative in alternatives}
        tag = next(iter(_expect(stored, dict, name)), None)
        if len(stored) != 1 or tag not in known:
            _mismatch(name, stored, f"one of {', '.join(known)}")
        return self.rebuilt(known[tag], stored[tag], name)

    def _array(self, stored: Any, name: str) -> NDArray[Any]:
        if name not in self.arrays:
            raise CodecError(f"array '{name}' is missing")
        array = self.arrays.pop(name)
        if array.dtype.kind not in KINDS or stored != _description(array):
            raise CodecError(f"array '{name}' is {_description(array)}, not {stored}")
        return array

    def _of_kind(self, base: type[Any], stored: Any, name: str) -> Any:
        stored = dict(_expect(stored, dict, name))
        kind = stored.pop("kind", None)
        found = self._class_of_kind(str(kind))
        if not issubclass(found, base):
            _mismatch(name, kind, base)
        hints = found.stored_fields()
        fields = self._fields(hints, stored, name)
        check_contents(hints, fields, name)  # before anything is computed from them
        return found(**fields)

    def _fields(self, fields: Mapping[str, Any], stored: Any, name: str) -> dict[str, Any]:
        if _expect(stored, dict, name).keys() != fields.keys():
            odd = min(stored.keys() ^ fields.keys())
            what = "is not part of it" if odd in stored else "is missing"
            raise CodecError(f"'{join(name, odd)}' {what}")
        return {
            field: self.rebuilt(hint, stored[field], join(name, field))
            for field, hint in fields.items()
        }


def _bare(hint: Any) -> Any:
    """Return a type hint without what is declared of it."""
    return hint.__origin__ if get_origin(hint) is Annotated else hint


def _alternatives(hint: Any) -> list[Any]:
    """Return what else but None a union allows: one type, or classes that are written by name."""
    others = [other for other in get_args(hint) if other is not type(None)]
    if len(others) > 1 and any(fields_of(other) is None for other in others):
        raise TypeError(f"{hint} is no union of NamedTuples")
    return others


def _hints_of_entries(hint: Any, count: int, name: str) -> list[Any]:
    inner = get_args(hint)
    if inner[-1:] == (Ellipsis,):
        return [inner[0]] * count
    if len(inner) != count:
        raise CodecError(f"'{name}' has {count} entries, not {len(inner)}")
    return list(inner)


def _header_of_scalar(hint: Any, value: Any, name: str) -> Any:
    """Return a truth value, number or text in JSON types."""
    if isinstance(value, np.bool_ | np.integer | np.floating):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        value = str(value)
    _scalar(hint, value, name)
    return value


def _scalar(hint: Any, stored: Any, name: str) -> Any:
    """Return the truth value, number or text that the header tells."""
    if get_origin(hint) is Literal and isinstance(stored, str) and stored in get_args(hint):
        return stored
    if hint is float and isinstance(stored, str) and stored in _WORDS:
        return _WORDS[stored]
    if hint is float and isinstance(stored, int | float) and not isinstance(stored, bool):
        return float(stored)
    if hint in (bool, int, str) and type(stored) is hint:
        return stored
    _mismatch(name, stored, hint)


def _as_json(value: Any) -> Any:
    """Return ``value`` in JSON types; a number that is not finite, which JSON lacks, is null."""
    if isinstance(value, Mapping):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _as_json(value.tolist())
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _description(array: NDArray[Any]) -> str:
    return f"{array.dtype.name} {array.shape}"


def _expect(stored: Any, expected: type[Any], name: str) -> Any:
    if not isinstance(stored, expected):
        _mismatch(name, stored, expected)
    return stored


def _mismatch(name: str, value: Any, expected: Any) -> NoReturn:
    wanted = expected if isinstance(expected, str) else getattr(expected, "__name__", expected)
    shown = repr(value)
    shown = shown if len(shown) <= 40 else type(value).__name__
    raise CodecError(f"'{name}' is {shown}, not {wanted}")
