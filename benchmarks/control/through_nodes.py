"""The same closed loops between processes, over DDS: the simulator node and the controller node."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.control.closed_loop import Course
from benchmarks.control.courses import World, on_channels
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.nodes.demo.closed_loop import controlled_run
from rffpsr_ros.nodes.demo.observer import Observer
from rffpsr_ros.nodes.demo.processes import NodeProcesses
from rffpsr_ros.nodes.shared.package_files import package_folder
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.signals.channel_file import load_channels

SPEED = 2.0
"""Times as fast as time at most: the robot waits for every command."""


def drive_through_nodes(
    world: World, model: PredictiveModel[Any], course: Array, horizon: int
) -> Course:
    """Return what the nodes make of a course (n, joints), with a model of `channels(system)`."""
    configuration = load_channels(package_folder("config") / f"{world.name}.yaml")
    free = len(model.signature.observation_names) - world.joints
    asked = np.hstack([course, np.full((len(course), free), np.nan)])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "model.psr"
        on_channels(model, configuration).save(file)
        with NodeProcesses(folder, {}) as nodes:
            nodes.start("simulator_node", _robot(world))
            with closing(Observer(configuration, nodes.check, print)) as observer:
                driven = controlled_run(nodes, observer, file, asked, _controller(world, horizon))
    joints = slice(0, world.joints)
    return Course(driven.asked[:, joints], driven.seen[:, joints], driven.commands)


def _robot(world: World) -> Mapping[str, Any]:
    simulated = (
        {"system": world.name} if world.swims else {"world": world.name, "rate": 1 / world.period}
    )
    return {**simulated, "publish_clock": True, "speed": SPEED, "wait_for_commands": True}


def _controller(world: World, horizon: int) -> Mapping[str, Any]:
    return {
        "use_sim_time": True,
        "horizon": horizon,
        "limits.low": list(world.low),
        "limits.high": list(world.high),
        "budget": 1000.0,  # the robot waits
        "stale_ticks": 1000.0,
        "range_margin": 0.0,
        "error_limit": 0.0,
    }
