"""The plain keys and values of a configuration file, checked; an error says which key is wrong."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rffpsr_ros.errors import InputError, did_you_mean


class Checker:
    """Turns plain values into checked ones; every error says which key of which source."""

    def __init__(self, source: str) -> None:
        self.source = source

    def error(self, key: str, value: object, right: str) -> InputError:
        """Return the error of a value; ``right`` says what it must be."""
        shown = repr(value)
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        return InputError(f"'{key}' is {shown} in {self.source}; it must be {right}")

    def mapping(self, value: object, key: str) -> dict[str, Any]:
        """Return a mapping with its keys as texts; ``key`` is empty for the whole file."""
        if not isinstance(value, Mapping):
            if not key:
                raise InputError(f"{self.source} holds no mapping of keys to values")
            raise self.error(key, value, "a mapping of keys to values")
        return {str(name): entry for name, entry in value.items()}

    def known_keys(self, mapping: Mapping[str, Any], known: Sequence[str], path: str) -> None:
        """Refuse a key that is not known; the keys stand under ``path`` (``observation.imu.``)."""
        for key in mapping:
            if key not in known:
                raise InputError(
                    f"unknown key '{path}{key}' in {self.source}{did_you_mean(key, known, path)}"
                )

    def number(self, value: object, key: str, right: str) -> float:
        """Return a finite number."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(key, value, right)
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.error(key, value, right)
        return number

    def positive(self, mapping: Mapping[str, Any], key: str, path: str, unit: str) -> float:
        """Return the positive number of some unit that stands under a key."""
        if key not in mapping:
            raise InputError(
                f"'{path}{key}' is missing in {self.source}; it must be a positive number of {unit}"
            )
        right = f"a positive number of {unit}"
        number = self.number(mapping[key], path + key, right)
        # Beyond these bounds a tick is shorter than a nanosecond or longer than thirty years.
        if not 1e-9 <= number <= 1e9:
            raise self.error(path + key, mapping[key], right)
        return number

    def strings(self, value: object, key: str, right: str) -> tuple[str, ...]:
        """Return a list of texts, or the one text that stands in its place."""
        if isinstance(value, str):
            value = [value]
        if not isinstance(value, (list, tuple)) or not all(isinstance(v, str) for v in value):
            raise self.error(key, value, right)
        return tuple(value)

    def options(self, top: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Return a group of options in JSON types; empty if it is not there."""
        if key not in top or top[key] is None:
            return {}
        plain = _plain(self.mapping(top[key], key), 0)
        if plain is _NOT_PLAIN:
            raise self.error(key, top[key], "plain keys, numbers, texts and lists")
        return dict(plain)


_NOT_PLAIN: Any = object()


def _plain(value: Any, depth: int) -> Any:
    """Return a value in JSON types, `_NOT_PLAIN` if it cannot be expressed in them."""
    if depth > 8:
        return _NOT_PLAIN
    if isinstance(value, Mapping):
        entries = {str(key): _plain(entry, depth + 1) for key, entry in value.items()}
        return _NOT_PLAIN if any(e is _NOT_PLAIN for e in entries.values()) else entries
    if isinstance(value, (list, tuple)):
        items = [_plain(entry, depth + 1) for entry in value]
        return _NOT_PLAIN if any(item is _NOT_PLAIN for item in items) else items
    return value if value is None or isinstance(value, (bool, int, float, str)) else _NOT_PLAIN
