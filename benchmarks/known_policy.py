"""What importance weights are worth to the framework's linear and discrete instances.

    python -m benchmarks.known_policy     a minute; kept in benchmarks/results

Each system is learned from one recording under a policy that looks at the last observation, and
judged on blind data against its exact filter. IO-HMM: 60000 ticks, 3 actions of which the policy
takes its favourite with chance .8; total variation between one-step probabilities. Kalman: 20000
ticks under linear feedback; by how much the error over horizons 1 to 10 exceeds the optimal one.
Weighting: none; stage one by every tick's ratio; stage one without the first, which cancels.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.known_systems import (
    IOHMM,
    favouring_policy,
    optimal_forecasts,
    random_linear_system,
    simulate_linear,
)
from benchmarks.records import RESULTS, machine
from rffpsr_ros.data.likelihood_ratios import with_gaussian_policy, with_table_policy
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.models.io_hmm.discrete_system import (
    DiscreteOptions,
    DiscreteSystem,
    discrete_step,
    learn_discrete_systems,
    symbol_probabilities,
)
from rffpsr_ros.models.io_hmm.symbols import indicators
from rffpsr_ros.models.kalman.subspace import SubspaceOptions, learn_linear_systems
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.psr.importance import Importance, importance, weighted_runs
from rffpsr_ros.recordings.trajectory import Trajectory

COMMAND = "python -m benchmarks.known_policy"
FILE = "known_policy.json"
SYSTEMS = 6
SYMBOLS, ACTIONS, FAVOURITE = 4, 3, 0.8
SETTLED, TEST, HORIZON = 100, 2000, 10
FEEDBACK = np.array([[-0.2, 0.1], [-0.1, -0.2]])
DISCRETE = DiscreteOptions(past=2, future=1)
LINEAR = SubspaceOptions(past=5, future=3, ridge=1e-9)
WAYS = ("not weighted", "every tick's ratio", "without the first")


def weightings(run: Trajectory, past: int, future: int) -> list[Importance | None]:
    """Return the three ways to weight a run; the product takes every tick of the future."""
    bare = Trajectory(run.observations, run.actions, likelihood_ratios=run.likelihood_ratios)
    every, later = importance([bare], past, future), importance([run], past, future)
    assert every is not None
    assert later is not None
    return [None, every._replace(length=future + 1), later._replace(length=future)]


def discrete(seed: int, ticks: int) -> list[float]:
    """Return the total variation of each way on one system."""
    known = IOHMM.random(seed)
    table = favouring_policy(SYMBOLS, ACTIONS, FAVOURITE)
    symbols, choices = (np.arange(float(size))[:, None] for size in (SYMBOLS, ACTIONS))
    looking = known.simulate(ticks, seed + 100, table)
    (run,) = with_table_policy([looking], symbols, choices, table)
    test = known.simulate(TEST, seed + 200)
    truth, codes = known.predictions(test), Run(run.observations, run.actions)
    found = []
    for way in weightings(run, DISCRETE.past, DISCRETE.future):
        counted = None if way is None else weighted_runs([codes], [run], way)
        (system,) = learn_discrete_systems([codes], SYMBOLS, ACTIONS, DISCRETE, [5], counted)
        apart = np.abs(one_step_probabilities(system, test) - truth)[SETTLED:]
        found.append(float(apart.sum(axis=1).mean() / 2))
    return found


def one_step_probabilities(system: DiscreteSystem, run: Trajectory) -> Array:
    """Return the probabilities (T, S) before each tick of a run of symbols 0, 1, ..."""
    belief, chances = system.start[None], []
    seen = indicators(run.observations[:, 0].astype(int), SYMBOLS)
    for action, symbol in zip(run.actions.astype(int), seen, strict=True):
        chances.append(symbol_probabilities(system, belief, action)[0])
        belief = discrete_step(system, belief, action, symbol[None])
    return np.array(chances)


def linear(seed: int, ticks: int) -> list[float]:
    """Return the excess error of each way on one system."""
    known = random_linear_system(seed)
    gains = stable_gains(seed)
    (run,) = with_gaussian_policy(
        [simulate_linear(known, ticks, seed + 100, gains)], gains, np.zeros(2), np.ones(2)
    )
    test = simulate_linear(known, TEST, seed + 200)
    origins = np.arange(SETTLED, TEST - HORIZON)
    future = test.observations[origins[:, None] + np.arange(HORIZON)]
    best = ((optimal_forecasts(known, test, origins, HORIZON) - future) ** 2).mean()
    codes, found = Run(run.observations, run.actions), []
    for way in weightings(run, LINEAR.past, LINEAR.future):
        counted = None if way is None else weighted_runs([codes], [run], way)
        (system,) = learn_linear_systems([codes], LINEAR, [4], counted)
        error = ((optimal_forecasts(system, test, origins, HORIZON) - future) ** 2).mean()
        found.append(float(error / best - 1))
    return found


def stable_gains(seed: int) -> Array:
    """Return the feedback's gains, made smaller until the loop is stable."""
    known, gains = random_linear_system(seed), FEEDBACK
    while True:
        below = [known.output, known.feedthrough @ gains]
        loop = np.block([[known.transition, known.action @ gains], below])
        if np.abs(np.linalg.eigvals(loop)).max() < 0.97:
            return gains
        gains = 0.7 * gains


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--systems", type=int, default=SYSTEMS)
    parser.add_argument("--ticks", type=int, nargs=2, default=(60_000, 20_000))
    parser.add_argument("--folder", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    measured: dict[str, list[list[float]]] = {"IO-HMM": [], "Kalman": []}
    with one_blas_thread():
        for seed in range(options.systems):
            measured["IO-HMM"].append(discrete(seed, options.ticks[0]))
            measured["Kalman"].append(linear(seed, options.ticks[1]))
            print(seed, *(np.round(rows[-1], 4) for rows in measured.values()), flush=True)
    rounded = {
        name: [[float(f"{value:.4g}") for value in row] for row in rows]
        for name, rows in measured.items()
    }
    kept = {"command": COMMAND, "machine": machine(), "ways": WAYS, "errors": rounded}
    options.folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(kept, indent=1) + "\n"
    (options.folder / FILE).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
