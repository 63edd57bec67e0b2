"""From tick to tick: a plan that goes on from the one before, within a budget of time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import perf_counter

import numpy as np

from rffpsr_ros.control.problem import Plan, Problem, Solver
from rffpsr_ros.models.usable import usable
from rffpsr_ros.numerics.arrays import Array

REMEMBERED = 20
"""Rounds whose times tell how long the next one takes."""


class Planner:
    """Asks a solver, starting from what is left of the plan before.

    Parameters
    ----------
    solver
        Which.
    budget
        Seconds that planning may take. No round is begun that would take longer by what rounds took
        lately; the first is made in any case.
    now
        Seconds of a steady clock.

    Attributes
    ----------
    seconds
        What planning took lately.
    """

    def __init__(
        self, solver: Solver, budget: float, now: Callable[[], float] = perf_counter
    ) -> None:
        self._solver, self._budget, self._now = solver, budget, now
        self._left: Array | None = None
        self._rounds: deque[float] = deque(maxlen=REMEMBERED)
        self.seconds: deque[float] = deque(maxlen=1000)

    def forget(self) -> None:
        """Start the next plan anew."""
        self._left = None

    def plan(self, problem: Problem, count: int) -> Plan | None:
        """Return the best plan of so many actions that was found; None: there is none to be used.

        Whatever a solver does, the plan is within the limits.
        """
        began = self._now()
        start = self._start(problem, count)
        made = 0

        def more() -> bool:
            nonlocal made
            spent = self._now() - began
            if made:
                self._rounds.append(spent / made)
            expected = max(self._rounds) if self._rounds else 0.0
            if made and spent + expected > self._budget:
                return False
            made += 1
            return True

        with np.errstate(all="ignore"):
            found = self._solver.improve(problem, start, more)
        self.seconds.append(self._now() - began)
        if not found.usable:
            self._left = None
            return None
        allowed = problem.limits.hold_all(found.actions, problem.before)
        if not np.array_equal(allowed, found.actions):
            found = found._replace(actions=allowed)
        self._left = allowed[1:]
        return found

    def _start(self, problem: Problem, count: int) -> Array:
        """Return what is left of the plan before, its last action held; the last command at first.

        Where the forecast of that runs away, it is the last command too.
        """
        held = np.repeat(problem.before[None], count, axis=0)
        if self._left is None or not len(self._left):
            return problem.limits.hold_all(held, problem.before)
        places = np.minimum(np.arange(count), len(self._left) - 1)
        start = problem.limits.hold_all(self._left[places], problem.before)
        if usable(problem.forecast(start)):
            return start
        return problem.limits.hold_all(held, problem.before)
