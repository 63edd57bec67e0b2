"""Classes of recordings that are hard to learn from, as tasks with several draws.

    python -m benchmarks.compare --data pendulum motor

A draw is a data set of its own. Draws 0 to 2 are for development; draws from `REPORTING` on are
looked at to report only: `reporting` makes a task of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from benchmarks.coupled_drives import CoupledDrives
from benchmarks.hard_systems import (
    HeatedStream,
    HeatingMotor,
    Levitation,
    Rover,
    StiffeningBeam,
    WalledPendulum,
    WornArm,
    levitating,
)
from benchmarks.tasks import Material, Task
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.system import Policy, System, dataset, open_loop

REPORTING = 10
"""The first draw that is for reports only."""
REPORTED = "_report"
"""How the names of tasks with such draws end."""

_TESTS = 1_000_000
"""Added to a draw for the seed of its tests, which must not begin like its training data."""


def held(system: System, seconds: float, share: float = 1.0) -> Callable[..., Policy]:
    """Return a maker of policies that hold random actions within a share of the limits."""
    low, high = (share * limit for limit in system.action_limits)

    def policy(generator: np.random.Generator) -> Policy:
        return open_loop(uniform_hold(generator, low, high, system.period, seconds))

    return policy


def pendulum(draw: int) -> Material:
    """Return the pendulum at a wall: 4 recordings of 500 ticks, and tests of 4 more."""
    system = WalledPendulum()
    return _material(system, held(system, 0.3), draw, 500, noise=0.002)


def drives(draw: int) -> Material:
    """Return drives whose speed has no sign: 4 recordings of 400 ticks, and tests of 4 more."""
    system = CoupledDrives()
    return _material(system, held(system, 0.2), draw, 400, noise=0.01)


def motor(draw: int) -> Material:
    """Return the motor that heats up: 4 recordings of 600 ticks, and tests of 4 more."""
    system = HeatingMotor()
    return _material(system, held(system, 0.5), draw, 600, noise=0.005)


def arm(draw: int) -> Material:
    """Return the arm with friction and play: 4 recordings of 600 ticks, and tests of 4 more."""
    system = WornArm()
    return _material(system, held(system, 0.4), draw, 600, noise=0.002)


def joints(draw: int) -> Material:
    """Return an arm of six joints: 4 recordings of 600 ticks, and tests of 4 more."""
    system = WornArm(joints=6)
    return _material(system, held(system, 0.4), draw, 600, noise=0.002)


def rover(draw: int) -> Material:
    """Return a rover: 4 recordings of 600 ticks about its home; tests there, and far away."""
    system = Rover()
    policy = held(system, 0.8)
    learned = dataset(system, policy, 5, 600, draw, noise=0.002)
    tests = {
        name: dataset(Rover(home), policy, 4, 600, draw + _TESTS, noise=0.002)
        for name, home in (("at home", (0.0, 0.0)), ("far away", (60.0, -40.0)))
    }
    return Material(learned[:4], learned[4:], tests)


def loop(draw: int) -> Material:
    """Return the levitated magnet under steps of its reference; tests are steps and a sweep."""
    system = Levitation()

    def steps(generator: np.random.Generator) -> Policy:
        levels = generator.uniform(0.85, 1.15, 200)
        return levitating(generator, system.period, lambda time: float(levels[int(time / 0.4)]))

    def sweep(generator: np.random.Generator) -> Policy:
        rate = generator.uniform(0.3, 0.6)

        def reference(time: float) -> float:
            return 1 + 0.12 * float(np.sin(rate * time * (1 + time)))

        return levitating(generator, system.period, reference)

    learned = dataset(system, steps, 5, 500, draw, noise=0.002)
    tests = {
        "steps": dataset(system, steps, 3, 500, draw + _TESTS, noise=0.002),
        "sweep": dataset(system, sweep, 3, 500, draw + _TESTS, noise=0.002),
    }
    return Material(learned[:4], learned[4:], tests)


def vibration(draw: int) -> Material:
    """Return a beam that rings down; tests are the later part of a record, and other swings."""
    system = StiffeningBeam()
    gentle = held(system, 0.2, share=0.3)
    (record,) = dataset(system, gentle, 1, 1000, draw, noise=0.005)
    small, large = (
        dataset(StiffeningBeam(swing), gentle, 3, 300, draw + _TESTS, noise=0.005)
        for swing in (0.4, 1.5)
    )
    learned, later = record.slice(0, 600), record.slice(600, 1000)
    tests = {"later": [later], "smaller swing": small, "larger swing": large}
    return Material([learned.slice(0, 500)], [learned.slice(500, 600)], tests)


def process(ticks: int) -> Callable[[int], Material]:
    """Return a loader of one short record of a slow process, and tests of 3 longer ones."""
    system = HeatedStream()

    def load(draw: int) -> Material:
        (record,) = dataset(system, held(system, 4.0), 1, ticks, draw, noise=0.02)
        cut = round(0.8 * ticks)
        tests = dataset(system, held(system, 4.0), 3, 400, draw + _TESTS, noise=0.02)
        return Material([record.slice(0, cut)], [record.slice(cut, ticks)], {"test": tests})

    return load


def _material(
    system: System, policy: Callable[..., Policy], draw: int, ticks: int, noise: float
) -> Material:
    learned = dataset(system, policy, 5, ticks, draw, noise)
    test: list[Trajectory] = dataset(system, policy, 4, ticks, draw + _TESTS, noise)
    return Material(learned[:4], learned[4:], {"test": test})


def reporting(task: Task) -> Task:
    """Return the task with the draws that are for reports only."""
    load = task.load
    return replace(task, name=f"{task.name}{REPORTED}", load=lambda draw: load(REPORTING + draw))


def _task(name: str, title: str, load: Callable[[int], Material]) -> Task:
    return Task(name, f"{title}; a set of its own for every run, scored from tick 20", load, True)


_ALL = (
    _task(
        "pendulum",
        "driven pendulum that bounces off a wall, .2 % noise: 4 training, 1 validation and 4 test"
        " recordings of 500 ticks",
        pendulum,
    ),
    _task(
        "drives",
        "drives on a belt whose speed is seen without its sign, 1 % noise: 4 training, 1 validation"
        " and 4 test recordings of 400 ticks",
        drives,
    ),
    _task(
        "motor",
        "motor with a dead time of 3 ticks, dry friction and a winding that heats up, .5 % noise:"
        " 4 training, 1 validation and 4 test recordings of 600 ticks",
        motor,
    ),
    _task(
        "arm",
        "two joints with dry friction, encoders behind play, .2 % noise: 4 training, 1 validation"
        " and 4 test recordings of 600 ticks; errors summed over 2 observations",
        arm,
    ),
    _task(
        "joints",
        "six joints with dry friction, encoders behind play, .2 % noise: 4 training, 1 validation"
        " and 4 test recordings of 600 ticks; errors summed over 6 observations",
        joints,
    ),
    _task(
        "rover",
        "rover whose wheels slip, .2 % noise: 4 training and 1 validation recordings of 600 ticks"
        " about its home; tests there, and far away; errors summed over 4 observations",
        rover,
    ),
    _task(
        "loop",
        "unstable magnetic levitation in closed loop, .2 % noise: 4 training and 1 validation"
        " recordings of 500 ticks under steps of the reference, tests under steps and a sweep",
        loop,
    ),
    _task(
        "vibration",
        "a beam that rings down, .5 % noise: 500 ticks training, 100 validation; tests are what"
        " follows, and recordings of a smaller and of a larger swing",
        vibration,
    ),
    *(
        _task(
            f"process{ticks}",
            f"slow process with a saturating valve and a dead time, 2 % noise: one record of"
            f" {ticks} ticks, the last fifth validation, tests of 3 recordings of 400 ticks",
            process(ticks),
        )
        for ticks in (120, 200, 500)
    ),
)
HARD_CLASSES: Mapping[str, Task] = {task.name: task for task in _ALL}
