"""A recorded run: the robot's actions and the observations after them, on one grid of ticks."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rffpsr_ros.errors import InputError, counted, shown
from rffpsr_ros.numerics.arrays import Array

_REAL = "biufO"
"""Kinds of types whose values are real numbers, or objects that may be."""


@dataclass(frozen=True, init=False, eq=False)
class Trajectory:
    """One uninterrupted run of T ticks.

    Action ``actions[k]`` is in force during tick k and ``observations[k]`` is what is seen at the
    tick's end, so ``actions[k]`` acts before ``observations[k]`` is seen, as in the paper.

    Attributes
    ----------
    observations
        (T, d_o) float64, read-only; NaN where an observation is missing.
    actions
        (T, d_a) float64, read-only, finite.
    period
        Seconds per tick.
    observation_names, action_names
        One name per column.
    label
        What the run was read from, for messages to the user; empty if unknown.
    likelihood_ratios
        (T,) how much likelier than the policy that chose it a blind one would have been to choose
        each action; None: the policy was blind, or is unknown.
    policy_memory
        The policy that chose the actions read the last so many recorded ticks, and nothing else;
        None: it may have read more.
    """

    observations: Array
    actions: Array
    period: float
    observation_names: tuple[str, ...] = field(default=())
    action_names: tuple[str, ...] = field(default=())
    label: str = ""
    likelihood_ratios: Array | None = None
    policy_memory: int | None = None

    def __init__(
        self,
        observations: ArrayLike,
        actions: ArrayLike,
        period: float = 1.0,
        observation_names: Iterable[str] | None = (),
        action_names: Iterable[str] | None = (),
        label: str = "",
        likelihood_ratios: ArrayLike | None = None,
        policy_memory: int | None = None,
    ) -> None:
        """Copy and check the arrays; a vector of length T counts as one column.

        Raises
        ------
        InputError
            If something is not made of numbers, lengths differ, there is no observation, the period
            is not positive, an action is not finite, an observation is infinite, the names are not
            one of its own for each column, the likelihood ratios are not one finite number of at
            least 0 per tick, or the policy's memory is not a number of ticks.
        """
        observed = _as_columns(observations, "observations")
        acted = _as_columns(actions, "actions")
        if len(observed) != len(acted):
            raise InputError(
                f"observations have {len(observed)} rows and actions {len(acted)};"
                " both need one row per tick"
            )
        if not observed.shape[1]:
            raise InputError("observations have no column; give at least one")
        set_field = object.__setattr__
        set_field(self, "observations", observed)
        set_field(self, "actions", acted)
        set_field(self, "period", _period(period))
        set_field(self, "observation_names", _names(observation_names, observed, "observation"))
        set_field(self, "action_names", _names(action_names, acted, "action"))
        set_field(self, "label", label)
        set_field(self, "likelihood_ratios", _ratios(likelihood_ratios, len(acted)))
        set_field(self, "policy_memory", _memory(policy_memory))
        check_finite(observed, acted, self.observation_names, self.action_names)

    def __len__(self) -> int:
        """Return the number of ticks T."""
        return len(self.observations)

    def slice(self, start: int, stop: int) -> Trajectory:
        """Return ticks ``start`` to ``stop`` (half-open) as a trajectory of its own.

        It shares this one's arrays, which nobody can change.
        """
        part = copy.copy(self)
        object.__setattr__(part, "observations", self.observations[start:stop])
        object.__setattr__(part, "actions", self.actions[start:stop])
        if self.likelihood_ratios is not None:
            object.__setattr__(part, "likelihood_ratios", self.likelihood_ratios[start:stop])
        return part

    def loaded(self) -> Trajectory:
        """Return the trajectory with its arrays in memory, where this one's are."""
        return self


def _as_columns(values: ArrayLike, what: str) -> Array:
    array = _numbers(values, what)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise InputError(f"{what} have shape {array.shape}; they must be (ticks, columns)")
    array.setflags(write=False)
    return array


def _numbers(values: ArrayLike, what: str) -> Array:
    """Return a copy in float64; None becomes NaN."""
    wanted = f"{what} must be an array of real numbers"
    try:
        given = np.asarray(values)
        if given.dtype.kind in _REAL:
            return np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # ragged lists; objects that are no numbers
        raise InputError(f"{wanted}, with rows of one length") from None
    raise InputError(f"{wanted}; these are of type {given.dtype}")


def _period(period: Any) -> float:
    wanted = "it must be a positive number of seconds"
    if isinstance(period, str):
        raise InputError(f"period is the text {shown(period)}; {wanted}")
    try:
        seconds = float(period)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"period is {shown(period)}; {wanted}") from None
    if not (np.isfinite(seconds) and seconds > 0):
        raise InputError(f"period is {period}; {wanted}")
    return seconds


def _ratios(values: ArrayLike | None, ticks: int) -> Array | None:
    if values is None:
        return None
    ratios = _numbers(values, "likelihood ratios")
    if ratios.shape != (ticks,) or not (np.isfinite(ratios) & (ratios >= 0)).all():
        raise InputError(
            f"likelihood ratios have shape {ratios.shape}; they must be one finite number of at"
            f" least 0 for each of {ticks} ticks"
        )
    ratios.setflags(write=False)
    return ratios


def _memory(ticks: int | None) -> int | None:
    if ticks is not None and not (isinstance(ticks, int) and ticks >= 0):
        raise InputError(f"the policy's memory is {ticks!r}; it must be a number of ticks, or None")
    return ticks


def default_names(what: str, columns: int) -> tuple[str, ...]:
    """Return the names of columns that were given none, such as ``observation[0]``."""
    return tuple(f"{what}[{i}]" for i in range(columns))


def _names(names: Iterable[str] | None, columns: Array, what: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise InputError(f"{what}_names is the text {shown(names)}; give a list of names")
    try:
        given = () if names is None else tuple(names)
    except TypeError:
        raise InputError(f"{what}_names is {shown(names)}; give a list of names") from None
    if not given:
        return default_names(what, columns.shape[1])
    if len(given) != columns.shape[1]:
        count = counted(len(given), f"{what} name")
        raise InputError(f"{count} for {counted(columns.shape[1], 'column')}; give one for each")
    for place, name in enumerate(given):
        if not isinstance(name, str):
            raise InputError(f"{what} name {shown(name)} is no text; give every column a name")
        if name in given[:place]:
            raise InputError(
                f"{what} name {shown(name)} stands twice; give every column a name of its own"
            )
    return tuple(map(str, given))


def check_finite(
    observations: Array,
    actions: Array,
    observation_names: Sequence[str],
    action_names: Sequence[str],
    first: int = 0,
) -> None:
    """Refuse infinite observations and actions that are not finite; the rows begin at ``first``.

    Raises
    ------
    InputError
        If there is one; it says which and at which tick.
    """
    for bad, names, what, fault in (
        (np.isinf(observations), observation_names, "observation", "infinite"),
        (~np.isfinite(actions), action_names, "action", "not finite"),
    ):
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise InputError(f"{what} '{names[column]}' is {fault} at tick {first + row}")
