"""A simulated robot in a closed loop, tick by tick, with a controller of either kind.

A command that answers an observation acts from the tick after the one under way, as in the nodes
when simulator and controller wait for each other. What is said of the controller node's loop holds
of the node: it publishes what this loop decides.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.control.courses import World
from rffpsr_ros.control.loop import ControlLoop
from rffpsr_ros.control.monitor import Tolerance
from rffpsr_ros.control.settings import ControlSettings, task_of
from rffpsr_ros.control.supervision import Supervisor
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.system import System

SETTLE = 40
"""Ticks at rest before the course begins."""
JUDGED_FROM = 20
"""Ticks of the course after which errors count."""


class Controller(Protocol):
    """Gives the command that answers an observation."""

    def begin(self, course: Array) -> None:
        """Take the course (n, joints); its first row is for the tick after the next."""
        ...

    def answer(self, seen: Array) -> Array:
        """Return the command (d_a,) after an observation (d_o,)."""
        ...


class Course(NamedTuple):
    """A course as it was driven: rows (n, joints) asked for, seen, and commands (n, d_a)."""

    asked: Array
    seen: Array
    commands: Array

    @property
    def error(self) -> float:
        """Mean squared error (rad^2), joints together."""
        return float(np.mean((self.seen - self.asked)[JUDGED_FROM:] ** 2))


def drive(system: System, controller: Controller, course: Array, rest: ArrayLike) -> Course:
    """Return what becomes of a robot that starts in a state of rest, given a course (n, joints).

    The course is handed over before a tick closes, and begins with the tick after that one.
    """
    state, in_force = np.array(rest), np.zeros(len(system.action_names))
    command = in_force
    joints = course.shape[1]
    seen, commands = [], []
    for tick in range(SETTLE + 1 + len(course)):
        if tick == SETTLE:
            controller.begin(course)
        state = system.step(state, in_force)
        in_force = command
        command = controller.answer(system.observe(state))
        seen.append(system.observe(state)[:joints])
        commands.append(command)
    first = SETTLE + 1
    return Course(course, np.array(seen[first:]), np.array(commands[first:]))


class Feedback:
    """A PD controller: torques from the errors of places and speeds, within the limits.

    Speeds that are not observed are the differences of places.
    """

    def __init__(self, world: World, stiffness: Array, damping: Array) -> None:
        self._low, self._high = np.array(world.low), np.array(world.high)
        self._stiffness, self._damping = world.sense * stiffness, world.sense * damping
        self._speeds_seen, self._period = world.speeds_seen, world.period
        self._course = np.zeros((1, world.joints))
        self._row = 0
        self._places = np.zeros(world.joints)

    def begin(self, course: Array) -> None:
        """See `Controller`."""
        self._course, self._row = course, -1

    def answer(self, seen: Array) -> Array:
        """See `Controller`; it aims at the tick in which its command acts."""
        self._row += 1
        count = self._course.shape[1]
        rows = np.clip([self._row + 1, self._row + 2], 0, len(self._course) - 1)
        wanted, following = self._course[rows]
        wanted_speed = (following - wanted) / self._period
        places, before = seen[:count], self._places
        self._places = places
        speed = seen[count:] if self._speeds_seen else (places - before) / self._period
        torque = self._stiffness * (wanted - places) + self._damping * (wanted_speed - speed)
        return np.asarray(np.clip(torque, self._low, self._high))


class Predictive:
    """The controller node's loop with a model."""

    def __init__(
        self,
        world: World,
        model: PredictiveModel[Any],
        horizon: int,
        adapt: bool = False,
        **tuned: Any,
    ) -> None:
        options = FollowOptions(horizon, adapt=adapt)
        self._follower = Follower(model, options)
        settings = ControlSettings(
            horizon=horizon, limits_low=world.low, limits_high=world.high, **tuned
        )
        task = task_of(settings, self._follower.model)._replace(budget=60.0)  # time stands still
        tolerance = Tolerance(range_margin=0.0, error_limit=0.0)  # nothing is broken here
        self._loop = ControlLoop(self._follower, task, horizon, Supervisor(), tolerance)
        self._now_ns, self._tick_ns = 10**12, round(world.period * 1e9)
        self._observed = len(model.signature.observation_names)
        self._channels = self._follower.configuration
        self._joints = world.joints
        self._loop.enable(self._now_ns)
        self.begin(np.zeros((1, self._joints)))

    @property
    def seconds(self) -> list[float]:
        """Return what planning took, tick by tick."""
        return list(self._loop.planner.seconds)

    @property
    def stops(self) -> dict[str, int]:
        """Return how often control was stopped, by reason."""
        return self._loop.supervisor.stops

    def begin(self, course: Array) -> None:
        """See `Controller`; speeds may be what they will."""
        free = np.full((len(course), self._observed - self._joints), np.nan)
        self._loop.reference.take(np.hstack([course, free]))

    def answer(self, seen: Array) -> Array:
        """See `Controller`."""
        self._now_ns += self._tick_ns
        observed, told = self._channels.observations[0], self._channels.actions[0]
        message = SimpleNamespace(data=seen)
        outcomes = self._follower.feed(observed.topic, self._now_ns, message, False)
        decision = self._loop.step(outcomes, self._now_ns)
        if decision is None or decision.command is None:
            return np.zeros(self._joints)
        command = decision.command
        sent = SimpleNamespace(data=command)
        self._follower.feed(told.topic, self._now_ns + 1, sent)
        return command


def tuned_feedback(
    world: World,
    trial: Callable[[Controller], float],
    trials: int,
    generator: np.random.Generator,
) -> tuple[Feedback, float]:
    """Return the best of so many PD controllers drawn at random, and its error."""
    reach = np.array(world.high)
    best: tuple[float, Feedback] | None = None
    for _ in range(trials):
        stiffness = reach * 10 ** generator.uniform(-0.5, 1.5, world.joints)
        damping = stiffness * 10 ** generator.uniform(-2.0, 0.0, world.joints)
        feedback = Feedback(world, stiffness, damping)
        error = trial(feedback)
        if best is None or error < best[0]:
            best = error, feedback
    assert best is not None
    return best[1], best[0]
