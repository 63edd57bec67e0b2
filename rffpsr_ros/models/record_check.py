"""What is told of a model beside its parts, as its readers take it: errors, names, ticks."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

BY_HORIZON, BY_OBSERVATION = "mse", "mse_by_observation"
"""How the names of such metrics end."""


LONGEST_TEXT = 400
"""Characters of a name, unit, topic or field path."""


PERIOD_TOLERANCE = 1e-3
"""Relative difference up to which two periods mean the same: it is that of the clocks by which they
were measured, not another rate."""


class RecordError(ValueError):
    """A record or signature does not hold what its readers take it for."""


def check_texts(told: Any, place: str = "signature") -> None:
    """Check that names, and whatever else JSON types hold, can be shown on a line of a log.

    Raises
    ------
    RecordError
        If a text is not printable, or too long.
    """
    if isinstance(told, str) and not (told.isprintable() and len(told) <= LONGEST_TEXT):
        raise RecordError(f"'{place}' has a text that is no name")
    if isinstance(told, Mapping):
        check_texts([*told], place)
        told = [*told.values()]
    if isinstance(told, list | tuple):
        for one in told:
            check_texts(one, place)


def check_rate(period: float, channels: Mapping[str, Any] | None) -> None:
    """Check that the channels have the ticks that the model was trained on.

    Raises
    ------
    RecordError
        If they tell another rate: a tick of nanoseconds would never let a robot be followed.
    """
    rate = None if channels is None else channels.get("rate")
    if not isinstance(rate, int | float) or isinstance(rate, bool):
        return  # told where channels are read
    if not abs(rate * period - 1) <= PERIOD_TOLERANCE:
        raise RecordError(f"'signature' has ticks of {period:g} s and channels of {rate:g} Hz")


def check_errors(metrics: Mapping[str, Any], group: str = "record.metrics") -> None:
    """Check every list of errors in the metrics of a record, and of groups in them.

    Raises
    ------
    RecordError
        If errors by horizon are not numbers or null, or errors by observation no rows of these,
        told in a list or by the observation's name.
    """
    for name, value in metrics.items():
        place = f"{group}.{name}"
        if _is_error(value):
            continue
        if name.endswith(BY_HORIZON):
            _check_row(value, place)
        elif name.endswith(BY_OBSERVATION):
            _check_rows(value, place)
        elif isinstance(value, Mapping):
            check_errors(value, place)


def _check_rows(value: Any, place: str) -> None:
    if isinstance(value, Mapping):
        value = [*value.values()]
    if not isinstance(value, list):
        raise RecordError(f"'{place}' is no list of rows")
    for row in value:
        _check_row(row, place)
    if len({len(row) for row in value}) > 1:
        raise RecordError(f"'{place}' has rows of several lengths")


def _check_row(value: Any, place: str) -> None:
    if not isinstance(value, list) or not all(_is_error(one) for one in value):
        raise RecordError(f"'{place}' is no list of numbers")


def _is_error(value: Any) -> bool:
    if value is None:
        return True
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and abs(value) <= sys.float_info.max
