"""Checks of a learner's options, each refusal one sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from numbers import Real
from typing import Any, get_args

import numpy as np

from rffpsr_ros.errors import InputError


def check_type(name: str, value: Any, hint: Any) -> None:
    """Refuse an option's value that is not what its type hint says.

    Raises
    ------
    InputError
        If it is not one of the words, no truth value, not a whole number, or not a finite number.
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
    if hint is bool:
        if not isinstance(value, bool):
            raise InputError(f"option '{name}' is {value!r}; it must be True or False")
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


def check_seed(seed: Any) -> None:
    """Refuse a seed that no random generator takes.

    Raises
    ------
    InputError
        If it is not a whole number, or less than 0.
    """
    check_type("seed", seed, int)
    require("seed", seed, lambda v: v >= 0, "at least 0")


def require(name: str, value: Any, holds: Callable[[Any], bool], words: str) -> None:
    """Refuse an option's value, unless it is None, that ``holds`` does not hold for.

    Raises
    ------
    InputError
        Saying in ``words`` what it must be.
    """
    if value is not None and not holds(value):
        raise InputError(f"option '{name}' is {value}; it must be {words}")


def require_positive_numbers(settings: Any) -> None:
    """Refuse a dataclass of settings of which a number is not greater than 0.

    Raises
    ------
    InputError
        Naming the setting and its value.
    """
    for one in fields(settings):
        value = getattr(settings, one.name)
        if isinstance(value, Real):
            require(one.name, value, lambda v: v > 0, "greater than 0")
