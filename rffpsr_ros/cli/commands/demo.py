"""The demonstration: simulate the paper's synthetic system, learn it, and show what is predicted.

Run as ``python -m rffpsr_ros.cli.commands.demo``; plots go to the folder demo_output.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from rffpsr_ros.cli.console import ProgressBar, say
from rffpsr_ros.cli.main import guarded
from rffpsr_ros.cli.parser import Parser, whole_number
from rffpsr_ros.evaluation.comparison import compare
from rffpsr_ros.evaluation.plots import plot_errors, plot_forecast
from rffpsr_ros.evaluation.report import text_table
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.loading import load
from rffpsr_ros.models.storage import made_folder
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.report.write import Origin, write_report
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import Policy, dataset, open_loop
from rffpsr_ros.training.judgement import Judging, judge
from rffpsr_ros.training.recordings import Split

TICKS = 100
PARTS = {"training": 10, "validation": 5, "test": 50}
"""Runs of 100 ticks (5 s) in each part, as in the paper, but for more to test on."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demonstration and return its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    return guarded(lambda: _run(words))


def _run(words: Sequence[str]) -> None:
    parser = Parser("demo", __doc__ or "")
    parser.add_argument("--out", metavar="FOLDER", default="demo_output", help="for the plots")
    parser.add_argument(
        "--seed", type=whole_number(0), default=0, metavar="N", help="of all randomness (0)"
    )
    parsed = parser.parse(words)
    run(Path(parsed.out), parsed.seed)


def run(folder: Path, seed: int = 0, learner: RFFPSR | None = None) -> None:
    """Simulate, learn (by default with the recommended recipe), print errors and draw them."""
    made_folder(folder)
    say(f"Simulating the paper's synthetic system under random commands: {_described()}.")
    parts = simulate(seed)
    with ProgressBar() as progress:
        learner = learner or RFFPSR(seed=seed)
        model = learner.fit(parts["training"], parts["validation"], progress=progress)
    comparison = compare(
        {"RFF-PSR": model, "linear ARX": LinearARX(), "last observation": LastObservation()},
        parts["test"],
        parts["training"],
        parts["validation"],
    )
    say("", "Mean squared error of forecasts 1 to 10 ticks (0.05 to 0.5 s) ahead:", "")
    say(*text_table(comparison.errors).splitlines(), "")
    plot_errors(comparison.errors, folder / "error_by_horizon.png", "Error by horizon")
    models = {name: entry.model for name, entry in comparison.entries.items()}
    plot_forecast(models, parts["test"][0], 10, folder / "forecast.png", "Half a second ahead")
    file = folder / "synthetic.model"
    model.save(file)
    judgement = judge(model, str(file), Split(*parts.values()), Judging())
    write_report(folder / "report.html", judgement, Origin(file=load(file).file))
    say(
        f"Plots, report and model are in {folder}: error_by_horizon.png, forecast.png, report.html,"
    )
    say("synthetic.model ('rffpsr info' shows what a model holds).")
    say(*judgement.verdict.lines())


def simulate(seed: int) -> Mapping[str, list[Trajectory]]:
    """Return training, validation and test runs; every part has its own random numbers."""
    system = SyntheticSystem()

    def policy(generator: np.random.Generator) -> Policy:
        signal: Iterator[Array] = uniform_hold(generator, *system.action_limits, system.period)
        return open_loop(signal)

    return {
        name: dataset(system, policy, count, TICKS, seed=10 * seed + number)
        for number, (name, count) in enumerate(PARTS.items())
    }


def _described() -> str:
    return ", ".join(f"{count} {name}" for name, count in PARTS.items()) + " runs of 5 s"


if __name__ == "__main__":
    sys.exit(main())
