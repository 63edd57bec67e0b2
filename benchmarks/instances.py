"""Learners of the framework's instances on ten random systems each, beside the exact filters.

    python -m benchmarks.instances [--ticks 100000] [--systems 10]

All sizes are the learners' own choice on data held out of training.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.known_systems import (
    IOHMM,
    optimal_forecasts,
    random_linear_system,
    simulate_linear,
)
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.io_hmm.learner import IOHMM as IOHMMLearner
from rffpsr_ros.models.kalman.learner import Kalman
from rffpsr_ros.models.state_batches import stack_states
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

HORIZON = 10
SETTLED = 100
TEST = 2000


def main() -> None:
    """Print one line for each system."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--ticks", type=int, default=100_000)
    parser.add_argument("--systems", type=int, default=10)
    arguments = parser.parse_args()
    print("IO-HMM: total variation from the exact filter's probabilities, relative to a constant's")
    shares = []
    for seed in range(arguments.systems):
        share, chosen = io_hmm_share(seed, arguments.ticks)
        shares.append(share)
        print(f"  {seed}: {share:.3f}  {chosen}", flush=True)
    print(f"  mean {np.mean(shares):.3f}, largest {max(shares):.3f}")
    print("Kalman: excess of the k-step error over the optimal predictor's, for k = 1 to 10")
    rows = []
    for seed in range(arguments.systems):
        excess, chosen = kalman_excess(seed, arguments.ticks)
        rows.append(excess)
        print(f"  {seed}: largest {excess.max():.4f}  {chosen}", flush=True)
    median = np.median(rows, axis=0)
    print("  median by horizon", np.array2string(median, precision=4, suppress_small=True))
    print("Kalman without noise: largest error of a forecast over the observations' deviation")
    for seed in range(arguments.systems):
        print(f"  {seed}: {noise_free_error(seed):.1e}", flush=True)


def states_along(model: PredictiveModel[Any], run: Trajectory, count: int) -> Iterator[Any]:
    """Yield the model's state before each of the first ticks of a run."""
    state = model.initial_state()
    for t in range(count):
        yield state
        state = model.update(state, run.actions[t], run.observations[t])


def io_hmm_share(seed: int, ticks: int) -> tuple[float, dict[str, Any]]:
    """Return the learned probabilities' distance from the exact ones over a constant's."""
    known = IOHMM.random(seed)
    train, test = known.simulate(ticks, seed + 100), known.simulate(TEST, seed + 200)
    model = IOHMMLearner().fit([train])
    states = stack_states(list(states_along(model, test, TEST)))
    ours = model.probabilities(states, test.actions[:, None])[:, 0]
    truth = known.predictions(test)
    constant = np.bincount(train.observations[:, 0].astype(int)) / ticks
    apart = [np.abs(p - truth)[SETTLED:].sum(1).mean() for p in (ours, constant)]
    return float(apart[0] / apart[1]), dict(model.record.options)


def kalman_forecasts(model: PredictiveModel[Any], run: Trajectory, origins: Array) -> Array:
    """Return the model's forecasts (B, H, d_o) by its own filter."""
    states = list(states_along(model, run, origins[-1] + 1))[origins[0] :]
    return model.predict(stack_states(states), run.actions[origins[:, None] + np.arange(HORIZON)])


def kalman_excess(seed: int, ticks: int) -> tuple[Array, dict[str, Any]]:
    """Return by how much the learned model's squared errors (H,) exceed the optimal ones."""
    system = random_linear_system(seed)
    train, test = (
        simulate_linear(system, ticks, seed + 100),
        simulate_linear(system, TEST, seed + 200),
    )
    model = Kalman().fit([train])
    origins = np.arange(SETTLED, TEST - HORIZON)
    future = test.observations[origins[:, None] + np.arange(HORIZON)]
    ours, best = (
        ((forecast - future) ** 2).sum(2).mean(0)
        for forecast in (
            kalman_forecasts(model, test, origins),
            optimal_forecasts(system, test, origins, HORIZON),
        )
    )
    return ours / best - 1, dict(model.record.options)


def noise_free_error(seed: int, ticks: int = 3000) -> float:
    """Return the largest error of any forecast on a test run, in deviations of the observations."""
    system = random_linear_system(seed, noise=0.0)
    model = Kalman().fit([simulate_linear(system, ticks, seed + 100)])
    test = simulate_linear(system, 600, seed + 200)
    origins = np.arange(SETTLED, 600 - HORIZON)
    future = test.observations[origins[:, None] + np.arange(HORIZON)]
    error = kalman_forecasts(model, test, origins) - future
    return float(np.abs(error).max() / test.observations.std())


if __name__ == "__main__":
    main()
