"""What was read from a model file, held against what its fields are declared to hold.

Declarations stand beside the fields, see `numerics.contents`. All of a model is checked before
anything is computed from it: arrays that index others, or that compiled code walks through, have
the sizes that all others say, and every number is one.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from typing import Annotated, Any, Union, get_args, get_origin

import numpy as np

from rffpsr_ros.numerics.contents import MAY_BE_NONE, Count, Holds, Sizes
from rffpsr_ros.numerics.size_equations import Scope, SizeEquations
from rffpsr_ros.numerics.typed_fields import declared_fields, join


class ContentsError(ValueError):
    """A value is not what its field is declared to hold."""


def check_contents(fields: Mapping[str, Any], values: Mapping[str, Any], name: str) -> None:
    """Check values by the declarations of their fields; ``name`` is that of what holds them.

    Raises
    ------
    ContentsError, SizesError
        If an array or number is not what is declared, or sizes do not agree.
    """
    check = _Check()
    check.fields(fields, values, name, Scope())
    check.finish()


class _Check:
    """Walks through a tree, and remembers what can be judged at its end only."""

    def __init__(self) -> None:
        self._sizes = SizeEquations()
        self._ranges: list[tuple[Scope, Any, str, str]] = []
        self._inside_a_model = False

    def fields(self, hints: Mapping[str, Any], values: Any, name: str, scope: Scope) -> None:
        """Check the fields of a part."""
        for field, hint in hints.items():
            value = values[field] if isinstance(values, Mapping) else getattr(values, field)
            self._value(hint, value, join(name, field), scope)

    def finish(self) -> None:
        """Check what depends on other parts."""
        self._sizes.solve()
        for scope, value, most, name in self._ranges:
            limit = self._sizes.value(scope, most)
            if np.size(value) and np.max(value) > limit:
                raise ContentsError(f"'{name}' has a value above {most} = {limit}")

    def _value(self, hint: Any, value: Any, name: str, scope: Scope) -> None:
        hint, holds = _unwrapped(hint)
        for one in holds:
            if isinstance(one, Sizes):
                scope = scope.within(one.names)
            elif isinstance(one, Count):
                self._count(one, value, name, scope)
            elif isinstance(one, Holds) and value is not None:
                self._holds(one, value, name, scope)
        if value is None:
            return
        origin = get_origin(hint) or hint
        if origin in (Union, types.UnionType):
            self._parts(type(value), value, name, scope)
        elif origin is tuple:
            inner = get_args(hint)
            for place, entry in enumerate(value):
                of_entry = inner[0] if inner[-1:] == (Ellipsis,) else inner[place]
                self._value(of_entry, entry, join(name, place), scope)
        else:
            self._parts(origin, value, name, scope)

    def _parts(self, kind: Any, value: Any, name: str, scope: Scope) -> None:
        """Check a NamedTuple or dataclass; of a model, which was checked itself, sizes only."""
        if hasattr(kind, "stored_fields"):
            before, self._inside_a_model = self._inside_a_model, True
            self.fields(type(value).stored_fields(), value, name, scope)
            self._inside_a_model = before
        elif (inner := declared_fields(kind)) is not None:
            self.fields(inner, value, name, scope)

    def _count(self, count: Count, value: int, name: str, scope: Scope) -> None:
        if not count.least <= value <= count.most:
            raise ContentsError(f"'{name}' is {value}, not from {count.least} to {count.most}")
        self._sizes.add(scope, count.name, value, f"'{name}'")

    def _holds(self, holds: Holds, value: Any, name: str, scope: Scope) -> None:
        shape = (len(value),) if isinstance(value, tuple) else np.shape(value)
        if len(shape) != len(holds.shape):
            raise ContentsError(f"'{name}' has {len(shape)} axes, not {len(holds.shape)}")
        for axis, (expression, size) in enumerate(zip(holds.shape, shape, strict=True)):
            if not size and not self._may_be_empty(scope, expression):
                raise ContentsError(f"'{name}' is empty")
            self._sizes.add(scope, expression, size, f"the size of '{name}' along axis {axis}")
        if isinstance(value, tuple) or self._inside_a_model:
            return
        if isinstance(value, np.ndarray):
            _check_type(value.dtype, holds, name)
        _check_numbers(np.asarray(value), holds, name)
        if isinstance(holds.most, str):
            self._ranges.append((scope, value, holds.most, name))

    def _may_be_empty(self, scope: Scope, expression: str) -> bool:
        return expression.startswith("0 |") or MAY_BE_NONE in self._sizes.names(scope, expression)


def _unwrapped(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type hint without declarations, and the declarations."""
    if get_origin(hint) is Annotated:
        return hint.__origin__, hint.__metadata__
    return hint, ()


def _check_type(dtype: np.dtype[Any], holds: Holds, name: str) -> None:
    fits = dtype.kind in "iu" if holds.whole else dtype.kind == "f" and dtype.itemsize in (4, 8)
    if not fits:
        wanted = "integers" if holds.whole else "float64"
        raise ContentsError(f"array '{name}' holds {dtype.name}, not {wanted}")


def _check_numbers(values: Any, holds: Holds, name: str) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        missing = np.isnan(values)
        if missing.any() and not holds.missing:
            raise ContentsError(f"'{name}' holds what is no number")
        if not holds.infinite and (~finite & ~missing).any():
            raise ContentsError(f"'{name}' holds infinite numbers")
    most = holds.most if isinstance(holds.most, float | int) else math.inf
    if (values < holds.least).any() or (values > most).any():
        raise ContentsError(f"'{name}' has a value beyond {holds.least:g} to {most:g}")
    if holds.positive and (values <= 0).any():
        raise ContentsError(f"'{name}' has a value that is not greater than 0")
    if holds.increasing and (np.diff(values) <= 0).any():
        raise ContentsError(f"'{name}' does not increase")
