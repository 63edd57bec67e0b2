"""The closed loop that benchmarks run in one process is the one that the nodes run over DDS."""

from __future__ import annotations

import numpy as np

from benchmarks.control.closed_loop import Predictive, drive
from benchmarks.control.courses import WORLDS, courses, on_topics, recordings
from rffpsr_ros.models.arx.learner import LinearARX

TICKS, HORIZON = 80, 8


def test_a_swimmer_is_moved_alike_in_one_process_and_through_nodes(domain: None) -> None:
    from benchmarks.control.through_nodes import drive_through_nodes

    world = WORLDS["swimmer"]
    system = world.system()
    runs = recordings(world, system, 4, 1)
    model = on_topics(LinearARX().fit(runs[1:], runs[:1]), system)
    course = courses(world)["fast sines"](np.random.default_rng(0), TICKS)
    here = drive(system, Predictive(world, model, HORIZON), course, world.rest)
    there = drive_through_nodes(world, model, course, HORIZON)
    assert here.seen.shape == there.seen.shape == (TICKS, 2)
    # On a busy machine the course may begin a tick later there.
    late = [(here.seen[: TICKS - n] - there.seen[n:])[10:] for n in (0, 1)]
    assert min(np.abs(apart).max() for apart in late) < 0.01
    assert here.error < 0.05 * np.mean(course**2)
