"""Model predictive path integral control (Williams et al. 2017): plans drawn, and averaged.

It asks a model for forecasts alone, of many plans at once, and so serves models whose forecasts
have no derivatives.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rffpsr_ros.control.problem import Plan, Problem
from rffpsr_ros.numerics.arrays import Array

SPREAD = 0.5
"""Standard deviation of what is drawn, in half ranges of the actions."""
SHRINKING = 0.7
"""The spread of every further round in that of the one before."""
LASTING = 0.7
"""Correlation of what is drawn from tick to tick: commands that jitter move nothing."""
TEMPERATURE = 0.3
"""In standard deviations of the costs: a plan dearer by so much counts a third as much."""


class PathIntegral:
    """A `Solver` for any model.

    Parameters
    ----------
    samples
        Plans drawn in a round.
    seed
        Of what is drawn.
    """

    def __init__(self, samples: int, seed: int = 0) -> None:
        self._samples = samples
        self._generator = np.random.default_rng(seed)

    def improve(self, problem: Problem, start: Array, more: Callable[[], bool]) -> Plan:
        """Return the best plan found; see `Solver`."""
        forecast = problem.forecast(start)
        best = Plan(start, forecast, float(problem.cost(start, forecast)), 0)
        centre, spread = start, SPREAD
        while more():
            drawn = self._drawn(problem, centre, spread)
            costs = problem.cost(drawn, problem.forecast(drawn))
            if not np.isfinite(costs).any():
                return best._replace(rounds=best.rounds + 1)
            centre = problem.limits.hold_all(_mean(drawn, costs), problem.before)
            tried = np.stack([centre, drawn[int(np.argmin(costs))]])
            forecasts = problem.forecast(tried)
            cost = problem.cost(tried, forecasts)
            place = int(np.argmin(cost))
            rounds = best.rounds + 1
            if cost[place] < best.cost:
                best = Plan(tried[place], forecasts[place], float(cost[place]), rounds)
            best = best._replace(rounds=rounds)
            spread *= SHRINKING
        return best

    def _drawn(self, problem: Problem, centre: Array, spread: float) -> Array:
        """Return plans (samples, n, d_a) around one, within the limits."""
        noise = self._generator.standard_normal((self._samples, *centre.shape))
        fresh = np.sqrt(1 - LASTING**2)
        for row in range(1, len(centre)):
            noise[:, row] = LASTING * noise[:, row - 1] + fresh * noise[:, row]
        drawn = centre + spread * problem.limits.half_range * noise
        return problem.limits.hold_all(drawn, problem.before)


def _mean(drawn: Array, costs: Array) -> Array:
    """Return the mean of plans, those that cost less counting more."""
    known = costs[np.isfinite(costs)]
    width = max(float(known.std()), 1e-12)
    dearer = np.minimum(costs, known.max()) - known.min()
    weights = np.exp(-dearer / (TEMPERATURE * width))
    weights = np.where(np.isfinite(costs), weights, 0.0)
    return np.asarray(np.tensordot(weights / weights.sum(), drawn, axes=1))
