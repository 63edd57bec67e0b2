"""The loop closed by real processes over DDS: simulator, controller, and who asks."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rffpsr_ros.models.contract import Signature
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channel_file import load_channels
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import simulate


@pytest.fixture
def model(checkout: Path, tmp_path: Path) -> Path:
    """Return a model of the synthetic system on the simulator's topics, quickly learned."""
    configuration = load_channels(checkout / "config" / "synthetic.yaml")
    seen = [f"{one.name}.{f}" for one in configuration.observations for f in one.fields]
    told = [f"{one.name}.{f}" for one in configuration.actions for f in one.fields]
    runs = []
    for seed in range(4):
        actions = np.random.default_rng(seed).uniform(-0.5, 0.5, (150, 1))
        plain = simulate(SyntheticSystem(), actions, seed=seed)
        runs.append(Trajectory(plain.observations, actions, plain.period, seen, told))
    learner = SingleRFFPSR(
        iterations=5, features=40, past=8, future=5, arx_past=8, narx_features=20
    )
    fitted = learner.fit(runs[:3], runs[3:])
    signature = replace(Signature.of(runs[0]), channels=configuration.to_mapping())
    fitted.replaced(signature=signature).save(tmp_path / "model.psr")
    return tmp_path / "model.psr"


def test_a_robot_in_another_process_follows_a_sine(
    domain: None, model: Path, checkout: Path, tmp_path: Path
) -> None:
    from rffpsr_ros.nodes.demo.closed_loop import (
        FOLLOWED_FROM,
        TICKS,
        controlled_run,
        demonstration_course,
    )
    from rffpsr_ros.nodes.demo.observer import Observer
    from rffpsr_ros.nodes.demo.processes import NodeProcesses

    configuration = load_channels(checkout / "config" / "synthetic.yaml")
    (tmp_path / "log").mkdir(exist_ok=True)
    with NodeProcesses(tmp_path / "log", {}) as nodes:
        nodes.start(
            "simulator_node",
            {"publish_clock": True, "speed": 2.0, "wait_for_commands": True, "seed": 1},
        )
        with closing(Observer(configuration, nodes.check, print)) as observer:
            course = demonstration_course(configuration.period)
            run = controlled_run(nodes, observer, model, course)
    assert len(run.seen) == TICKS
    still = float(np.sqrt(np.mean(run.asked[FOLLOWED_FROM:] ** 2)))
    print((tmp_path / "log" / "controller_node.log").read_text())
    assert run.error < 0.5 * still
    assert np.abs(run.commands).max() <= 0.5
