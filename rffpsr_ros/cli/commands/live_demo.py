"""The demonstration, live: a simulated robot moves at random, is recorded, learned and predicted.

Simulator, excitation, learner and filter are the nodes that a user runs, each in a process of its
own; this process calls their services and watches their topics. Time runs faster than real. Run as
``python -m rffpsr_ros.cli.commands.live_demo``; plots go to the folder demo_output.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rffpsr_ros.cli.console import ProgressBar, say
from rffpsr_ros.cli.main import guarded
from rffpsr_ros.cli.parser import Parser, whole_number
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.evaluation.plots import plot_errors, plot_forecast
from rffpsr_ros.evaluation.recorded_forecasts import RecordedForecasts
from rffpsr_ros.evaluation.report import text_table
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.loading import load
from rffpsr_ros.models.storage import made_folder
from rffpsr_ros.nodes.demo.closed_loop import (
    controlled_run,
    demonstration_course,
    plot_controlled_run,
)
from rffpsr_ros.nodes.demo.observer import Observer
from rffpsr_ros.nodes.demo.processes import NodeProcesses, enter_a_ros_of_its_own
from rffpsr_ros.nodes.shared.package_files import package_folder
from rffpsr_ros.parallel.processes import usable_cores
from rffpsr_ros.recordings.bags.reader import read_bags
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.report.write import Origin, write_report
from rffpsr_ros.signals.channel_file import load_channels
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.training.judgement import Judging, judge
from rffpsr_ros.training.recordings import Split

SPEED = 4.0
"""Times as fast as time, where the machine is free to do so."""
BUSY = 2.0
"""With so many times as many processes at work as there are cores, it is not."""
EPISODES = 12
EPISODE_TICKS = 110
TEST_TICKS = 600
HORIZON = 10
LIVE, LAST = "RFF-PSR, live", "last observation"
NOT_BETTER = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration; 0 if the live forecasts beat the last observation."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    return guarded(lambda: _run(words))


def _run(words: Sequence[str]) -> int:
    parser = Parser("demo", __doc__ or "")
    parser.add_argument("--out", metavar="FOLDER", default="demo_output", help="for the plots")
    parser.add_argument(
        "--seed", type=whole_number(0), default=0, metavar="N", help="of the simulation (0)"
    )
    parser.add_argument(
        "--control", action="store_true", help="in the end let the model move the robot"
    )
    parsed = parser.parse(words)
    began = time.monotonic()
    folder = made_folder(Path(parsed.out).resolve())
    enter_a_ros_of_its_own(folder)
    configuration = package_folder("config") / "synthetic.yaml"
    with NodeProcesses(made_folder(folder / "log"), {}) as nodes:
        demonstration = _Demonstration(folder, configuration, nodes, parsed.control)
        better = demonstration.run(parsed.seed)
    say(f"Plots, model and episodes are in {folder}. This took {time.monotonic() - began:.0f} s.")
    return 0 if better else NOT_BETTER


def pace(load: float, cores: int) -> float:
    """Return how many times as fast as time the robot may be, with so many processes at work.

    It waits for its commands, but not for the filter, which would fall behind.
    """
    return 1.0 if load > BUSY * cores else SPEED


class _Demonstration:
    """The demonstration, step by step."""

    def __init__(
        self, folder: Path, configuration: Path, nodes: NodeProcesses, control: bool = False
    ) -> None:
        self._control = control
        self._folder = folder
        self._file = configuration
        self._channels: ChannelConfiguration = load_channels(configuration)
        self._nodes = nodes
        self._episodes = folder / "episodes" / time.strftime("%Y-%m-%d_%H-%M-%S")
        self._observer = Observer(self._channels, nodes.check, say)

    def run(self, seed: int) -> bool:
        """Go through all steps; return whether the live forecasts beat the last observation."""
        try:
            self._start_robot(seed)
            self._record()
            model = self._train()
            run, live = self._predict(model)
            if self._control:
                self._close_the_loop(model)
        finally:
            self._observer.close()
        return self._compare(run, live)

    def _start_robot(self, seed: int) -> None:
        speed = pace(os.getloadavg()[0], usable_cores())
        told = (
            "in real time, as this machine is busy"
            if speed == 1
            else f"up to {speed:g} times real time"
        )
        say(f"Starting a simulated robot ({told}), excitation and learner.")
        self._nodes.start(
            "simulator_node",
            {"publish_clock": True, "speed": speed, "wait_for_commands": True, "seed": seed},
        )
        self._nodes.start(
            "excitation_node",
            {
                "use_sim_time": True,
                "channels_file": self._file,
                "limits.low": [-0.5],
                "limits.high": [0.5],
                "pace": "observations",
                "announce": HORIZON,
                "seed": seed,
            },
        )
        self._nodes.start(
            "learner_node",
            {
                "use_sim_time": True,
                "channels_file": self._file,
                "dataset_directory": self._episodes,
                "model_path": self._folder / "synthetic.psr",
                "train_anew": True,  # nothing of a demonstration before this one
                "training_niceness": 0,  # nothing here is so urgent as that it ends
                "training_processes": usable_cores(),
            },
        )
        self._observer.until(
            lambda: self._observer.ticks and self._observer.ticks[-1].action.any(),
            "the robot to move",
        )
        # An episode takes less than a second; a learner that does not listen yet would miss it.
        self._observer.until(
            lambda: self._observer.is_heard_by("rffpsr_learner", self._channels.topics),
            "the learner to listen",
        )

    def _record(self) -> None:
        """Record episodes, as with ``ros2 service call /rffpsr_learner/start_episode``."""
        with ProgressBar() as progress:
            for number in range(EPISODES):
                progress(f"recording {EPISODES} episodes", number / EPISODES)
                self._observer.call("/rffpsr_learner/start_episode")
                self._observer.watch(EPISODE_TICKS)
                self._observer.call("/rffpsr_learner/end_episode")
            progress(f"recording {EPISODES} episodes", 1.0)

    def _train(self) -> Path:
        """Train, as with ``ros2 service call /rffpsr_learner/train``, and return the model."""
        self._observer.call("/rffpsr_excitation/stop")
        say(self._observer.call("/rffpsr_learner/train"))
        with ProgressBar() as progress:

            def done() -> bool:
                message, values = self._observer.learner
                if "stage" in values:
                    progress(values["stage"], float(values["progress"]))
                if message.startswith("training failed"):
                    raise InputError(message)
                return message.startswith("model written")

            self._observer.until(done, "the model", silently=True)  # its stages are shown
        return self._folder / "synthetic.psr"

    def _predict(self, model: Path) -> tuple[Trajectory, RecordedForecasts]:
        """Let the filter follow a fresh run; return it, and what the filter said meanwhile."""
        say("Predicting a fresh run with the filter, under announced actions.")
        self._nodes.start(
            "filter_node",
            {
                "use_sim_time": True,
                "model_path": model,
                "horizon": HORIZON,
                "future_actions": "topic",
            },
            ["~/planned_actions:=/rffpsr_excitation/planned_actions"],
        )
        self._observer.call("/rffpsr_excitation/start")
        newest = self._observer.forecasts
        self._observer.until(lambda: newest, "a forecast")
        first = len(self._observer.ticks)
        self._observer.watch(TEST_TICKS + HORIZON)  # the last forecast is under way a while
        ticks = self._observer.ticks[first : first + TEST_TICKS]
        self._observer.call("/rffpsr_excitation/stop")
        run, live, made = self._observer.run_of(ticks, HORIZON)
        say(f"The filter gave {made} forecasts in {len(ticks)} ticks.")
        return run, live

    def _close_the_loop(self, model: Path) -> None:
        """Let the model move the robot along a sine, as ``~/enable`` of the controller does."""
        say("Closing the loop: the controller moves the robot along a sine.")
        course = demonstration_course(self._channels.period)
        driven = controlled_run(self._nodes, self._observer, model, course)
        plot_controlled_run(driven, self._folder / "control.png")
        size = float(np.sqrt(np.mean(driven.asked**2)))
        say(f"It is {driven.error:.2g} rad off on a sine of {size:.2g} rad (root mean squares).")

    def _compare(self, run: Trajectory, live: RecordedForecasts) -> bool:
        recorded = read_bags(sorted(self._episodes.glob("20*")), self._channels)
        models: Mapping[str, PredictiveModel[Any]] = {
            LIVE: live,
            "linear ARX": LinearARX().fit(recorded),
            LAST: LastObservation().fit(recorded),
        }
        errors = {
            name: horizon_errors(model, [run], HORIZON, start=HORIZON)
            for name, model in models.items()
        }
        say("", "Mean squared error of forecasts 1 to 10 ticks (0.05 to 0.5 s) ahead:", "")
        say(*text_table(errors).splitlines(), "")
        plot_errors(errors, self._folder / "error_by_horizon.png", "Error by horizon")
        shown = run.slice(0, min(len(run), 160))
        plot_forecast(models, shown, HORIZON, self._folder / "forecast.png", "Half a second ahead")
        self._report(recorded, run)
        better = bool((errors[LIVE].mse < errors[LAST].mse).all())
        if not better:
            say("The live forecasts did not beat the last observation at every horizon.")
        return better

    def _report(self, recorded: Sequence[Trajectory], run: Trajectory) -> None:
        """Write a page on the model, judged on the fresh run as the filter followed it."""
        path = self._folder / "synthetic.psr"
        model, file = load(path)
        options = Judging(HORIZON, start=HORIZON)
        judgement = judge(model, str(path), Split(list(recorded), [], [run]), options)
        write_report(self._folder / "report.html", judgement, Origin(file=file))
        say(*judgement.verdict.lines(), "", "report.html shows more.")


if __name__ == "__main__":
    sys.exit(main())
