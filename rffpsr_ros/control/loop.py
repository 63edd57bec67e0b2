"""The control loop without its surroundings: ticks in, commands out.

It knows neither topics nor clocks, so that what a node publishes can be tested whatever the solver,
the robot and the user do. Times are nanoseconds of the node's clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.control.monitor import ObservationMonitor, Tolerance
from rffpsr_ros.control.planner import Planner
from rffpsr_ros.control.problem import Plan, Problem
from rffpsr_ros.control.reference import Reference
from rffpsr_ros.control.settings import ControlTask
from rffpsr_ros.control.supervision import Phase, Supervisor
from rffpsr_ros.errors import shown
from rffpsr_ros.forecasting.follower import Follower, Outcome, Step
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.signals.events import Tick

LATE = "observations lie in a queue for too long (stale_ticks)"
NO_PLAN = "the solver found no plan that could be used"


class Decision(NamedTuple):
    """What is to be published: a command (d_a,), or None for none, and the plan it is part of.

    ``origin_ns`` is when the newest observation was made that the plan rests on.
    """

    command: Array | None
    plan: Plan | None
    phase: Phase
    origin_ns: int = 0


class ControlLoop:
    """Decides on the command of every tick.

    Parameters
    ----------
    follower
        Of the robot; whoever feeds it hands its outcomes to `step`.
    task, horizon
        What to do, and for how many ticks to plan.
    supervisor
        Whether it may be done.
    tolerance
        Of what is seen.
    reference_timeout
        Seconds for which the end of a reference holds; 0: for ever.
    dry_run
        Whether to plan only, and never give a command.

    Attributes
    ----------
    follower, supervisor
        As given.
    monitor
        What is seen.
    planner
        What plans.
    reference
        What to follow.
    failure
        Why the solver failed last, if it raised something.
    """

    def __init__(
        self,
        follower: Follower,
        task: ControlTask,
        horizon: int,
        supervisor: Supervisor,
        tolerance: Tolerance,
        reference_timeout: float = 0.0,
        dry_run: bool = False,
    ) -> None:
        self.follower, self.supervisor = follower, supervisor
        self.monitor = ObservationMonitor(follower.model, tolerance)
        self.planner = Planner(task.solver, task.budget)
        self.reference = Reference(follower.model.signature.observation_names, self._absurd)
        self._task, self._horizon, self._dry_run = task, horizon, dry_run
        self._period = follower.configuration.period
        self._silent_ns = round(tolerance.stale_ticks * self._period * 1e9)
        self._reference_ticks = reference_timeout / self._period
        self._sent: Array | None = None
        self._ticked_ns: int | None = None
        self.failure = ""

    def enable(self, now_ns: int) -> None:
        """Let control begin as soon as nothing speaks against it."""
        if self.supervisor.phase != "controlling":
            self._sent = None
            self.planner.forget()
        self.supervisor.enable(now_ns / 1e9)

    def disable(self, reason: str) -> Decision:
        """End control; the decision is the last one."""
        was_enabled = self.supervisor.enabled
        self.supervisor.disable(reason)
        return self._safely() if was_enabled else Decision(None, None, "disabled")

    def stop(self, reason: str) -> Decision:
        """End control until it is enabled again."""
        self.supervisor.stop(reason)
        enabled = self.supervisor.enabled
        return self._safely() if enabled else Decision(None, None, "disabled")

    def reset(self, reason: str, start: str) -> Decision:
        """Forget the belief; control ends."""
        self.follower.reset(reason, start)
        self.monitor.begin()
        self._ticked_ns = None
        return self.stop(f"the belief was reset ({reason})")

    def change(self, task: ControlTask) -> None:
        """Go on with another task; the limits are those of before."""
        self._task = task

    def step(self, outcomes: Sequence[Outcome], now_ns: int, late_ns: int = 0) -> Decision | None:
        """Take what the follower gave for a message, and decide; None: there was no tick.

        The message lay in a queue for ``late_ns``.
        """
        ended = ""
        for place, outcome in enumerate(outcomes, 1):
            if isinstance(outcome, Step):
                self.reference.advance()
                # Of several ticks the states on the way are not known any more.
                state = self.follower.state if place == len(outcomes) else None
                self.monitor.tick(state, outcome.tick.action, outcome.tick.observation)
            else:
                self.monitor.begin()
                self._ticked_ns, ended = None, f"a segment ended ({outcome.cause})"
        if not outcomes:
            return None
        newest = outcomes[-1]
        if ended or not isinstance(newest, Step):
            return self._judged([ended], now_ns)
        self.monitor.model = self.follower.model
        self._ticked_ns = now_ns
        late = [LATE] if late_ns >= self._silent_ns else []
        decision = self._judged([*late, *self.against], now_ns)
        if decision.phase != "controlling":
            return decision
        return self._controlled(newest.tick, self.follower.next_action)

    def _controlled(self, tick: Tick, under_way: Array | None) -> Decision:
        plan = None if under_way is None else self._plan(under_way)
        if plan is None:
            return self.stop(NO_PLAN)
        if self._dry_run:
            return Decision(None, plan, "controlling", tick.stamp_ns)
        return Decision(self._send(plan.actions[0]), plan, "controlling", tick.stamp_ns)

    def watch(self, now_ns: int) -> Decision:
        """Look whether all is in order while nothing arrives, a few times in a tick."""
        silent = self._ticked_ns is None or now_ns - self._ticked_ns >= self._silent_ns
        against = [f"no tick for {self._silent_ns / 1e9:.3g} s (stale_ticks)"] if silent else []
        if not silent and self.supervisor.phase != "controlling":
            return Decision(None, None, self.supervisor.phase)  # `step` tells
        return self._judged(against, now_ns)

    @property
    def against(self) -> list[str]:
        """Sentences on all that spoke against control at the newest tick."""
        against = self.monitor.against
        if not self.reference.given:
            against.append("there is no ~/reference yet")
        elif self._reference_ticks and self.reference.ticks_since_end > self._reference_ticks:
            against.append("the ~/reference has ended (reference_timeout)")
        return against

    def _absurd(self, rows: Array) -> Array | None:
        """Return which values (n, d_o) would be rejected if they were observed; None: none."""
        return self.follower.guard.gate.observed.outside(rows)

    def _judged(self, against: list[str], now_ns: int) -> Decision:
        """Return the decision so far: the safe command wherever there is no control."""
        was_enabled = self.supervisor.enabled
        phase = self.supervisor.judge(against, now_ns / 1e9)
        if phase == "controlling":
            return Decision(None, None, phase)
        return self._safely() if was_enabled else Decision(None, None, phase)

    def _safely(self) -> Decision:
        self.planner.forget()
        phase = self.supervisor.phase
        if self._dry_run:
            return Decision(None, None, phase)
        self._sent = self._task.safe
        return Decision(self._task.safe.copy(), None, phase)

    def _plan(self, under_way: Array) -> Plan | None:
        task = self._task
        before = under_way if self._sent is None or self._dry_run else self._sent
        problem = Problem(
            self.follower.model,
            self.follower.state,
            under_way,
            before,
            self.reference.ahead(self._horizon),
            task.objective,
            task.limits,
        )
        try:
            return self.planner.plan(problem, self._horizon - 1)
        except Exception as fault:  # whatever a solver does, the robot gets the safe command
            self.failure = f"{type(fault).__name__} {shown(fault, 200)}"
            return None

    def _send(self, action: Array) -> Array:
        """Return the command that is sent for an action; the limits hold whatever it was."""
        before = self._sent if self._sent is not None else self.follower.next_action
        if before is None or not np.isfinite(before).all():
            before = self._task.safe
        self._sent = self._task.limits.hold(action, before)
        return self._sent.copy()
