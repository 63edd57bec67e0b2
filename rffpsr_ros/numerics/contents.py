"""What stored arrays and numbers may hold, declared beside the fields of a NamedTuple.

    class FeatureMap(NamedTuple):
        frequencies: Annotated[Array, holds("D", "d")]
        projection: Annotated[Array, holds("2*D", "r")]

    class Structure(NamedTuple):
        observation: Annotated[FeatureMap, sizes(d="d_o", r="r_o")]
        past: Annotated[int, count("n")]

Sizes have names, and a name means one number throughout a model: a field's parts share the names
of what holds the field, unless `sizes` says under which names they know them; names that it leaves
out are then the field's own. A size is a sum or product of names; ``"0 | r"`` is either of two.

Numbers are finite, and arrays not empty, unless a declaration says otherwise, or there are no
actions (`MAY_BE_NONE`). What is declared here
is checked by `models.contents_check` before a model file is used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

MAY_BE_NONE = "d_a"
"""The size that may be 0: a system that nobody acts on is a model, too."""

LONGEST_WINDOW = 10_000
"""Ticks or steps that a stored window may have."""


@dataclass(frozen=True)
class Holds:
    """What an array, a number or a tuple holds.

    Attributes
    ----------
    shape
        A size for each axis; of a tuple, its length; none: a single number.
    least, most
        The range of the values; ``most`` may be a size.
    positive
        Whether all are greater than 0.
    whole
        Whether they are integers.
    infinite, missing
        Whether infinite values, and NaN, are allowed.
    increasing
        Whether each value is greater than the one before.
    """

    shape: tuple[str, ...] = ()
    least: float = -math.inf
    most: float | str = math.inf
    positive: bool = False
    whole: bool = False
    infinite: bool = False
    missing: bool = False
    increasing: bool = False


@dataclass(frozen=True)
class Count:
    """A number of things that is a size by itself."""

    name: str
    least: int
    most: int


@dataclass(frozen=True)
class Sizes:
    """Under which names a part knows the sizes of what it belongs to."""

    names: Mapping[str, str]


def holds(
    *shape: str,
    least: float = -math.inf,
    most: float | str = math.inf,
    positive: bool = False,
    whole: bool = False,
    infinite: bool = False,
    missing: bool = False,
    increasing: bool = False,
) -> Holds:
    """Declare an array of this shape, a number without one, or a tuple of this length."""
    return Holds(shape, least, most, positive, whole, infinite, missing, increasing)


def count(name: str, least: int = 0, most: int = LONGEST_WINDOW) -> Count:
    """Declare an integer that is the size ``name``."""
    return Count(name, least, most)


def sizes(**names: str) -> Sizes:
    """Declare which sizes of what holds it a part knows, under which names."""
    return Sizes(names)
