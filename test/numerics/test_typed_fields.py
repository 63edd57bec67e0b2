"""Fields with their types, whatever NumPy makes of the name of its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from types import GenericAlias
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.numerics.typed_fields import origin_of


class NamedAlias:
    """As NDArray is since NumPy 2.5, on a Python that knows no such aliases."""

    __value__ = NDArray[Any]


def test_arrays_are_found_behind_a_named_alias() -> None:
    assert origin_of(NDArray[np.float64]) is np.ndarray
    assert origin_of(GenericAlias(NamedAlias, (np.float64,))) is np.ndarray


def test_other_types_are_what_they_are() -> None:
    assert origin_of(tuple[int, ...]) is tuple
    assert origin_of(Mapping[str, Any]) is Mapping
    assert origin_of(float) is float
