"""Recordings as users bring them: `RFFPSR()` beside the plain methods on each kind.

    python -m benchmarks.odd_data                              all kinds, all methods
    python -m benchmarks.odd_data --cases odometry spikes --methods 'RFFPSR()' 'linear ARX'
    python -m benchmarks.odd_data --quick                      a fraction of the ticks

Nothing is tuned on these: they show whether the default is ever clearly worse than the best plain
method. Errors are mean squares over horizons 1 to 10 of forecasts from tick 20 on (5 where
recordings are short), in recordings not learned from, each observation relative to its variance in
the training data, mean over observations. Time is processor time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from benchmarks.methods import METHODS
from benchmarks.odd_systems import Cart, Joints, LineCamera
from benchmarks.tables import markdown, number
from rffpsr_ros.errors import InputError, did_you_mean
from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.system import Policy, System, dataset, open_loop

COMPARED = ("RFFPSR()", "linear ARX", "N4SID", "last observation")

TESTS = 10
"""Test recordings."""

Change = Callable[[Array, np.random.Generator], Array]
"""What is done to the observations (T, d_o) of a recording."""


@dataclass(frozen=True)
class Case:
    """A kind of recording.

    Attributes
    ----------
    what
        In words.
    system
        What was recorded, driven by uniformly random actions.
    recordings, ticks
        How many recordings to learn from, and how long.
    noise
        Measurement noise, relative to an observation's deviation.
    hold
        Seconds for which an action is held.
    change
        What is done to all recordings; with ``spares_tests`` those learned from alone.
    test_ticks
        The length of the recordings to judge by; None: that of those to learn from.
    without
        Methods that this would take too long.
    """

    what: str
    system: System = field(default_factory=Joints)
    recordings: int = 10
    ticks: int = 200
    noise: float = 0.05
    hold: float = 0.0
    change: Change | None = None
    spares_tests: bool = False
    test_ticks: int | None = None
    without: tuple[str, ...] = ()

    def make(self, seed: int, quick: bool = False) -> tuple[list[Trajectory], list[Trajectory]]:
        """Return recordings to learn from and to judge by."""
        system, share = self.system, 4 if quick and self.recordings * self.ticks > 500 else 1
        low, high = system.action_limits

        def policy(generator: np.random.Generator) -> Policy:
            return open_loop(uniform_hold(generator, low, high, system.period, self.hold))

        count, longest = max(1, self.recordings // share), max(self.ticks, self.test_ticks or 0)
        runs = dataset(system, policy, count + TESTS, longest, seed, self.noise)
        train = [run.slice(0, self.ticks) for run in runs[:count]]
        tests = [run.slice(0, self.test_ticks or self.ticks) for run in runs[count:]]
        if self.change is None:
            return train, tests
        draw = np.random.default_rng([seed, 1])
        train = [_changed(run, self.change, draw) for run in train]
        return train, tests if self.spares_tests else [
            _changed(run, self.change, draw) for run in tests
        ]


def _changed(run: Trajectory, change: Change, draw: np.random.Generator) -> Trajectory:
    observations = change(run.observations.copy(), draw)
    names = run.observation_names, run.action_names
    return Trajectory(observations, run.actions, run.period, *names, run.label)


def _gaps(observations: Array, draw: np.random.Generator) -> Array:
    """Lose a fifth of all values, in gaps of 1 to 10 ticks, each in one column."""
    lost = 0
    while lost < 0.2 * observations.size:
        first, length = draw.integers(len(observations)), draw.integers(1, 11)
        column = draw.integers(observations.shape[1])
        observations[first : first + length, column] = np.nan
        lost = int(np.isnan(observations).sum())
    return observations


def _spikes(observations: Array, draw: np.random.Generator) -> Array:
    """Replace one value in a hundred by one of up to thirty deviations."""
    spiked = draw.random(observations.shape) < 0.01
    heights = draw.uniform(-30, 30, observations.shape) * observations.std(axis=0)
    return np.where(spiked, heights, observations)


def _integers(observations: Array, draw: np.random.Generator) -> Array:
    """Count in steps of a quarter of a radian, as a coarse encoder does."""
    return np.round(observations / 0.25)


def _scales(observations: Array, draw: np.random.Generator) -> Array:
    """Measure the columns in units of a millionth, one, and a million, far from zero."""
    units = 10.0 ** np.array([-6.0, 0.0, 6.0])
    return (observations + 3.0) * np.resize(units, observations.shape[1])


CASES: Mapping[str, Case] = {
    "plain": Case("one joint, 10 recordings of 200 ticks"),
    "one short": Case("one joint, a single recording of 300 ticks", recordings=1, ticks=300),
    "many short": Case("one joint, 100 recordings of 30 ticks", recordings=100, ticks=30),
    "scales": Case("three joints in units of 1e-6, 1 and 1e6", Joints(3), change=_scales),
    "12 + 6": Case("six joints, angles and velocities", Joints(6, velocities=True), ticks=300),
    "gaps": Case("three joints, a fifth of all values missing", Joints(3), change=_gaps),
    "spikes": Case(
        "two joints, 1 % of the training values are outliers", Joints(2), change=_spikes,
        spares_tests=True,
    ),
    "integers": Case("one joint, counted in quarter radians", noise=0.0, change=_integers),
    "slow": Case("one joint, one tick per second", Joints(period=1.0)),
    "fast": Case(
        "one joint, a tick per millisecond", Joints(period=0.001), ticks=1000, noise=0.01, hold=0.1
    ),
    "noisy": Case("one joint under twice as much noise", noise=2.0),
    "odometry": Case(
        "a cart's position, tested on runs five times as long", Cart(), noise=0.005,
        hold=0.5, test_ticks=1000,
    ),
    "200 columns": Case(
        "200 pixels, 4000 ticks", LineCamera(), recordings=20, noise=0.2, without=("N4SID",)
    ),
}  # fmt: skip


class Outcome(NamedTuple):
    """The result of a method on a case."""

    error: float
    """Relative to the training variance; NaN where it refused."""
    seconds: float
    refused: str = ""


def measure(case: Case, method: str, seed: int, quick: bool = False) -> Outcome:
    """Learn and judge once."""
    if method in case.without:
        return Outcome(float("nan"), 0.0, f"{method} takes too long for {case.what}")
    train, tests = case.make(seed, quick)
    began = time.process_time()
    try:
        model = METHODS[method].make(seed).fit(train)
    except InputError as fault:
        return Outcome(float("nan"), 0.0, str(fault))
    seconds = time.process_time() - began
    errors = horizon_errors(model, tests, 10, 20 if case.ticks > 50 else 5)
    variance = np.nanvar(np.concatenate([run.observations for run in train]), axis=0)
    return Outcome(float((errors.mse_by_observation / variance).mean()), seconds)


def row(name: str, outcomes: Mapping[str, Sequence[Outcome]]) -> list[str]:
    """Return the line of a case: means over seeds, ``RFFPSR()`` relative to the best other."""
    errors = {method: float(np.mean([o.error for o in of])) for method, of in outcomes.items()}
    others = [error for method, error in errors.items() if method != COMPARED[0]]
    cells = [number(error) if np.isfinite(error) else "-" for error in errors.values()]
    if COMPARED[0] not in errors or not np.isfinite(others).any():
        return [name, *cells]
    ratio = errors[COMPARED[0]] / np.nanmin(others)
    seconds = np.mean([o.seconds for o in outcomes[COMPARED[0]]])
    return [name, *cells, f"{ratio:.2f}", number(float(seconds))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", nargs="+", metavar="NAME", default=[*CASES])
    parser.add_argument("--methods", nargs="+", metavar="NAME", default=[*COMPARED])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--quick", action="store_true", help="a quarter of the recordings")
    options = parser.parse_args(arguments)
    for names, known in ((options.cases, CASES), (options.methods, METHODS)):
        for name in names:
            if name not in known:
                print(f"error: unknown name '{name}'{did_you_mean(name, known)}", file=sys.stderr)
                return 2
    rows = []
    for case in options.cases:
        outcomes = {
            method: [measure(CASES[case], method, seed, options.quick) for seed in options.seeds]
            for method in options.methods
        }
        rows.append(row(f"{case}: {CASES[case].what}", outcomes))
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
        for refusal in {o.refused for of in outcomes.values() for o in of if o.refused}:
            print(f"  refused: {refusal}", file=sys.stderr, flush=True)
    costs = ["RFFPSR() to the best other", "CPU s"] if COMPARED[0] in options.methods else []
    print(markdown(["recordings", *options.methods, *costs], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
