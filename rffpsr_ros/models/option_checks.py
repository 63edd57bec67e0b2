"""Checks of a learner's options, each refusal one sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

import numpy as np

from rffpsr_ros.errors import InputError


def check_type(name: str, value: Any, hint: Any) -> None:
    """Refuse an option's value that is not what its type hint says.

    Raises
    ------
    InputError
        If it is not one of the words, not a whole number, or not a finite number.
    """
    choices: tuple[Any, ...] = get_args(hint)
    if choices and all(isinstance(choice, str) for choice in choices):
        if value not in choices:
            raise InputError(
                f"option '{name}' is {value!r}; it must be one of {', '.join(choices)}"
            )
        return
    if value is None and type(None) in choices:
        return
    whole = hint is int or int in choices
    kinds: tuple[type, ...] = (int,) if whole else (int, float)
    if not _is_finite_number(value, kinds):
        kind = "a whole number" if whole else "a number"
        raise InputError(f"option '{name}' is {value!r}; it must be {kind}")


def _is_finite_number(value: Any, kinds: tuple[type, ...]) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int):
        return abs(value) < 2**63
    return float in kinds and isinstance(value, float) and bool(np.isfinite(value))


def require(name: str, value: Any, holds: Callable[[Any], bool], words: str) -> None:
    """Refuse an option's value, unless it is None, that ``holds`` does not hold for.

    Raises
    ------
    InputError
        Saying in ``words`` what it must be.
    """
    if value is not None and not holds(value):
        raise InputError(f"option '{name}' is {value}; it must be {words}")
