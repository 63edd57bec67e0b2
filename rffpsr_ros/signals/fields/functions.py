"""The functions of field paths: one entry each, which says all that the other modules ask.

The grammar asks an entry what stands in its parentheses, the binding what it is applied to and how
it is evaluated, the proposal of a configuration which unit it has. A new function is a new entry
of `FUNCTIONS`, and nothing else.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.signals.fields.images import grey_image

Vector = NDArray[np.float64]
Numbers: TypeAlias = tuple[float, ...]
Evaluation: TypeAlias = Callable[[Any], Any]

MAX_IMAGE_SIDE = 4096


class Takes(Enum):
    """What a function is applied to, and with it what stands first in its parentheses."""

    VALUES = auto()
    """A number or an array of numbers, and then every element: any field."""
    QUATERNION = auto()
    """A message with ``x y z w``: its path."""
    IMAGE = auto()
    """The message itself, an image: the size to which it is brought, such as ``64x48``."""


class Memory(ABC):
    """An evaluation whose value depends on earlier messages too, so that none may be left out."""

    @abstractmethod
    def reset(self) -> None:
        """Forget the past."""

    @abstractmethod
    def __call__(self, values: Any) -> Any:
        """Return the value after this message."""


def _no_fault(_: Numbers) -> str:
    return ""


@dataclass(frozen=True)
class FieldFunction:
    """What there is to know of one function.

    Attributes
    ----------
    name
        As it is written.
    evaluation
        From the numbers and the width of what the function is applied to (None: a single number)
        to what computes its value; asked once for every field that uses the function. An
        evaluation raises IndexError or ValueError where a message has no value for it.
    takes
        What it is applied to.
    numbers
        How many numbers follow in the parentheses; the two sides of an image's size are its
        numbers.
    fault
        From the numbers to what is wrong with them; empty if nothing is.
    shape
        From the numbers to the shape of the value, () for a single number; None if the value has
        the shape of what the function is applied to.
    unit
        Unit of the value; None if it has the unit of what the function is applied to.
    """

    name: str
    evaluation: Callable[[Numbers, int | None], Evaluation]
    takes: Takes = Takes.VALUES
    numbers: int = 0
    fault: Callable[[Numbers], str] = _no_fault
    shape: Callable[[Numbers], tuple[int, ...]] | None = None
    unit: str | None = None

    def remembers(self, numbers: Numbers) -> bool:
        """Tell whether its value depends on earlier messages."""
        return isinstance(self.evaluation(numbers, None), Memory)


def _sine(_: Numbers, width: int | None) -> Evaluation:
    return math.sin if width is None else lambda values: np.sin(_finite(values))


def _cosine(_: Numbers, width: int | None) -> Evaluation:
    return math.cos if width is None else lambda values: np.cos(_finite(values))


def _finite(values: Vector) -> Vector:
    return np.where(np.isfinite(values), values, np.nan)


def _clip(numbers: Numbers, width: int | None) -> Evaluation:
    low, high = numbers
    if width is None:
        return lambda value: min(max(value, low), high)
    return lambda values: np.clip(values, low, high)


def _fault_of_bounds(numbers: Numbers) -> str:
    low, high = numbers
    return "" if low < high else "the upper bound of clip must be above the lower one"


def _equals(numbers: Numbers, width: int | None) -> Evaluation:
    (wanted,) = numbers
    if width is None:
        return lambda value: value if math.isnan(value) else float(value == wanted)
    return lambda values: np.where(np.isnan(values), np.nan, values == wanted)


class _Unwrap(Memory):
    """Angles made continuous: jumps of more than half a turn between samples are turns."""

    def __init__(self, _: Numbers, width: int | None) -> None:
        self._last: Vector = np.full(width or 1, np.nan)

    def reset(self) -> None:
        """Forget the past: the next angle is taken as it is."""
        self._last[:] = np.nan

    def __call__(self, values: Any) -> Any:
        """Return the continuous angles; NaN passes through and leaves the memory as it is."""
        angles = _finite(np.atleast_1d(np.asarray(values, dtype=np.float64)))
        turns = np.round((angles - self._last) / (2 * math.pi))
        angles = np.where(np.isnan(turns), angles, angles - 2 * math.pi * turns)
        known = ~np.isnan(angles)
        self._last[known] = angles[known]
        return angles if np.ndim(values) else angles[0]


def _yaw(quaternion: Any) -> float:
    """Return the angle about the z axis of a quaternion of any length (rad, REP 103).

    Raises
    ------
    IndexError
        If it is all zeros, which is what an unknown orientation looks like.
    """
    x, y, z, w = quaternion.x, quaternion.y, quaternion.z, quaternion.w
    norm = x * x + y * y + z * z + w * w
    if not norm > 0:
        raise IndexError("an orientation of all zeros is none")
    return math.atan2(2 * (w * z + x * y), norm - 2 * (y * y + z * z))


def _image(numbers: Numbers, _: int | None) -> Evaluation:
    width, height = map(int, numbers)
    return lambda message: grey_image(message, width, height)


def _fault_of_size(numbers: Numbers) -> str:
    if all(1 <= side <= MAX_IMAGE_SIDE for side in numbers):
        return ""
    return f"each side of the image must be between 1 and {MAX_IMAGE_SIDE}"


def _rows_and_columns(numbers: Numbers) -> tuple[int, ...]:
    width, height = map(int, numbers)
    return height, width


FUNCTIONS = {
    entry.name: entry
    for entry in (
        FieldFunction("sin", _sine, unit="1"),
        FieldFunction("cos", _cosine, unit="1"),
        FieldFunction("unwrap", _Unwrap),
        FieldFunction(
            "yaw", lambda *_: _yaw, takes=Takes.QUATERNION, shape=lambda _: (), unit="rad"
        ),
        FieldFunction("clip", _clip, numbers=2, fault=_fault_of_bounds),
        FieldFunction("equals", _equals, numbers=1, unit="1"),
        FieldFunction(
            "image",
            _image,
            takes=Takes.IMAGE,
            numbers=2,
            fault=_fault_of_size,
            shape=_rows_and_columns,
        ),
    )
}
"""All functions by name."""
