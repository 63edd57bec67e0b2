"""Tables with a time column, read from text files; every fault names its row and column."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.errors import InputError, counted, did_you_mean, plain, shown
from rffpsr_ros.numerics.arrays import Array

TIME_UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
"""Nanoseconds per unit."""

_TIME_NAMES = ("time", "t", "timestamp", "stamp", "time_s", "seconds")
_MISSING = ("na", "n/a", "null", "none", "-", "--", "?", "missing", "#n/a")
_DELIMITERS = ",;\t"
_LATEST_NS = 2**31 * 10**9
"""ROS stamps hold seconds in 31 bits."""


class Table(NamedTuple):
    """Rows of numbers with their times.

    ``times_ns`` (N,) increase; ``values`` (N, columns) are NaN where a cell was empty. ``clock`` is
    what the column with the time is called.
    """

    columns: list[str]
    times_ns: NDArray[np.int64]
    values: Array
    clock: str = "time"


def read_table(path: str | Path, time: str | None = None, unit: str = "s") -> Table:
    """Read a table whose first row names the columns.

    ``time`` names the column with the time; by default one called time, t, stamp or alike.

    Raises
    ------
    InputError
        If the file cannot be read, has no time column or no rows, a cell is no number, or the
        times do not increase.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            return _parse(file, str(path), time, unit)
    except OSError as fault:
        raise InputError(f"table {path} cannot be read: {fault.strerror}") from None
    except UnicodeDecodeError as fault:
        raise InputError(
            f"{path} is no table of text in UTF-8: byte {fault.start + 1} is no part of a character"
        ) from None
    except csv.Error as fault:
        raise InputError(f"{path} is no table of text: {fault}") from None


def _parse(lines: Iterator[str], path: str, time: str | None, unit: str) -> Table:
    first = next(lines, "")
    delimiter = max(_DELIMITERS, key=first.count)
    heading = [name.strip() for name in next(csv.reader([first], delimiter=delimiter), [])]
    _check_heading(heading, path, time)
    clock = _time_column(heading, time, path)
    others = [i for i in range(len(heading)) if i != clock]
    times: list[int] = []
    values: list[list[float]] = []
    for number, row in enumerate(csv.reader(lines, delimiter=delimiter), 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(heading):
            cells = counted(len(row), "cell")
            more = len(row) == len(heading) + 1 and not row[-1].strip()
            hint = f"; leave out the {shown(delimiter)} at its end" if more else ""
            raise InputError(f"row {number} of {path} has {cells}, not {len(heading)}{hint}")
        times.append(_time(row[clock], unit, f"row {number} of {path}"))
        if len(times) > 1 and times[-1] <= times[-2]:
            raise InputError(
                f"the time {row[clock].strip():.40} in row {number} of {path} is not after the one"
                " before; sort the rows by time, and leave out those that repeat one"
            )
        values.append([_number(row[i], heading[i], f"row {number} of {path}") for i in others])
    if not values:
        raise InputError(f"table {path} has no rows of numbers")
    columns = [heading[i] for i in others]
    stamps = np.array(times, dtype=np.int64)
    return Table(columns, stamps, np.array(values, dtype=np.float64), heading[clock])


def _check_heading(heading: list[str], path: str, time: str | None) -> None:
    if time is None and heading and heading[0].startswith("#"):
        raise InputError(
            f"the first row of {path} is a comment, {shown(heading[0])}; the first row must name"
            " the columns, so leave out what stands before them"
        )
    if len(heading) < 2:
        columns = "1 column" if len(heading) == 1 else "no columns"
        raise InputError(
            f"the first row of {path} names {columns}; it must name a time column and at least one"
            " other, with commas, semicolons or tabs between them"
        )
    for i, name in enumerate(heading):
        if not name or _is_number(name):
            raise InputError(
                f"{shown(name)} in the first row of {path} names no column (the {i + 1}. of"
                f" {len(heading)}); the first row must name every column"
                f"{_unnamed(name, i, heading)}"
            )
        if name in heading[:i]:
            raise InputError(
                f"two columns of {path} are called {shown(name)}; each needs its own name"
            )


def _unnamed(name: str, place: int, heading: list[str]) -> str:
    """Return how a column may have come about that has no name."""
    if name or len(heading) == 1:
        return ""
    if place == 0:
        return "; if pandas wrote the table, leave out its index: to_csv(..., index=False)"
    return (
        "; leave out what separates cells at the end of rows" if place == len(heading) - 1 else ""
    )


def _time_column(heading: list[str], time: str | None, path: str) -> int:
    if time is not None:
        if time not in heading:
            raise InputError(
                f"table {path} has no column '{plain(time)}'{did_you_mean(time, heading)}"
            )
        return heading.index(time)
    for i, name in enumerate(heading):
        if name.lower() in _TIME_NAMES:
            return i
    likely = [name for name in heading if "time" in name.lower() or "stamp" in name.lower()]
    raise InputError(
        f"table {path} has no column called {', '.join(_TIME_NAMES[:4])}; say which one holds the"
        f" time, as in --time {shown((likely or heading)[0])}"
    )


def _time(text: str, unit: str, where: str) -> int:
    """Return nanoseconds, exactly: a float cannot hold a clock's time to the nanosecond."""
    try:
        nanoseconds = Decimal(_as_written(text)) * TIME_UNITS[unit]
    except (ArithmeticError, ValueError):  # what Decimal raises, malformed or out of range
        nanoseconds = Decimal("nan")
    if not (nanoseconds.is_finite() and 0 <= nanoseconds < _LATEST_NS):
        raise InputError(
            f"{shown(text.strip())} in {where} is no time; it must be a number of {unit}, 0 or"
            f" more, and before the year 2038{_perhaps(text.strip())}"
        )
    return int(nanoseconds.to_integral_value())


def _perhaps(text: str) -> str:
    """Return what may be meant by a number that is not one, or by a time that is far too late."""
    if ":" in text:
        return "; dates and hours are not read, write seconds"
    if text.lower() in _MISSING:
        return "; leave a cell empty where a value is missing"
    if text.lower() in ("true", "false"):
        return "; write 1 for True and 0 for False"
    if "_" in text and _is_number(text.replace("_", "")):
        return "; write numbers without '_'"
    if text.count(",") == 1 and _is_number(text.replace(",", ".")):
        return "; decimals are written with a point"
    fits = [unit for unit, size in TIME_UNITS.items() if _could_be_now(text, size)]
    return f"; did you mean --time-unit {fits[0]}?" if fits else ""


def _could_be_now(text: str, size: Decimal | int) -> bool:
    """Return whether a number of units of so many nanoseconds is a time of this century."""
    return _is_number(text) and 946_684_800_000_000_000 < float(text) * int(size) < _LATEST_NS


def _number(text: str, name: str, where: str) -> float:
    text = text.strip()
    if not text:
        return math.nan
    try:
        return float(_as_written(text))
    except ValueError:
        raise InputError(
            f"{shown(text)} in column '{plain(name)}', {where}, is no number{_perhaps(text)}"
        ) from None


def _as_written(text: str) -> str:
    """Return the text of a number; raises ValueError for '1_000', which only Python reads."""
    if "_" in text:
        raise ValueError(text)
    return text.strip()


def _is_number(text: str) -> bool:
    try:
        float(_as_written(text))
    except ValueError:
        return False
    return text.lower() != "nan"
