"""One tick's question to a solver, what it answers, and how a solver is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from rffpsr_ros.control.limits import ActionLimits
from rffpsr_ros.control.plan_cost import PlanCost
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.usable import usable
from rffpsr_ros.numerics.arrays import Array


@dataclass(frozen=True)
class Problem:
    """Which plan (n, d_a) is best, of H = n + 1 ticks.

    A command sent now acts from the tick after the one under way: the forecast's first row is for
    the tick under way, whose action ``under_way`` (d_a,) is known.
    """

    model: PredictiveModel[Any]
    state: Any
    under_way: Array
    before: Array
    """The command (d_a,) sent last: rates are limited from it."""
    reference: Array
    """(H, d_o); NaN: anything will do."""
    objective: PlanCost
    limits: ActionLimits

    def actions(self, plan: Array) -> Array:
        """Return what acts (..., H, d_a) under plans (..., n, d_a)."""
        first = np.broadcast_to(self.under_way, (*plan.shape[:-2], 1, plan.shape[-1]))
        return np.concatenate([first, plan], axis=-2)

    def forecast(self, plan: Array) -> Array:
        """Return the forecasts (..., H, d_o) of plans."""
        return self.model.forecast(self.state, self.actions(plan))

    def cost(self, plan: Array, forecast: Array) -> Array:
        """Return the costs (...) of plans; infinite where a forecast is no usable number."""
        with np.errstate(all="ignore"):
            cost = self.objective.cost(forecast, self.reference, plan, self.before)
        return np.where(np.isfinite(cost), cost, np.inf)


class Plan(NamedTuple):
    """A plan (n, d_a) within the limits, its forecast (H, d_o) and cost, and the rounds it took."""

    actions: Array
    forecast: Array
    cost: float
    rounds: int

    @property
    def usable(self) -> bool:
        """Whether its numbers can be used."""
        return bool(np.isfinite(self.cost)) and usable(self.actions) and usable(self.forecast)


class Solver(Protocol):
    """Makes a plan better until there is no more time."""

    def improve(self, problem: Problem, start: Array, more: Callable[[], bool]) -> Plan:
        """Return the best plan found from ``start`` (n, d_a), which is within the limits.

        ``more`` tells before every round whether there is time for one.
        """
        ...
