"""Do importance weights help if the training policy was not blind? The swimmer, blind test data.

    python -m benchmarks.non_blind               two-stage regression, some minutes
    python -m benchmarks.non_blind --refined     one model with all terms, refined; longer

Training: 24 trajectories of 100 ticks in which each action is random with probability p and seeks
the goal otherwise (one more is for validation). Test: 20 blind trajectories. Weights come from the
known policy: a blind tick has ratio 1 / p, a seeking one 0. Mean squared error of the nose
position, summed over its two coordinates, mean over horizons 1 to 10, scored from tick 20 on.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.simulation.excitation import mixed_policy, uniform_hold
from rffpsr_ros.simulation.swimmer import Swimmer, seek_goal
from rffpsr_ros.simulation.system import Policy, dataset

SYSTEM = Swimmer()
NOISE = 0.05
COUNT, TICKS = 25, 100
HORIZONS = 10
NOSE = slice(2, 4)
"""The nose position among the observations."""


def mixed(probability: float) -> Callable[[np.random.Generator], Policy]:
    """Return the policy that is blind with a probability, at every tick anew."""
    low, high = SYSTEM.action_limits

    def policy(generator: np.random.Generator) -> Policy:
        blind = uniform_hold(generator, low, high, SYSTEM.period)
        return mixed_policy(generator, blind, seek_goal, probability, low, high)

    return policy


def recordings(probability: float, seed: int) -> list[Trajectory]:
    """Return training trajectories with the likelihood ratios of a blind policy."""
    noisy = dataset(SYSTEM, mixed(probability), COUNT, TICKS, seed, NOISE)
    clean = dataset(SYSTEM, mixed(probability), COUNT, TICKS, seed)
    return [
        Trajectory(
            run.observations,
            run.actions,
            run.period,
            run.observation_names,
            run.action_names,
            run.label,
            np.where(_seeking(seen), 0.0, 1 / probability),
        )
        for run, seen in zip(noisy, clean, strict=True)
    ]


def _seeking(clean: Trajectory) -> Array:
    """Return at which ticks the action is that which seeks the goal, given what policies see."""
    start = SYSTEM.observe(SYSTEM.initial_state(np.random.default_rng(0)))
    before = np.concatenate([start[None], clean.observations[:-1]])
    low, high = SYSTEM.action_limits
    sought = [
        np.clip(seek_goal(tick * clean.period, seen), low, high) for tick, seen in enumerate(before)
    ]
    return np.asarray((clean.actions == np.array(sought)).all(axis=1))


def without_ratios(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """Return the trajectories as if nothing were known of the policy."""
    return [
        Trajectory(
            run.observations, run.actions, run.period, run.observation_names, run.action_names
        )
        for run in trajectories
    ]


def error(model: PredictiveModel[Any], test: Sequence[Trajectory]) -> float:
    """Return the nose position's error, mean over horizons."""
    found = horizon_errors(model, test, HORIZONS, 20).mse_by_observation[:, NOSE]
    return float(found.sum(axis=1).mean())


def settings(refined: bool) -> dict[str, dict[str, Any]]:
    """Return the learners' options by name."""
    bare = {"refinement": "none", "arx_past": 0, "narx_past": 0, "narx_features": 0}
    if refined:
        return {"one model, all terms, refined": {"folds": 1}}
    return {"two stages, PSR alone": bare, "two stages, default terms": {"refinement": "none"}}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--refined", action="store_true", help="one model, refined")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args(arguments)
    print("| p | learner | unweighted | weighted | weighted / unweighted | windows, effective |")
    print("|---|---|---|---|---|---|", flush=True)
    for probability in (0.8, 0.5):
        for name, setting in settings(options.refined).items():
            rows, effective = [], []
            for seed in range(options.seeds):
                known = recordings(probability, seed)
                test = dataset(SYSTEM, mixed(1.0), 20, TICKS, seed + 2_000_000, NOISE)
                learner = RFFPSR(seed=seed, **setting)
                plain = without_ratios(known)
                weighted = learner.fit(known[:-1], known[-1:])
                unweighted = learner.fit(plain[:-1], plain[-1:])
                rows.append((error(unweighted, test), error(weighted, test)))
                effective.append(_weighting(weighted))
            print(
                f"| {probability} | {name} | {_row(np.array(rows))} | {effective[0]} |", flush=True
            )
    return 0


def _weighting(model: PredictiveModel[Any]) -> str:
    """Return over how many ticks weights were multiplied, and how many windows they leave."""
    (note,) = (one for one in model.record.notes if one.startswith("windows weighted"))
    return note.rpartition("over ")[2]


def _row(rows: Array) -> str:
    """Return medians with the range of seeds, and of the seeds' own ratios."""
    columns = [*rows.T, rows[:, 1] / rows[:, 0]]
    return " | ".join(f"{np.median(c):.3g} ({c.min():.3g} to {c.max():.3g})" for c in columns)


if __name__ == "__main__":
    sys.exit(main())
