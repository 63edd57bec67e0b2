"""What happens to the node, and when: every kind once a round, in an order drawn by a seed.

A fault of the robot is what becomes of its messages; a fault of the machine is done to the process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from rffpsr_ros.numerics.arrays import Array

QUIET_SECONDS = 4.0
"""At the beginning and at the end nothing happens."""
START_SECONDS = 15.0
"""After a kill at the end, so long: a busy machine may need it until there are forecasts."""
REST_SECONDS = 30.0
"""After each round nothing happens, either: then an alarm of diagnostics is a false one."""
KILL_EVERY_SECONDS = 1200.0
"""Killed more often, no node would live long enough for its memory to be judged."""


class Sample(NamedTuple):
    """A joint state: positions and efforts (6,), of as many names as there are."""

    stamp_ns: int
    position: Array
    effort: Array


class Plan(NamedTuple):
    """Actions announced on ``~/planned_actions``; ``sizes`` are what its layout claims."""

    values: Array
    sizes: tuple[int, ...]


Sent: TypeAlias = Sample | Plan
Alter: TypeAlias = Callable[[int, Sample], Sequence[Sent]]
"""Of the number of the fault's tick and the sample that was due, what is sent instead."""


class OfRobot(NamedTuple):
    """A fault of messages: how long it lasts, and how it is drawn for so many ticks."""

    seconds: float
    make: Callable[[np.random.Generator, int], Alter]
    jump_seconds: float = 0.0
    """By how much all stamps are shifted from then on."""


class Fault(NamedTuple):
    """A kind of fault at some seconds from the start."""

    kind: str
    at: float
    seed: int


def _silence(draw: np.random.Generator, ticks: int) -> Alter:
    return lambda tick, sample: []


def _burst(draw: np.random.Generator, ticks: int) -> Alter:
    held: list[Sample] = []

    def alter(tick: int, sample: Sample) -> Sequence[Sent]:
        held.append(sample)
        return held if tick == ticks - 1 else []

    return alter


def _not_numbers(draw: np.random.Generator, ticks: int) -> Alter:
    hit = draw.random(6) < draw.choice([0.3, 1.1])
    return lambda tick, sample: [
        sample._replace(position=np.where(hit, draw.choice([np.nan, np.inf]), sample.position))
    ]


def _no_efforts(draw: np.random.Generator, ticks: int) -> Alter:
    return lambda tick, sample: [sample._replace(effort=np.full(6, np.nan))]


def _far_off(draw: np.random.Generator) -> Array:
    size = draw.choice([1e6, 1e30, 1e300, np.finfo(float).max])
    return np.asarray(draw.choice([-1.0, 1.0], 6) * size)


def _huge(draw: np.random.Generator, ticks: int) -> Alter:
    return lambda tick, sample: [sample._replace(position=_far_off(draw))]


def _huge_efforts(draw: np.random.Generator, ticks: int) -> Alter:
    return lambda tick, sample: [sample._replace(effort=_far_off(draw))]


def _lengths(draw: np.random.Generator, ticks: int) -> Alter:
    def cut(values: Array) -> Array:
        return np.resize(values, int(draw.choice([0, 1, 5, 7, 600])))

    return lambda tick, sample: [
        sample._replace(position=cut(sample.position), effort=cut(sample.effort))
    ]


def _far_stamp(draw: np.random.Generator, ticks: int) -> Alter:
    seconds = int(draw.choice([0, 2**31 - 1]))
    return lambda tick, sample: [sample._replace(stamp_ns=seconds * 10**9)]


def _wrong_plans(draw: np.random.Generator, ticks: int) -> Alter:
    shapes = [(10, 5), (6,), (0,), (10, 6, 2), (2**31, 2**31), (10, 0), (3, 6)]

    def alter(tick: int, sample: Sample) -> Sequence[Sent]:
        sizes = shapes[int(draw.integers(len(shapes)))]
        count = min(round(float(np.prod([float(size) for size in sizes]))), 60) - tick % 2
        bad = draw.choice([0.1, np.nan, np.inf, 1e300])
        return [Plan(np.full(max(count, 0), bad), sizes), sample]

    return alter


def _good_plans(draw: np.random.Generator, ticks: int) -> Alter:
    return lambda tick, sample: [Plan(draw.uniform(-1, 1, 60), (10, 6)), sample]


def _nothing(draw: np.random.Generator, ticks: int) -> Alter:
    return lambda tick, sample: [sample]


OF_ROBOT = {
    "short gap": OfRobot(0.2, _silence),
    "long gap": OfRobot(1.5, _silence),
    "burst": OfRobot(0.3, _burst),
    "NaN": OfRobot(0.05, _not_numbers),
    "NaN efforts": OfRobot(0.05, _no_efforts),
    "huge values": OfRobot(0.005, _huge),
    "huge efforts": OfRobot(0.005, _huge_efforts),
    "wrong lengths": OfRobot(0.02, _lengths),
    "stamps jump forward": OfRobot(0.0, _nothing, 3.0),
    "stamps jump back": OfRobot(0.0, _nothing, -3.0),
    "a stamp far off": OfRobot(0.0, _far_stamp),
    "wrong plans": OfRobot(0.05, _wrong_plans),
    "plans": OfRobot(0.05, _good_plans),
}

KILL = "kill"
OF_MACHINE = (
    "reload",
    "reload of a broken file",
    "disk full",
    "20 listeners",
    "stopped for half a second",
    KILL,
)
KINDS = (*OF_ROBOT, *OF_MACHINE)


def schedule(seconds: float, every: float, seed: int, kinds: Sequence[str] = ()) -> list[Fault]:
    """Return the faults of a run, ``every`` so many seconds about.

    All kinds (or those given) come once a round, a kill only at the end of one and so seldom that
    a node lives for long.
    """
    draw = np.random.default_rng(seed)
    wanted = list(kinds or KINDS)
    found: list[Fault] = []
    at, killed = QUIET_SECONDS, -KILL_EVERY_SECONDS
    while True:
        order = [str(kind) for kind in draw.permutation([one for one in wanted if one != KILL])]
        if KILL in wanted and at - killed >= KILL_EVERY_SECONDS:
            order.append(KILL)
        for kind in order:
            moment = at + float(draw.uniform(0, 0.2)) * every
            if at + every + QUIET_SECONDS > seconds:
                return found
            found.append(Fault(kind, moment, int(draw.integers(2**31))))
            killed = moment if kind == KILL else killed
            at += every
        at += REST_SECONDS
        if not order:
            return found


def seconds_of_a_round(every: float) -> float:
    """Return how long a run takes in which every fault comes once."""
    return 2 * QUIET_SECONDS + len(KINDS) * every
