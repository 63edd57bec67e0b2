"""What methods are compared on: data sets, each with its tests and the rule they are scored by.

A new data set is an entry of `TASKS`, or a `Task` of one's own given to `benchmarks.compare.run`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from benchmarks import datasets
from benchmarks.datasets import Split
from rffpsr_ros.evaluation.horizon_error import (
    horizon_errors,
    observation_range,
    simulation_rmse,
)
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import Range
from rffpsr_ros.recordings.trajectory import Trajectory

Scores = dict[str, list[float]]
"""Errors by test: mean squared ones by horizon, or one root mean square of a simulation."""


class Judged(NamedTuple):
    """How a model did on every test."""

    scores: Scores
    blocks: dict[str, list[float]]
    """By test: what each block of origins adds to the mean over horizons; pairs two models."""


class Material(NamedTuple):
    """Trajectories to learn from, to choose by, and to judge by in one test or several."""

    train: Sequence[Trajectory]
    validation: Sequence[Trajectory]
    tests: Mapping[str, Sequence[Trajectory]]


@dataclass(frozen=True)
class Task:
    """A data set and how forecasts of it are scored.

    Attributes
    ----------
    name
        Short; the name of its folder among the results.
    title
        What is forecast, how the data are split and how forecasts are scored, in one sentence.
    load
        Returns the material of draw 0, 1, ...; recorded data have one draw only.
    draws
        Whether there are several draws: then run i of a method uses draw i and seed i.
    runs
        How many runs are customary.
    horizon, start
        Horizons 1 to ``horizon``, from origin ``start`` on (so many ticks were seen before).
    clips
        Score forecasts as they are (False), limited to the training range (True), or both.
    target
        The columns of the observations that count; all if there are none.
    simulation_after
        Instead of horizons: the error of one simulation to the end after so many ticks.
    unit
        What the scores are measured in.
    """

    name: str
    title: str
    load: Callable[[int], Material]
    draws: bool = False
    runs: int = 3
    horizon: int = 10
    start: int = 20
    clips: tuple[bool, ...] = (False,)
    target: tuple[int, ...] = ()
    simulation_after: int | None = None
    unit: str = "mean squared error"

    def protocol(self) -> dict[str, Any]:
        """Return what a score depends on beside data and model, in JSON types."""
        if self.simulation_after is not None:
            return {"free run after": self.simulation_after}  # as it stands in the keys of records
        return {
            "horizon": self.horizon,
            "start": self.start,
            "clips": list(self.clips),
            "target": list(self.target),
        }

    def score(self, model: PredictiveModel[Any], material: Material) -> Scores:
        """Return a model's errors on every test."""
        return self.judge(model, material).scores

    def judge(self, model: PredictiveModel[Any], material: Material) -> Judged:
        """Return a model's errors on every test, and of what blocks they are made."""
        scores: Scores = {}
        blocks: dict[str, list[float]] = {}
        for test, runs in material.tests.items():
            if self.simulation_after is not None:
                (run,) = runs
                scores[test] = simulation_rmse(model, run, self.simulation_after).tolist()
                continue
            for clip in self.clips:
                limits = observation_range(material.train) if clip else None
                name = f"{test}, clipped" if clip and len(self.clips) > 1 else test
                scores[name], blocks[name] = self._by_horizon(model, runs, limits)
        return Judged(scores, blocks)

    def _by_horizon(
        self, model: PredictiveModel[Any], runs: Sequence[Trajectory], limits: Range | None
    ) -> tuple[list[float], list[float]]:
        errors = horizon_errors(model, runs, self.horizon, self.start, limits)
        counted = list(self.target) or slice(None)
        by_horizon = errors.mse_by_observation[:, counted].sum(axis=1)
        by_block = errors.block_errors[:, :, counted].sum(axis=2).mean(axis=1)
        return by_horizon.tolist(), by_block.tolist()


def recorded(load: Callable[[], Split]) -> Callable[[int], Material]:
    """Return a loader of material from one of a recording with a single test."""
    return lambda draw: single_test(load())


def single_test(split: Split) -> Material:
    """Return a split as material whose one test is called "test"."""
    return Material(split.train, split.validation, {"test": split.test})


def each_alone(split: Split) -> Material:
    """Return a split as material with a test for each test trajectory, named by its label."""
    return Material(split.train, split.validation, {run.label: [run] for run in split.test})


def swimmer_tests(draw: int) -> Material:
    """Return the swimmer under policies of ever more feedback; training data are the same."""
    tests = {}
    for blind in (1.0, 0.8, 0.2):
        split = datasets.swimmer(draw, blind)
        tests[f"{100 * blind:.0f} % blind"] = split.test
    return Material(split.train, split.validation, tests)


_ALL = (
    Task(
        "synth",
        "synth.mat, the paper's synthetic data as its authors recorded it: 10 training, 5"
        " validation, 10 test trajectories of 100 ticks; the authors' evaluation (origins 10 to 91"
        " from the initial state, forecasts limited to the training range)",
        recorded(datasets.synth),
        start=9,
        clips=(True,),
    ),
    Task(
        "fresh",
        "fresh data of the same system: 10 training, 5 validation, 50 test trajectories of 100"
        " ticks, a set of its own for every run; scored from tick 20",
        lambda draw: single_test(datasets.fresh_synthetic(1000 + draw)),
        draws=True,
        runs=5,
    ),
    Task(
        "jackal",
        "Clearpath Jackal, 61 s at 50 Hz, turning rate and accelerations given wheel odometry:"
        " first 70 % training, next 10 % validation, last 20 % test; scored from tick 20, errors"
        " summed over 3 observations",
        recorded(datasets.jackal),
    ),
    Task(
        "drone",
        "one-axis drone rig in closed loop, 100 Hz: recordings 1 to 3 (validation: last fifth of"
        " each), test on recording 4; scored from tick 20",
        recorded(datasets.quarter_drone),
        unit="mean squared error, deg^2",
    ),
    Task(
        "swimmer",
        "3-link swimmer, 5 % noise, nose position: 24 training and 1 validation trajectory of 100"
        " ticks under random torques, tests of 10 under mixed policies, a set of its own for every"
        " run; scored from tick 20, as forecast and limited to the training range",
        swimmer_tests,
        draws=True,
        runs=5,
        clips=(False, True),
        target=(2, 3),
    ),
    Task(
        "silverbox",
        "Silverbox, simulated after 50 samples: first 75 % of the multisine part training (65062"
        " samples), tests its last quarter, the arrow (40475) and its first 32000 samples",
        lambda draw: each_alone(datasets.silverbox()),
        simulation_after=50,
        unit="root mean square, mV",
    ),
    Task(
        "tanks",
        "cascaded tanks, 1024 samples each for training and test: simulated after 5 samples",
        recorded(datasets.cascaded_tanks),
        simulation_after=5,
        unit="root mean square, V",
    ),
    Task(
        "tanks50",
        "cascaded tanks, 1024 samples each for training and test: simulated after 50 samples, as"
        " newer copies of the benchmark do",
        recorded(datasets.cascaded_tanks),
        simulation_after=50,
        unit="root mean square, V",
    ),
    Task(
        "wiener_hammerstein",
        "Wiener-Hammerstein circuit, simulated after 50 samples: samples 5200 to 105200 training,"
        " test 78800 samples after them",
        recorded(datasets.wiener_hammerstein),
        simulation_after=50,
        unit="root mean square, mV",
    ),
    Task(
        "emps",
        "electro-mechanical positioning system in closed loop, 1 kHz: training on a smooth"
        " reference, test under pulses, 24841 samples each, simulated after 20 samples",
        recorded(datasets.emps),
        simulation_after=20,
        unit="root mean square, mm",
    ),
    *(
        Task(
            name,
            f"Crazyflie 2.1 in closed loop, {rate} Hz, gyroscope and accelerometer under four"
            f" motors: 16 training flights{more}, 8 validation, 8 test flights along other shapes;"
            " scored from tick 20, errors relative to the variance, summed over 6 observations",
            recorded(partial(datasets.crazyflie, 100 // rate, dirty=bool(more))),
            unit="mean squared error, relative to the variance, sum of 6",
        )
        for name, rate, more in (
            ("crazyflie", 50, ""),
            ("crazyflie100", 100, ""),
            ("crazyflie_dirty", 50, " and one whose log is corrupted"),
        )
    ),
)
TASKS: Mapping[str, Task] = {task.name: task for task in _ALL}
