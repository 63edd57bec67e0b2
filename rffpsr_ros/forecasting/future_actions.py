"""Which actions a forecast assumes: the last command held, zero, or a plan that was announced.

Rows of a plan belong to ticks by number: row 0 to the tick in which a command sent together with
the plan acts, and so on. Until then the plan before it holds.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.signals.sampler import Sampler

Mode = Literal["hold", "zero", "topic"]
MODES: tuple[str, ...] = get_args(Mode)

HOLD = "hold"
ZERO = "zero"
PLAN = "plan"
NO_PLAN_YET = "hold (no plan yet)"
PLAN_OVER = "hold (plan is over)"

CLOCKS_AGREE_WITHIN = 10
"""Ticks by which the times of a plan and of the observations may differ if they share a clock."""


class Assumption(NamedTuple):
    """The actions (H, d_a) of a forecast, and in words where they come from."""

    actions: Array
    words: str


class _Plan(NamedTuple):
    """Actions (n, d_a) from the tick with the number ``first`` on."""

    first: int
    rows: Array


class FutureActions:
    """The assumed actions at every tick."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self._plans: list[_Plan] = []
        self._waiting: tuple[Array, int] | None = None

    def announce(self, plan: Array, received_ns: int, sampler: Sampler) -> None:
        """Take a plan (n, d_a), see `check_plan`, for the ticks in which its commands act.

        It gets them by its time, as a command does, not by order of arrival: a plan may overtake
        the observation that it answers. Only where it was received by another clock than that of
        the stamps, as when a bag is played, does its place in line count. Between segments it waits
        for the next one.
        """
        if sampler.running:
            self._place(plan, received_ns, sampler, sampler.tick_under_way + 1)
        else:
            self._waiting = plan, received_ns

    def settle(self, sampler: Sampler) -> None:
        """Give a plan that waited for the segment its ticks, once the first of these has closed."""
        if self._waiting is not None:
            self._place(*self._waiting, sampler, by_order=1)
            self._waiting = None

    def _place(self, plan: Array, received_ns: int, sampler: Sampler, by_order: int) -> None:
        first = sampler.first_tick_from(received_ns) if sampler.running else by_order
        agree = abs(first - by_order) <= CLOCKS_AGREE_WITHIN
        self.take_plan(plan, first if agree else by_order)

    def take_plan(self, plan: Array, first: int) -> None:
        """Take a plan (n, d_a) for the ticks from number ``first`` on, see `check_plan`."""
        before = [known for known in self._plans if known.first < first]
        self._plans = [*before[-1:], _Plan(first, plan)]

    def forget(self) -> None:
        """Drop every plan."""
        self._plans, self._waiting = [], None

    def ahead(self, horizon: int, last: Array, tick: int) -> Assumption:
        """Return the actions of ``horizon`` ticks from number ``tick`` on.

        ``last`` (d_a,) is the last command.
        """
        if self.mode == "zero":
            return Assumption(np.zeros((horizon, len(last))), ZERO)
        actions = np.repeat(last[None], horizon, axis=0)
        if self.mode == "hold":
            return Assumption(actions, HOLD)
        words = PLAN_OVER if self._plans else NO_PLAN_YET
        for plan in self._plans:
            if tick - len(plan.rows) < plan.first < tick + horizon:
                words = PLAN
                ahead = np.arange(max(tick, plan.first), tick + horizon)
                rows = np.minimum(ahead - plan.first, len(plan.rows) - 1)
                actions[ahead - tick] = plan.rows[rows]
        return Assumption(actions, words)


def check_plan(plan: Array, columns: int) -> None:
    """Refuse a plan that does not fit ``columns`` action columns.

    Raises
    ------
    InputError
        If it is not (n, d_a) with n at least 1, or a value is not finite.
    """
    if plan.ndim != 2 or plan.shape[1] != columns or not len(plan):
        raise InputError(
            f"a plan has shape {plan.shape}; it must be (ticks ahead, {columns}),"
            " one column per action"
        )
    if not np.isfinite(plan).all():
        raise InputError("a plan holds a value that is not finite; every action must be")


def plan_in(message: Any, columns: int, what: str = "a plan") -> Array:
    """Return the plan (n, d_a) in a std_msgs/msg/Float64MultiArray: horizon x action, row by row.

    Without a layout the number of columns is that of the model's actions.

    Raises
    ------
    InputError
        If the numbers do not fill whole rows.
    """
    values = np.asarray(message.data, dtype=np.float64)[int(message.layout.data_offset) :]
    dimensions = message.layout.dim
    width = int(dimensions[1].size) if len(dimensions) > 1 else columns
    if width < 1 or len(values) == 0 or len(values) % width:
        raise InputError(
            f"{what} holds {len(values)} numbers in rows of {width};"
            f" it must hold whole rows of {columns}, one number per column"
        )
    return values.reshape(-1, width)
