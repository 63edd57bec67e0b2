"""Which actions a forecast assumes: the last command held, zero, or a plan that was announced.

Row 0 of a plan acts during the first tick of the next forecast; that is the tick in which a command
sent together with the plan acts. As ticks pass, rows that lie in the past are dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.numerics.arrays import Array

Mode = Literal["hold", "zero", "topic"]
MODES: tuple[str, ...] = get_args(Mode)

HOLD = "hold"
ZERO = "zero"
PLAN = "plan"
NO_PLAN_YET = "hold (no plan yet)"
PLAN_OVER = "hold (plan is over)"


class Assumption(NamedTuple):
    """The actions (H, d_a) of a forecast, and in words where they come from."""

    actions: Array
    words: str


class FutureActions:
    """The assumed actions at every tick, for ``columns`` action columns."""

    def __init__(self, mode: str, columns: int) -> None:
        self.mode = mode
        self._columns = columns
        self._plan: Array | None = None
        self._row = 0
        self._without_plan = NO_PLAN_YET

    def take_plan(self, plan: Array) -> None:
        """Take a plan (n, d_a), n at least 1; it replaces the one before.

        Raises
        ------
        InputError
            If its shape does not fit, or a value is not finite.
        """
        if plan.ndim != 2 or plan.shape[1] != self._columns or not len(plan):
            raise InputError(
                f"a plan has shape {plan.shape}; it must be (ticks ahead, {self._columns}),"
                " one column per action"
            )
        if not np.isfinite(plan).all():
            raise InputError("a plan holds a value that is not finite; every action must be")
        # The tick under way closes before the next forecast, and is not part of the plan.
        self._plan, self._row = plan, -1

    def limit_plan(self, limit: Callable[[Array], Array]) -> None:
        """Replace the rows of the plan by what ``limit`` makes of them."""
        if self._plan is not None:
            self._plan = limit(self._plan)

    def advance(self) -> None:
        """Take note that a tick has closed."""
        if self._plan is None:
            return
        self._row += 1
        if self._row >= len(self._plan):
            self.forget(PLAN_OVER)

    def forget(self, words: str = NO_PLAN_YET) -> None:
        """Drop the plan."""
        self._plan = None
        self._without_plan = words

    def ahead(self, horizon: int, last: Array) -> Assumption:
        """Return the actions of the next ``horizon`` ticks, given the ``last`` command (d_a,)."""
        if self.mode == "zero":
            return Assumption(np.zeros((horizon, len(last))), ZERO)
        if self.mode == "topic" and self._plan is not None:
            rows = np.minimum(max(self._row, 0) + np.arange(horizon), len(self._plan) - 1)
            return Assumption(self._plan[rows], PLAN)
        words = HOLD if self.mode == "hold" else self._without_plan
        return Assumption(np.repeat(last[None], horizon, axis=0), words)


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
