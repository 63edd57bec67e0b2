"""What a plan costs: squared distance from the reference, effort, changes, and limits left.

With forecast y (H, d_o) of a plan u (n, d_a), in units of their scales,

    sum q (y - reference)^2 + sum r (u - rest)^2 + sum s (u_t - u_{t-1})^2
        + c sum (distance of y outside of its limits)^2.

Every part is a square, so Gauss and Newton's method has its second derivatives from the first ones
of the forecast.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array


class PlanCost(NamedTuple):
    """Weights and scales; those of observations (d_o,), those of actions (d_a,)."""

    observation_scale: Array
    action_scale: Array
    tracking: Array
    effort: Array
    change: Array
    rest: Array
    """The action that takes no effort."""
    low: Array
    high: Array
    """(H, d_o): what observations shall stay within; infinite: anywhere."""
    limit: float
    """The weight of leaving them."""

    def cost(self, forecast: Array, reference: Array, plan: Array, before: Array) -> Array:
        """Return the costs (...) of plans (..., n, d_a) with forecasts (..., H, d_o).

        The reference (H, d_o) is NaN where anything will do; ``before`` (d_a,) is the action ahead
        of the plan's first.
        """
        off, beyond = self._off(forecast, reference), self._beyond(forecast)
        effort = (plan - self.rest) / self.action_scale
        steps = self._steps(plan, before)
        return np.asarray(
            (self.tracking * off**2).sum((-2, -1))
            + self.limit * (beyond**2).sum((-2, -1))
            + (self.effort * effort**2).sum((-2, -1))
            + (self.change * steps**2).sum((-2, -1))
        )

    def quadratic(
        self, forecast: Array, jacobian: Array, reference: Array, plan: Array, before: Array
    ) -> tuple[Array, Array]:
        """Return second derivatives (N, N) and gradient (N,) of half the cost, N = n d_a.

        They are by the plan in units of the actions' scale; the forecast's derivatives
        (H, d_o, n, d_a) are by the plan as it is.
        """
        off, beyond = self._off(forecast, reference), self._beyond(forecast)
        weight = self.tracking * (off != 0) + self.limit * (beyond != 0)
        slope = (jacobian * self.action_scale) / self.observation_scale[:, None, None]
        rows = slope.reshape(off.size, -1)
        gradient = (self.tracking * off + self.limit * beyond).ravel() @ rows
        second = rows.T @ (weight.ravel()[:, None] * rows)
        count = len(plan)
        effort = np.tile(self.effort, count)
        gradient = gradient + effort * ((plan - self.rest) / self.action_scale).ravel()
        second[np.diag_indices_from(second)] += effort
        change, pull = differences(count, len(self.rest)), np.tile(self.change, count)
        second += change.T @ (pull[:, None] * change)
        gradient = gradient + change.T @ (pull * self._steps(plan, before).ravel())
        return second, gradient

    def _off(self, forecast: Array, reference: Array) -> Array:
        off = (forecast - reference) / self.observation_scale
        return np.where(np.isnan(reference), 0.0, off)

    def _beyond(self, forecast: Array) -> Array:
        over = np.maximum(forecast - self.high, 0.0) - np.maximum(self.low - forecast, 0.0)
        return np.asarray(over / self.observation_scale)

    def _steps(self, plan: Array, before: Array) -> Array:
        first = np.broadcast_to(before, (*plan.shape[:-2], 1, plan.shape[-1]))
        steps = np.diff(np.concatenate([first, plan], axis=-2), axis=-2)
        return np.asarray(steps / self.action_scale)


def differences(count: int, columns: int) -> Array:
    """Return what takes a plan (n, d_a), as (n d_a,), to its changes from row to row.

    The first row stays as it is.
    """
    size = count * columns
    return np.eye(size) - np.eye(size, k=-columns)
