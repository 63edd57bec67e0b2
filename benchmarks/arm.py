"""The arm of worlds/arm.sdf through the nodes: data collected, a model trained and run live.

    python -m benchmarks.arm                                  25 episodes of 10 s
    python -m benchmarks.arm --episodes 6 --duration 5        smaller
    python -m benchmarks.arm --images docs/images             draws the figures of docs/gazebo.md
    python -m benchmarks.arm --without-lockstep               commands act on arrival, at 250 Hz
    python -m benchmarks.arm --gazebo                         in Gazebo, by ``ros2 launch``

Simulator, excitation, learner, collector and filter are the nodes that a user runs, as
`collect.launch.py world:=arm` starts them, each in a process of its own; `rffpsr train` trains.
Needs ROS 2 and Drake (extra ``sdf``), or Gazebo with its bridge. Ends with 1 if one of the claims
at the end does not hold.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.cli.console import ProgressBar
from rffpsr_ros.cli.main import main as rffpsr
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.comparison import compare
from rffpsr_ros.evaluation.horizon_error import HorizonErrors, horizon_errors
from rffpsr_ros.evaluation.plots import plot_errors, plot_forecast
from rffpsr_ros.evaluation.recorded_forecasts import RecordedForecasts
from rffpsr_ros.evaluation.report import errors_as_json, markdown_table
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Step
from rffpsr_ros.forecasting.replay import Replay
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.nodes.demo.observer import Observer
from rffpsr_ros.nodes.demo.processes import NodeProcesses, enter_a_ros_of_its_own
from rffpsr_ros.nodes.shared.package_files import package_folder
from rffpsr_ros.recordings.bags.reader import read_bags
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channel_file import load_channels
from rffpsr_ros.simulation.sdf_world import SdfWorld
from rffpsr_ros.training.recordings import Split, split_recordings

SPLIT = "0.7,0.1,0.2"
HORIZON = 10
LIVE_TICKS = 200
RFF_PSR, ARX, LAST = "RFF-PSR", "linear ARX", "last observation"
IN_GAZEBO_AT_MOST = 0.5
"""Of linear ARX's error."""
LAUNCH = ("ros2", "launch", "rffpsr_ros")
IN_GAZEBO = ("world:=arm", "headless:=true")
FOLLOWING: dict[str, Any] = {"horizon": HORIZON, "future_actions": "topic"}


class LiveRun(NamedTuple):
    """A run that the filter followed, its forecasts, and how far its log differs from them."""

    run: Trajectory
    forecasts: RecordedForecasts
    difference: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run everything and print the figures; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--episodes", type=int, default=25, help="how many (25)")
    parser.add_argument("--duration", type=float, default=10.0, help="seconds of each (10)")
    parser.add_argument("--speed", type=float, default=4.0, help="times real time, at most (4)")
    parser.add_argument(
        "--without-lockstep",
        action="store_true",
        help="the robot waits for no command, like Gazebo's",
    )
    parser.add_argument(
        "--gazebo", action="store_true", help="in Gazebo, in real time: needs ros2 launch"
    )
    parser.add_argument("--seed", type=int, default=0, help="of torques and learning (0)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="as of rffpsr train"
    )
    parser.add_argument("--out", type=Path, default=Path("arm_output"), help="a folder")
    parser.add_argument("--images", type=Path, help="draw plots into this folder")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args(arguments)
    folder = options.out.resolve() / time.strftime("%Y-%m-%d_%H-%M-%S")
    (folder / "log").mkdir(parents=True)
    enter_a_ros_of_its_own(folder)
    channels = package_folder("config") / "arm.yaml"
    if options.gazebo:
        collect_in_gazebo(options, folder)
    else:
        collect(options, folder, channels)
    model = folder / "arm.psr"
    words = [str(folder / "episodes"), "--config", str(channels), "--out", str(model)]
    words += ["--bands", "none"]  # they are not judged here
    words += [word for setting in options.set for word in ("--set", setting)]
    if rffpsr(["train", *words, "--split", SPLIT, "--seed", str(options.seed)]):
        raise InputError("the training failed")
    live = follow(options, folder, channels, model)
    return report(options, folder, live)


def start_robot(
    nodes: NodeProcesses,
    options: argparse.Namespace,
    channels: Path,
    speed: float,
    seed: int,
    announce: int = 0,
) -> None:
    """Start the arm and its excitation, which waits for its service to begin."""
    signal: dict[str, Any] = {
        "autostart": False,
        "use_sim_time": True,
        "seed": seed,
        "announce": announce,
    }
    if options.gazebo:
        from rffpsr_ros.nodes.launching.gazebo import PACE  # needs ROS 2's launch

        nodes.start_command("gazebo", [*LAUNCH, "gazebo.launch.py", *IN_GAZEBO, "excite:=false"])
        nodes.start("excitation_node", {**signal, **PACE}, params_file=channels)
        return
    robot: dict[str, Any] = {
        "world": "arm",
        "publish_clock": True,
        "speed": speed,
        "seed": seed,
    }
    if not options.without_lockstep:
        robot |= {"rate": load_channels(channels).rate, "wait_for_commands": True}
        signal |= {"pace": "observations"}
    nodes.start("simulator_node", robot)
    nodes.start("excitation_node", signal, params_file=channels)


def collect_in_gazebo(options: argparse.Namespace, folder: Path) -> None:
    """Record episodes by `collect.launch.py`."""
    given = {"gazebo": "true", "dataset_directory": folder / "episodes", "seed": options.seed}
    given |= {"episodes": options.episodes, "duration": float(options.duration)}
    words = [f"{name}:={value}" for name, value in given.items()]
    with NodeProcesses(folder / "log", {}) as nodes:
        nodes.start_command("collect", [*LAUNCH, "collect.launch.py", *IN_GAZEBO, *words])
        nodes.wait_for_end("collect", lambda: None)


def collect(options: argparse.Namespace, folder: Path, channels: Path) -> None:
    """Record episodes through the nodes, as `collect.launch.py` does."""
    episodes = folder / "episodes"
    with NodeProcesses(folder / "log", {}) as nodes:
        start_robot(nodes, options, channels, options.speed, options.seed)
        time_of_simulation = {"use_sim_time": True}
        nodes.start(
            "learner_node",
            {"dataset_directory": episodes, **time_of_simulation},
            params_file=channels,
        )
        with closing(Observer(load_channels(channels), nodes.check, print)) as observer:
            listeners = observer.node.count_subscribers
            # This process, the robot and the learner.
            observer.until(lambda: listeners("/elbow/torque") >= 3, "the learner")
        parameters = {"episodes": options.episodes, "duration": options.duration}
        nodes.start("collector_node", {**parameters, **time_of_simulation})
        with ProgressBar() as progress:
            nodes.wait_for_end(
                "collector_node",
                lambda: progress("collecting", len(list(episodes.glob("20*"))) / options.episodes),
            )


def follow(options: argparse.Namespace, folder: Path, channels: Path, model: Path) -> LiveRun:
    """Let the filter follow a fresh run under announced torques."""
    with NodeProcesses(folder / "log", {}) as nodes:
        start_robot(nodes, options, channels, 1.0, options.seed + 1000, announce=2 * HORIZON)
        nodes.start(
            "filter_node",
            {"model_path": model, "use_sim_time": True, "log_sequence": folder / "fed"} | FOLLOWING,
            ["~/planned_actions:=/rffpsr_excitation/planned_actions"],
        )
        with closing(Observer(load_channels(channels), nodes.check, print)) as observer:
            observer.call("/rffpsr_excitation/start")
            enough = LIVE_TICKS + HORIZON
            observer.until(lambda: len(observer.forecasts) >= enough, "forecasts")
    return live_run(observer, folder, model)


def live_run(observer: Observer, folder: Path, model: Path) -> LiveRun:
    """Return the ticks that the filter saw, by its log, beside the forecasts that it gave."""
    (log,) = (folder / "fed").iterdir()
    replay = Replay(load_model(model), log, FollowOptions(**FOLLOWING))
    steps = [outcome for outcome in replay.outcomes() if isinstance(outcome, Step)]
    offline = {one.forecast.origin_ns: one.forecast.values for one in steps if one.forecast}
    live = observer.forecasts
    difference = max(float(np.abs(offline[stamp] - live[stamp]).max()) for stamp in live)
    first = next(i for i, one in enumerate(steps) if one.tick.stamp_ns in live)
    ticks = [one.tick for one in steps[first : first + LIVE_TICKS]]
    run, recorded, _ = observer.run_of(ticks, HORIZON)
    return LiveRun(run, recorded, difference)


def exact_share(runs: Sequence[Trajectory]) -> float:
    """Return the share of ticks that are what Drake gives under the torques recorded for them."""
    world = SdfWorld(package_folder("worlds") / "arm.sdf", runs[0].period)
    exact = [
        np.abs(world.step(run.observations[:-1], run.actions[1:]) - run.observations[1:]) < 1e-6
        for run in runs
    ]
    return float(np.concatenate(exact).all(axis=1).mean())


def report(options: argparse.Namespace, folder: Path, live: LiveRun) -> int:
    """Print tables and claims, draw the plots; 0 if the claims hold."""
    configuration = load_channels(package_folder("config") / "arm.yaml")
    runs = read_bags(sorted((folder / "episodes").glob("20*")), configuration)
    parts = split_recordings(runs, SPLIT)
    learners: dict[str, PredictiveModel[Any] | Learner] = {
        RFF_PSR: load_model(folder / "arm.psr"),
        ARX: LinearARX(),
        LAST: LastObservation(),
    }
    held_out = compare(learners, parts.test, parts.train, parts.validation)
    models = {name: entry.model for name, entry in held_out.entries.items()}
    shown = {**models, RFF_PSR: live.forecasts}
    seen = {name: horizon_errors(model, [live.run], HORIZON) for name, model in shown.items()}
    show(f"Held-out episodes ({_ticks(parts)}):", held_out.errors)
    show(f"A fresh run, followed live ({len(live.run)} ticks):", seen)
    last = {name: float(one.mse[HORIZON - 1]) for name, one in held_out.errors.items()}
    claims: dict[str, bool] = {
        f"error at {HORIZON} ticks is {last[RFF_PSR] / last[LAST]:.2%} of last observation's,"
        " under 20 %": last[RFF_PSR] < 0.2 * last[LAST],
        f"and {last[RFF_PSR] / last[ARX]:.2%} of linear ARX's": last[RFF_PSR] < last[ARX],
        f"live and offline forecasts differ by at most {live.difference:.1e}": live.difference
        < 1e-9,
    }
    if options.gazebo:
        claims[f"which is at most {IN_GAZEBO_AT_MOST:.0%}"] = (
            last[RFF_PSR] <= IN_GAZEBO_AT_MOST * last[ARX]
        )
    exact = None if options.gazebo else exact_share([*runs, live.run])
    if exact is not None and not options.without_lockstep:
        claims[f"{exact:.2%} of recorded ticks have the torques that acted"] = exact > 0.95
    print()
    for claim, holds in claims.items():
        print(f"{'yes' if holds else 'NO '}  {claim}")
    if options.images:
        plot_errors(held_out.errors, options.images / "arm_errors.png", "Held-out episodes")
        title = f"Half a second ahead, live, on {LIVE_TICKS // 20} s"
        plot_forecast(shown, live.run, HORIZON, options.images / "arm_forecast.png", title)
    if options.json:
        tables = {"held_out": held_out.errors, "live": seen}
        figures: dict[str, Any] = {
            name: {one: errors_as_json(error) for one, error in table.items()}
            for name, table in tables.items()
        }
        figures |= {"live_minus_offline": live.difference, "exact_share": exact}
        options.json.write_text(json.dumps(figures, indent=1))
    return 0 if all(claims.values()) else 1


def show(title: str, errors: Mapping[str, HorizonErrors]) -> None:
    """Print errors as Markdown: all four observations together, and each joint's RMSE."""
    print(f"\n{title}\n\n{markdown_table(errors)}\n")
    names = next(iter(errors.values())).observation_names
    print(f"RMSE at {HORIZON} ticks | {' | '.join(names)}")
    for name, one in errors.items():
        print(f"{name} | {' | '.join(f'{value:.3g}' for value in one.rmse[HORIZON - 1])}")


def _ticks(parts: Split) -> str:
    counts = {name: sum(map(len, part)) for name, part in parts._asdict().items()}
    return ", ".join(f"{count} ticks of {name}" for name, count in counts.items())


if __name__ == "__main__":
    try:
        sys.exit(main())
    except InputError as fault:
        sys.exit(f"arm: {fault}")
