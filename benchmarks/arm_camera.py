"""The arm of worlds/arm_camera.sdf learned from its camera's pictures alone.

    python -m benchmarks.arm_camera                          40 episodes of 10 s
    python -m benchmarks.arm_camera --image docs/images/arm_camera.png

Drake swings the arm, a small renderer takes Gazebo's place, and the messages go through the image
field and the sampler as a bag's or a node's would. Errors are mean squared errors of a pixel
(brightness from 0 to 1).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.comparison import Comparison, compare
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.models.forecasts import forecasts
from rffpsr_ros.models.registry import learner_of
from rffpsr_ros.nodes.shared.package_files import package_folder
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channel_file import load_channels
from rffpsr_ros.signals.events import Tick
from rffpsr_ros.signals.sampler import Sampler
from rffpsr_ros.simulation.arm_camera import SIZE, render
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.sdf_world import SdfWorld

HORIZON = 10
SHOWN = (1, 3, 5, 10)
RFF_PSR, ARX, LAST, MEAN = "RFF-PSR", "linear ARX", "last frame", "mean frame"


def record(seed: int, ticks: int) -> Trajectory:
    """Return an episode, sampled from messages as a bag or a node would give them."""
    channels = load_channels(package_folder("config") / "arm_camera.yaml")
    world = SdfWorld(package_folder("worlds") / "arm_camera.sdf", channels.period)
    generator = np.random.default_rng(seed)
    torques = uniform_hold(generator, *world.action_limits, channels.period, hold=0.2)
    state = world.initial_state(generator)
    sampler = Sampler(channels)
    found: list[Tick] = []
    for tick in range(ticks + 1):
        stamp = 10**9 + tick * round(channels.period * 1e9)
        torque = next(torques)
        for joint, value in zip(world.action_names, torque, strict=True):
            sampler.feed(f"{joint}/torque", stamp, SimpleNamespace(data=float(value)))
        events = sampler.feed("camera/image", stamp, picture(state))
        found += [event for event in events if isinstance(event, Tick)]
        state = world.step(state, torque)
    observations = np.stack([tick.observation for tick in found])
    actions = np.stack([tick.action for tick in found])
    return Trajectory(observations, actions, channels.period)


def picture(state: Any) -> Any:
    """Return what the camera sees as a message's tree of attributes."""
    data = render(state[:2]).tobytes()
    return SimpleNamespace(
        height=SIZE, width=SIZE, encoding="rgb8", is_bigendian=0, step=3 * SIZE, data=data
    )


def judge(
    runs: Sequence[Trajectory],
    settings: Mapping[str, Any],
    names: Sequence[str] = (RFF_PSR, ARX, LAST, MEAN),
) -> Comparison:
    """Return the errors on the last fifth of the runs, learned from the others."""
    learning = load_channels(package_folder("config") / "arm_camera.yaml").learning
    test = max(1, len(runs) // 5)
    held_out = max(1, len(runs) // 10)
    learners: dict[str, Learner] = {
        RFF_PSR: learner_of("rff_psr", {**learning, **settings}),
        ARX: learner_of("linear_arx", learning),
        LAST: LastObservation(),
        MEAN: Mean(),
    }
    known = runs[:-test]
    chosen = {name: learners[name] for name in names}
    return compare(chosen, runs[-test:], known[:-held_out], known[-held_out:], HORIZON)


def draw(models: Mapping[str, PredictiveModel[Any]], run: Trajectory, path: Path) -> None:
    """Draw the observations and each model's forecasts at some horizons from one tick."""
    from matplotlib.figure import Figure

    origin = len(run) // 2
    rows: dict[str, Any] = {"recorded": run.observations[origin : origin + HORIZON]}
    for name, model in models.items():
        first, chunk = next(iter(forecasts(model, run, HORIZON)))
        rows[name] = chunk[origin - first]
    figure = Figure(figsize=(1.9 * len(SHOWN), 2.0 * len(rows)), layout="constrained")
    axes = figure.subplots(len(rows), len(SHOWN))
    for line, (name, frames) in zip(axes, rows.items(), strict=True):
        line[0].set_ylabel(name)
        for place, horizon in zip(line, SHOWN, strict=True):
            place.imshow(frames[horizon - 1].reshape(SIZE, SIZE), cmap="gray")
            place.set(xticks=[], yticks=[])
    for place, horizon in zip(axes[0], SHOWN, strict=True):
        place.set_title(f"{horizon * run.period:g} s ahead")
    figure.savefig(path, dpi=110)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures; return 0 if the last frame is beaten at horizons 3 to 10."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--episodes", type=int, default=40, help="how many (40)")
    parser.add_argument("--ticks", type=int, default=200, help="of each, at 20 Hz (200)")
    parser.add_argument("--image", type=Path, help="draw pictures into this file")
    options = parser.parse_args(arguments)
    runs = [record(seed, options.ticks) for seed in range(options.episodes)]
    found = judge(runs, {})
    shown = sorted({*SHOWN, 2})
    print(f"\n| | {' | '.join(f'h{h}' for h in shown)} | CPU s |\n|---|{'---|' * (len(shown) + 1)}")
    pixels = runs[0].observations.shape[1]
    for name, entry in found.entries.items():
        cells = [f"{entry.errors.mse[h - 1] / pixels:.2e}" for h in shown]
        print(f"| {name} | {' | '.join(cells)} | {entry.training_seconds or 0:.0f} |")
    if options.image:
        models = {name: found.entries[name].model for name in (RFF_PSR, ARX, LAST)}
        draw(models, runs[-1], options.image)
    errors = found.errors
    return 0 if (errors[RFF_PSR].mse < errors[LAST].mse)[2:].all() else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except InputError as fault:
        sys.exit(f"arm_camera: {fault}")
