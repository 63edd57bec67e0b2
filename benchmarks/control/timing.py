"""How long planning takes: six joints at 50 Hz, single model and default ensemble.

    python -m benchmarks.control.timing                 both, 1500 ticks each
    python -m benchmarks.control.timing --single --ticks 200

In one process, without topics: to what it tells comes what a message takes on its way.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

import numpy as np

from benchmarks.six_joints import in_motion, run_of
from rffpsr_ros import RFFPSR
from rffpsr_ros.control.planner import Planner
from rffpsr_ros.control.problem import Problem
from rffpsr_ros.control.settings import ControlSettings, task_of
from rffpsr_ros.models.contract import Learner
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR

RATE = 50.0
EPISODES, LONG = 8, 500
BUDGET = 10.0
"""Milliseconds within which a command is to answer an observation."""


def main(words: Sequence[str] | None = None) -> int:
    """Print a line for each model."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ticks", type=int, default=1500, help="how many (1500)")
    parser.add_argument("--horizon", type=int, default=10, help="ticks of a plan (10)")
    parser.add_argument("--single", action="store_true", help="no ensemble")
    parser.add_argument("--budget", type=float, default=BUDGET, help="milliseconds (10)")
    options = parser.parse_args(words)
    runs = [run_of(RATE, LONG, seed) for seed in range(EPISODES)]
    learners: dict[str, Learner] = {"single": SingleRFFPSR()}
    if not options.single:
        learners["ensemble"] = RFFPSR()
    for name, learner in learners.items():
        model = learner.fit(runs[1:], runs[:1]).inference_model()
        settings = ControlSettings(horizon=options.horizon, budget=options.budget)
        task = task_of(settings, model)
        planner = Planner(task.solver, task.budget)
        course = in_motion(RATE, options.ticks + options.horizon, 99)
        state, told = model.initial_state(), np.zeros(len(course.action_names))
        took, spent = [], time.process_time()
        for tick in range(options.ticks):
            began = time.perf_counter()
            state = model.update(state, course.actions[tick], course.observations[tick])
            ahead = course.observations[tick + 1 : tick + 1 + options.horizon]
            problem = Problem(model, state, told, told, ahead, task.objective, task.limits)
            plan = planner.plan(problem, options.horizon - 1)
            took.append(1e3 * (time.perf_counter() - began))
            told = told if plan is None else plan.actions[0]
        spent = time.process_time() - spent
        within = float(np.mean(np.array(took) <= BUDGET))
        p50, p99 = np.percentile(took, [50, 99])
        print(
            f"{name}: update and plan p50 {p50:.2f} ms, p99 {p99:.2f} ms; {within:.1%} within"
            f" {BUDGET:g} ms; {spent * RATE / options.ticks:.0%} of a core at {RATE:g} Hz",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
