"""What a caller gives a model: arrays of numbers that fit its columns, or one sentence says so.

The usual case costs about a microsecond: whoever follows a robot live is checked, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from rffpsr_ros.errors import InputError, plain, shown
from rffpsr_ros.numerics.arrays import Array

_DOUBLE = np.dtype(np.float64)
_ADDED_UP = 64
"""Up to so many numbers are sooner added up one by one than compared as an array."""

_MOST_NAMES = 6


def given_tick(
    action: Any, observation: Any, acted: Sequence[str], observed: Sequence[str]
) -> tuple[Array, Array]:
    """Return an action (..., d_a) and an observation (..., d_o) that a model can be updated with.

    An infinite observation becomes a missing one.

    Raises
    ------
    InputError
        If there is not one number for each of these columns, or an action is not finite.
    """
    action = _of_columns(action, "an action", acted, 1)
    observation = _of_columns(observation, "an observation", observed, 1)
    if action.shape[:-1] != observation.shape[:-1]:
        raise InputError(
            f"the action has shape {action.shape} and the observation {observation.shape}; give"
            " one of each, or for a batch of states a row of each for every state"
        )
    _check_finite(action, acted)
    if not _surely_finite(observation) and (infinite := np.isinf(observation)).any():
        observation = np.where(infinite, np.nan, observation)
    return action, observation


def given_plan(actions: Any, acted: Sequence[str]) -> Array:
    """Return the next H actions (H, d_a), or (B, H, d_a), that a model can forecast with.

    Raises
    ------
    InputError
        If there is no row, not one number for each of these columns, or one is not finite.
    """
    rows = _of_columns(actions, "actions", acted, 2)
    if not rows.shape[-2]:
        raise InputError("there are no actions to forecast with; give a row for each tick ahead")
    _check_finite(rows, acted)
    return rows


def _of_columns(values: Any, what: str, names: Sequence[str], axes: int) -> Array:
    """Return an array of so many axes, or of one more: that of a batch."""
    if type(values) is np.ndarray and values.dtype is _DOUBLE:
        array = values
    else:
        array = _array(values, what, names, axes)
    if not axes <= array.ndim <= axes + 1 or array.shape[-1] != len(names):
        raise InputError(f"{_wanted(what, names, axes)}, not of shape {array.shape}")
    return array


def _array(values: Any, what: str, names: Sequence[str], axes: int) -> Array:
    """Return the array of floats that something is, if it is any."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "fbiu":
            return array if array.dtype.kind == "f" else array.astype(_DOUBLE)
    except (TypeError, ValueError):  # rows of several lengths
        pass
    raise InputError(f"{_wanted(what, names, axes)}, not {shown(values)}")


def _wanted(what: str, names: Sequence[str], axes: int) -> str:
    columns = ", ".join(map(plain, names[:_MOST_NAMES])) or "no column"
    columns += ", ..." if len(names) > _MOST_NAMES else ""
    shape = f"({len(names)},)" if axes == 1 else f"(ticks, {len(names)})"
    return f"{what} must be an array {shape} of numbers for {columns}"


def _check_finite(actions: Array, names: Sequence[str]) -> None:
    if _surely_finite(actions) or np.isfinite(actions).all():
        return
    place = np.argwhere(~np.isfinite(actions))[0]
    raise InputError(
        f"action '{plain(names[place[-1]])}' is {actions[tuple(place)]}; actions must be finite"
        " numbers, only observations may be missing"
    )


def _surely_finite(values: Array) -> bool:
    """Tell, quickly, that all values are finite; of absurdly large ones it cannot be told."""
    if values.size > _ADDED_UP:
        return bool(np.isfinite(values).all())
    return math.isfinite(sum(values.ravel().tolist()))
