"""The ranges of a topic's numeric fields, from some of its messages."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals.fields.resolver import FieldResolver
from rffpsr_ros.training.proposal.numeric_fields import numeric_fields

_FIRST = 20
"""So many messages show which fields there are: not every message has every joint."""
_STRETCH = re.compile(r"(?P<array>[\w.]+)\[(?P<first>\d+):\d+\]")


class FieldRange(NamedTuple):
    """What a field showed in the sampled messages; NaN if it was never a number."""

    path: str
    low: float
    high: float
    missing: float
    """Fraction of values that were no finite numbers."""
    changing: tuple[str, ...] = ()
    """Of an array of which some elements never changed, the stretches of the others."""

    @property
    def constant(self) -> bool:
        """Tell whether it never changed."""
        return not self.high - self.low > 1e-9 * max(abs(self.low), abs(self.high))

    def span(self) -> str:
        """Return in words what it showed."""
        if self.missing == 1:
            return "never a number"
        if self.constant:
            return f"constant {self.low:.4g}"
        return f"{self.low:.4g} to {self.high:.4g}"


class FieldSampler:
    """The fields of one topic's messages, and their values so far."""

    def __init__(self, wanted: Sequence[str] = ()) -> None:
        self._wanted = wanted
        self.asked: list[str] = []
        self._first: list[Any] = []
        self._resolver: FieldResolver | None = None
        self._rows: list[NDArray[np.float64]] = []
        self.misfits: dict[str, str] = {}

    def add(self, message: Any) -> None:
        """Take a message."""
        if self._resolver is not None:
            self._resolve(message)
            return
        self._first.append(message)
        if len(self._first) == _FIRST:
            self._begin()

    def ranges(self) -> list[FieldRange]:
        """Return what every field showed."""
        if self._resolver is None:
            self._begin()
        if self._resolver is None or not self._rows:
            return []
        values = np.stack(self._rows)
        ranges, start = [], 0
        for path, width in zip(self._paths, self._resolver.columns_per_field, strict=True):
            block = values[:, start : start + width]
            start += width
            ranges.append(_range(path, block))
        return ranges

    def _begin(self) -> None:
        """Find out which fields there are from the first messages."""
        paths = dict.fromkeys(path for message in self._first for path in numeric_fields(message))
        found = [path for path in paths if any(_binds(path, m) for m in self._first)]
        for path in dict.fromkeys(self._wanted):
            if path not in found:
                self._look(path, found)
        self._paths = found
        if self._paths:
            self._resolver = FieldResolver(self._paths)
            for message in self._first:
                self._resolve(message)
        self._first = []

    def _look(self, path: str, found: list[str]) -> None:
        """Take a field that is asked for, or note that no message has it, or none a value of it."""
        why = [_misfit(path, message) for message in self._first]
        if None in why:
            found.append(path)
            self.asked.append(path)
        elif why:
            self.misfits[path] = "" if "" in why else str(why[0])

    def _resolve(self, message: Any) -> None:
        assert self._resolver is not None
        values = self._resolver.resolve(message)
        if values is not None:
            self._rows.append(values)


def _range(path: str, block: NDArray[np.float64]) -> FieldRange:
    finite = block[np.isfinite(block)]
    low, high = (finite.min(), finite.max()) if len(finite) else (np.nan, np.nan)
    shown = FieldRange(path, float(low), float(high), 1 - finite.size / block.size)
    return shown if block.shape[1] == 1 else shown._replace(changing=_changing(path, block))


def _changing(path: str, block: NDArray[np.float64]) -> tuple[str, ...]:
    """Return the stretches of an array (n, k) that change; none if all of it does, or nothing."""
    found = _STRETCH.fullmatch(path)
    still = [_range("", column[:, None]).constant for column in block.T]
    if found is None or all(still) or not any(still):
        return ()
    stretches, place = [], int(found["first"])
    for idle, elements in itertools.groupby(still):
        first, place = place, place + len(list(elements))
        if not idle:
            end = "" if place == first + 1 else f":{place}"
            stretches.append(f"{found['array']}[{first}{end}]")
    return tuple(stretches)


def _binds(path: str, message: Any) -> bool:
    """Tell whether a message shows a field's width."""
    return _misfit(path, message) is None


def _misfit(path: str, message: Any) -> str | None:
    """Return why a message does not show a field's width: a sentence, or empty if it may yet."""
    try:
        return "" if FieldResolver([path]).resolve(message) is None else None
    except InputError as problem:
        return str(problem)
