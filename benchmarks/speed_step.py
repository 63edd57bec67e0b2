"""What a tick, a forecast and a gradient cost, each beside its floor.

    python -m benchmarks.speed_step            both sizes; a minute
    python -m benchmarks.speed_step --json speed.json

Times are those of the fastest tenth of many runs on one core, in microseconds of processor time.
The floors are measured in the same run: a call of the contract that does next to nothing (the
mean), and the products of matrices that no arrangement can avoid, at the speed of this machine's
BLAS.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.six_joints import JOINTS, drive
from rffpsr_ros.data.scaling import standardise
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.psr.fourier_features import FeatureMap
from rffpsr_ros.psr.refinement.rollout_loss import rollout_loss
from rffpsr_ros.psr.refinement.segments import cut_segments, origins
from rffpsr_ros.psr.refinement.window_loss import window_loss, window_targets
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.synthetic import SyntheticSystem
from rffpsr_ros.simulation.system import dataset, open_loop

HORIZON = 10
PLANS = 64
TICKS = 70
"""Of each of the ten recordings that an epoch looks at, as in the paper's figures."""


class Cost(NamedTuple):
    """Microseconds of processor time, and of what is unavoidable."""

    microseconds: float
    floor: float
    floor_is: str

    @property
    def ratio(self) -> float:
        """Return the cost as a multiple of its floor."""
        return self.microseconds / self.floor


def least_time(act: Callable[[], object], seconds: float = 0.2) -> float:
    """Return the microseconds of processor time that a call takes when the machine is quiet.

    Of many short runs of calls it is what a tenth of them stay below: clocks of virtual machines
    jump at times, so that the very least means nothing.
    """
    act()
    began = time.thread_time()
    act()
    calls = max(1, int(1e-3 / max(time.thread_time() - began, 1e-6)))
    times, until = [], time.thread_time() + seconds
    while time.thread_time() < until:
        began = time.thread_time()
        for _ in range(calls):
            act()
        times.append((time.thread_time() - began) / calls)
    return 1e6 * sorted(times)[len(times) // 10]


def synthetic_runs(count: int, ticks: int) -> list[Trajectory]:
    """Return runs of the paper's synthetic system: one observation, one action."""
    system = SyntheticSystem()
    low, high = system.action_limits

    def policy(generator: np.random.Generator) -> Any:
        return open_loop(uniform_hold(generator, low, high, system.period))

    return dataset(system, policy, count, ticks, 0)


def joint_runs(count: int, ticks: int) -> list[Trajectory]:
    """Return runs of six joints: six observations, six actions."""
    names = [f"position.{joint}" for joint in JOINTS], [f"effort.{joint}" for joint in JOINTS]
    return [Trajectory(*drive(100.0, ticks, seed), 0.01, *names) for seed in range(count)]


def product_time(rows: int, inner: int, columns: int) -> float:
    """Return the microseconds of a product of matrices (rows, inner) and (inner, columns)."""
    left, right = np.ones((rows, inner)), np.ones((inner, columns))
    out = np.empty((rows, columns))
    return least_time(lambda: np.dot(left, right, out=out), 0.1)


def step_costs(model: RFFPSRModel, run: Trajectory) -> dict[str, Cost]:
    """Return the costs of an update, a forecast and many plans, by numpy and compiled."""
    nothing = Mean().fit([run])
    empty, action, seen = nothing.initial_state(), run.actions[20], run.observations[20]
    turns = itertools.cycle([action, run.actions[30]])  # compiled code remembers the last action
    plan = run.actions[20 : 20 + HORIZON].copy()
    held, plans = np.tile(plan[0], (HORIZON, 1)), np.tile(plan, (PLANS, 1, 1))
    parameters = model.parts.parameters
    inner, columns = len(parameters.covariance), parameters.covariance.shape[1]
    columns += parameters.extended.shape[1] + parameters.prediction.shape[1]
    empty_forecast = least_time(lambda: nothing.predict(empty, plan), 0.1)
    floors = {
        "update": (
            least_time(lambda: nothing.update(empty, action, seen), 0.1)
            + product_time(1, inner, columns),
            "empty call + product",
        ),
        "forecast": (
            empty_forecast + HORIZON * product_time(1, inner, columns),
            "empty call + products",
        ),
        "forecast, command held": (
            empty_forecast + HORIZON * product_time(1, len(parameters.initial), columns),
            "empty call + products with the state",
        ),
        "plans": (HORIZON * product_time(PLANS, inner, columns), "products"),
    }
    costs = {}
    for name, model_run in (
        ("numpy", model.inference_model(compiled=False)),
        ("compiled", model.inference_model()),
    ):
        if name == "compiled" and not model_run.compiled:
            continue
        state = model_run.initial_state()
        for before in range(20):
            state = model_run.update(state, run.actions[before], run.observations[before])
        acts: dict[str, Callable[[], object]] = {
            "update": lambda m=model_run, s=state: m.update(s, next(turns), seen),  # type: ignore[misc]
            "forecast": lambda m=model_run, s=state: m.predict(s, plan),  # type: ignore[misc]
            "forecast, command held": lambda m=model_run, s=state: m.predict(s, held),  # type: ignore[misc]
            "plans": lambda m=model_run, s=state: m.predict(s, plans),  # type: ignore[misc]
        }
        for what, act in acts.items():
            costs[f"{what}, {name}"] = Cost(least_time(act), *floors[what])
    return costs


def stateless_costs(model: RFFPSRModel, run: Trajectory) -> dict[str, Cost]:
    """Return what a forecast costs where the state has no say, as of most learned features."""
    parameters = model.parts.parameters
    silent = parameters._replace(prediction=np.zeros_like(parameters.prediction))
    model = RFFPSRModel(model.signature, model.record, model.parts._replace(parameters=silent))
    nothing, plan = Mean().fit([run]), run.actions[20 : 20 + HORIZON].copy()
    empty = nothing.initial_state()
    floor = least_time(lambda: nothing.predict(empty, plan), 0.1)
    costs = {}
    for name, compiled in (("numpy", False), ("compiled", True)):
        served = model.inference_model(compiled)
        state = served.initial_state()
        took = least_time(lambda m=served, s=state: m.predict(s, plan))  # type: ignore[misc]
        costs[f"forecast, state without a say, {name}"] = Cost(took, floor, "empty call")
    return costs


def ensemble_costs(model: PredictiveModel[Any], run: Trajectory) -> dict[str, Cost]:
    """Return the costs of what `RFFPSR` gives, all members compiled together and by numpy."""
    nothing = Mean().fit([run])
    empty, action, seen = nothing.initial_state(), run.actions[40], run.observations[40]
    plan = run.actions[40 : 40 + HORIZON].copy()
    plans = np.tile(plan, (PLANS, 1, 1))
    call = "empty call"
    floors = {
        "update": least_time(lambda: nothing.update(empty, action, seen), 0.1),
        "forecast": least_time(lambda: nothing.predict(empty, plan), 0.1),
        "plans": least_time(lambda: nothing.predict(empty, plans), 0.1),
    }
    costs = {}
    for name, compiled in (("numpy", False), ("compiled", True)):
        served = model.inference_model(compiled)
        state = served.initial_state()
        for before in range(40):
            state = served.update(state, run.actions[before], run.observations[before])
        acts: dict[str, Callable[[], object]] = {
            "update": lambda m=served, s=state: m.update(s, action, seen),  # type: ignore[misc]
            "forecast": lambda m=served, s=state: m.predict(s, plan),  # type: ignore[misc]
            "plans": lambda m=served, s=state: m.predict(s, plans),  # type: ignore[misc]
        }
        for what, act in acts.items():
            costs[f"{what}, ensemble, {name}"] = Cost(least_time(act), floors[what], call)
    return costs


def epoch_costs(model: RFFPSRModel, runs: list[Trajectory]) -> dict[str, Cost]:
    """Return the costs of loss and gradient over ten recordings, in single precision."""
    parts = model.parts
    structure = parts.structure._replace(limits=None).astype(np.float32)
    parameters = parts.parameters.astype(np.float32)
    standard = standardise(runs[:10], parts.observation_scaling, parts.action_scaling)
    seen = [np.ones(run.observations.shape, bool) for run in standard]
    segments = cut_segments(standard, seen, structure, TICKS, 0).astype(np.float32)
    starts = origins(segments, HORIZON)
    columns, acted = segments.observations.shape[2], segments.actions.shape[2]
    by_horizon = np.full((HORIZON, columns), 1 / (HORIZON * columns), np.float32)
    # A head like the paper's, of as many features of the window's actions as of single ones.
    generator = np.random.default_rng(0)
    frequencies = generator.normal(size=(200, HORIZON * acted)).astype(np.float32)
    projection = np.ones((400, structure.action.size), np.float32)
    targets = window_targets(segments, structure, FeatureMap(frequencies, projection), HORIZON)
    head = np.zeros((len(parameters.covariance), HORIZON * columns), np.float32)
    states, actions = len(parameters.initial), structure.action.size
    read = parameters.covariance.shape[1] + parameters.extended.shape[1]
    # Forwards, backwards, and at the weights.
    per_tick = 3 * product_time(len(segments.observations), states * actions, read)
    rolled = 3 * product_time(len(starts.tick), states * actions, read)
    return {
        "window loss": Cost(
            least_time(lambda: window_loss(parameters, head, structure, segments, targets), 1),
            TICKS * per_tick,
            "products",
        ),
        "rolled-out loss": Cost(
            least_time(
                lambda: rollout_loss(parameters, structure, segments, starts, by_horizon), 1
            ),
            TICKS * per_tick + HORIZON * rolled,
            "products",
        ),
    }


def _unwatched(model: RFFPSRModel) -> RFFPSRModel:
    """Return the model without its filter monitor: trained so briefly, it would reset often."""
    monitor = model.parts.monitor._replace(shortest=0.0, longest=np.inf, nis=np.inf)
    return RFFPSRModel(model.signature, model.record, model.parts._replace(monitor=monitor))


def costs() -> dict[str, Cost]:
    """Return every cost by its name."""
    results = {}
    for size, runs in (
        ("1 observation, 1 action", synthetic_runs(13, TICKS)),
        ("6 observations, 6 actions", joint_runs(13, TICKS)),
    ):
        # Timed, not judged: a few iterations give weights of the right sizes.
        model = _unwatched(SingleRFFPSR(iterations=3).fit(runs[:10], runs[10:]))
        together = RFFPSR(iterations=3).fit(runs[:10], runs[10:])
        of_steps = {
            **step_costs(model, runs[0]),
            **stateless_costs(model, runs[0]),
            **ensemble_costs(together, runs[0]),
        }
        for name, cost in {**of_steps, **epoch_costs(model, runs)}.items():
            results[f"{name}, {size}"] = cost
    return results


def table(results: dict[str, Cost]) -> str:
    """Return the costs as Markdown."""
    rows = ["| what | us | floor us | times | floor |", "| --- | --- | --- | --- | --- |"]
    rows += [
        f"| {name} | {cost.microseconds:.1f} | {cost.floor:.1f} | {cost.ratio:.1f}"
        f" | {cost.floor_is} |"
        for name, cost in results.items()
    ]
    return "\n".join(rows)


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed_step")
    parser.add_argument("--json", type=Path, help="a file to write the figures to")
    arguments = parser.parse_args()
    results = costs()
    print(table(results))
    if arguments.json:
        figures = {name: {**one._asdict(), "ratio": one.ratio} for name, one in results.items()}
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
