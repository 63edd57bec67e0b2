"""Gauss and Newton's method for plans: the forecast's derivatives, a quadratic programme, a search.

Each round replaces the forecast by its tangent, solves what then is a quadratic programme within
the limits, and goes as far towards its solution as the true cost falls. Both ends of that way are
within the limits, which are convex, so all of it is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rffpsr_ros.control.problem import Plan, Problem
from rffpsr_ros.control.quadratic import least_within
from rffpsr_ros.numerics.arrays import Array

SHARES = np.array([1.0, 0.5, 0.25, 0.1, 0.03])
"""Of the way to the tangent's solution that are tried."""
ENOUGH = 1e-3
"""Once a round lowers the cost by no more than this share, there is no next one."""
DAMPING = 1e-6
"""In mean second derivatives: keeps steps finite where the forecast says nothing."""


class GaussNewton:
    """A `Solver` for models whose forecasts have derivatives."""

    def improve(self, problem: Problem, start: Array, more: Callable[[], bool]) -> Plan:
        """Return the best plan found; see `Solver`."""
        forecast = problem.forecast(start)
        best = Plan(start, forecast, float(problem.cost(start, forecast)), 0)
        while more():
            better = self._round(problem, best)
            if not better.cost < best.cost:
                return best._replace(rounds=better.rounds)
            gain, best = best.cost - better.cost, better
            if gain <= ENOUGH * best.cost:
                break
        return best

    def _round(self, problem: Problem, best: Plan) -> Plan:
        aim = self._aim(problem, best)
        shares = SHARES[:, None, None]
        tried = best.actions + shares * (aim - best.actions)
        forecasts = problem.forecast(tried)
        costs = problem.cost(tried, forecasts)
        place = int(np.argmin(costs))
        return Plan(tried[place], forecasts[place], float(costs[place]), best.rounds + 1)

    def _aim(self, problem: Problem, best: Plan) -> Array:
        """Return the plan that were best if the forecast were its tangent."""
        objective, limits = problem.objective, problem.limits
        actions = problem.actions(best.actions)
        jacobian = problem.model.jacobian_along(problem.state, actions, best.forecast)[:, :, 1:]
        second, gradient = objective.quadratic(
            best.forecast, jacobian, problem.reference, best.actions, problem.before
        )
        second[np.diag_indices_from(second)] += DAMPING * max(np.trace(second) / len(second), 1e-9)
        scale = objective.action_scale
        place = (best.actions / scale).ravel()
        low, high = limits.low / scale, limits.high / scale
        step, before = limits.step / scale, problem.before / scale
        aim = least_within(second, gradient - second @ place, low, high, step, before)
        return limits.hold_all(aim * scale, problem.before)
