"""Whether the filter's drift alarm is silent on the robot learned from, and told of a changed one.

    python -m benchmarks.drift_alarm             measure, write the record, print its table
    python -m benchmarks.drift_alarm --show      the table of the record
    python -m benchmarks.drift_alarm SYSTEM...   of some systems

Each system's default model is learned, and a follower is started in the midst of data that were not
learned from: of the same robot fifty times, and of changed robots. Everything goes through the
follower, message by message, as in the filter node; an alarm at any tick counts. Beside it stands
how often the mean of the newest squared errors, cold states among them, exceeds the same limit.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from benchmarks import datasets, loaded_arm
from benchmarks.records import RESULTS, machine
from benchmarks.tables import markdown
from rffpsr_ros import RFFPSR
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.follower import Follower, Step
from rffpsr_ros.forecasting.live_error import training_error
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.simulation.excitation import uniform_hold
from rffpsr_ros.simulation.sdf_world import SdfWorld
from rffpsr_ros.simulation.synthetic import SyntheticSystem, derivative
from rffpsr_ros.simulation.system import System, dataset, open_loop, runge_kutta

RECORD = RESULTS / "drift_alarm.json"
WORLD = Path(__file__).resolve().parent.parent / "worlds" / "pendulum.sdf"

LIMIT = 4.0
"""The filter's ``drift_warning``."""
STARTS, CHANGED, DOUBLED = 50, 10, 20
"""Starts with the robot learned from, with each changed one, and with twice the payload."""
BEFORE, TICKS = 50, 450
"""Ticks of each run before the start, and after it."""
MEAN_OF = 20
"""Forecasts whose mean the alarm was once raised by."""


class Robots(NamedTuple):
    """What is learned from, runs of the same robot, and runs of changed ones."""

    train: Sequence[Trajectory]
    same: Sequence[Trajectory]
    changed: Mapping[str, Sequence[Trajectory]]


class Motor:
    """A system whose motor gives a share of what is asked."""

    def __init__(self, system: Any, share: float) -> None:
        self._system, self._share = system, share

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def step(self, state: Array, action: Array) -> Array:
        """Return the state one tick later."""
        stepped: Array = self._system.step(state, self._share * action)
        return stepped


class Sticky(SyntheticSystem):
    """The synthetic system with its friction doubled."""

    def step(self, state: Array, action: Array) -> Array:
        """Return the state one tick later."""

        def slower(state: Array, action: Array) -> Array:
            x1, x2 = state[..., 0], state[..., 1]
            damping = 0.1 * np.cos(x1) * (5 * x1 - 4 * x1**3 + x1**5)
            change: Array = derivative(state, action) - np.stack([damping, x2], axis=-1)
            return change

        return runge_kutta(slower, state, action, self.period, 8)


def simulated(system: Any, hold: float, count: int, ticks: int, seed: int) -> list[Trajectory]:
    """Return runs under uniformly random commands, each held for so many seconds."""
    low, high = system.action_limits
    robot: System = system

    def policy(generator: np.random.Generator) -> Any:
        return open_loop(uniform_hold(generator, low, high, system.period, hold))

    return dataset(robot, policy, count, ticks, seed)


def synthetic() -> Robots:
    """Return the paper's synthetic system: 10 runs of 100 ticks to learn from."""
    whole, length = SyntheticSystem(), BEFORE + TICKS
    return Robots(
        datasets.fresh_synthetic(1000).train,
        simulated(whole, 0.05, STARTS, length, 77),
        {
            "motor halved": simulated(Motor(whole, 0.5), 0.05, CHANGED, length, 78),
            "friction doubled": simulated(Sticky(), 0.05, CHANGED, length, 79),
        },
    )


def pendulum() -> Robots:
    """Return the pendulum of worlds/pendulum.sdf: 10 runs of 10 s at 20 Hz to learn from."""
    whole, length = SdfWorld(WORLD, 0.05), BEFORE + TICKS
    text = WORLD.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sticky.sdf"
        file.write_text(text.replace("<damping>0.1<", "<damping>0.2<"), encoding="utf-8")
        sticky = SdfWorld(file, 0.05)
    return Robots(
        simulated(whole, 0.2, 10, 200, 0),
        simulated(whole, 0.2, STARTS, length, 77),
        {
            "motor halved": simulated(Motor(whole, 0.5), 0.2, CHANGED, length, 78),
            "friction doubled": simulated(sticky, 0.2, CHANGED, length, 79),
        },
    )


def arm() -> Robots:
    """Return the arm of worlds/arm.sdf with a payload: 15 runs of 10 s at 20 Hz to learn from."""
    light, heavy = loaded_arm.loaded_arm(), loaded_arm.loaded_arm(2 * loaded_arm.PAYLOAD)
    same = loaded_arm.runs(light, STARTS, BEFORE + TICKS, 77)
    doubled = [
        loaded_arm.changed_in_mid_run(run, heavy, TICKS, 78 + number).slice(
            TICKS, TICKS + BEFORE + TICKS
        )
        for number, run in enumerate(same[:DOUBLED])
    ]
    return Robots(loaded_arm.runs(light, 15, 200, 0), same, {"payload doubled": doubled})


def jackal() -> Robots:
    """Return the Clearpath Jackal, of which nobody recorded a change; starts overlap."""
    split = datasets.jackal()
    (run,) = split.test
    firsts = np.linspace(0, len(run) - BEFORE - TICKS, STARTS).astype(int)
    same = [run.slice(first, first + BEFORE + TICKS) for first in firsts.tolist()]
    return Robots(split.train, same, {})


SYSTEMS: Mapping[str, Callable[[], Robots]] = {
    "synthetic": synthetic,
    "pendulum": pendulum,
    "arm with a payload": arm,
    "jackal": jackal,
}


def on_topics(model: PredictiveModel[Any]) -> PredictiveModel[Any]:
    """Return the model as if it had been learned from two topics."""
    counts = len(model.signature.observation_names), len(model.signature.action_names)
    names = [[f"v{column}" for column in range(count)] for count in counts]
    channels = {
        "rate": 1 / model.signature.period,
        "observation": {"inputs": ["seen"], "seen": {"topic": "/seen", "fields": names[0]}},
        "action": {"inputs": ["told"], "told": {"topic": "/told", "fields": names[1]}},
    }
    signature = replace(
        model.signature,
        observation_names=tuple(f"seen.{name}" for name in names[0]),
        action_names=tuple(f"told.{name}" for name in names[1]),
        channels=ChannelConfiguration.from_mapping(channels).to_mapping(),
    )
    return model.replaced(signature=signature)


def first_alarms(model: PredictiveModel[Any], run: Trajectory) -> tuple[int | None, int | None]:
    """Return the ticks after which there was an alarm, and a mean above the limit; None: never."""
    follower = Follower(model, FollowOptions())
    period_ns = round(run.period * 1e9)
    alarm = mean = None
    scores: list[float] = []
    plain = MeanOfAll(follower)
    for tick, (seen, told) in enumerate(zip(run.observations, run.actions, strict=True)):
        now = 10**12 + tick * period_ns
        for topic, stamp, row in (("/told", now, told), ("/seen", now + period_ns, seen)):
            message = SimpleNamespace(**{f"v{i}": value for i, value in enumerate(row.tolist())})
            for step in follower.feed(topic, stamp, message, wanted=False):
                assert isinstance(step, Step)
                scores = plain.after(step)
        if alarm is None and follower.live_error.drift.drifted(LIMIT):
            alarm = tick
        if mean is None and len(scores) >= MEAN_OF and np.mean(scores[-100:]) > LIMIT:
            mean = tick
    return alarm, mean


class MeanOfAll:
    """The squared errors over those of training of all forecasts, that of the first tick too."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower
        self._reference = training_error(follower.model)
        self._origin: Any = None
        self._ticks: list[Any] = []
        self._scores: list[float] = []

    def after(self, step: Step) -> list[float]:
        """Return the scores after a step."""
        assert self._reference is not None
        horizon = self._follower.live_error.horizon
        if self._origin is not None:
            self._ticks.append(step.tick)
            if len(self._ticks) < horizon:
                return self._scores
            actions = np.stack([tick.action for tick in self._ticks])
            forecast = self._follower.model.predict(self._origin, actions)
            errors = np.stack([tick.observation for tick in self._ticks]) - forecast
            self._scores.append(float(np.nanmean(errors**2 / self._reference[:horizon])))
        self._origin, self._ticks = self._follower.state, []
        return self._scores


def measured(name: str) -> dict[str, Any]:
    """Return the figures of a system."""
    robots = SYSTEMS[name]()
    model = on_topics(RFFPSR().fit(robots.train))
    found = [first_alarms(model, run.slice(BEFORE, len(run))) for run in robots.same]
    figures: dict[str, Any] = {
        "starts": len(found),
        "false alarms": sum(alarm is not None for alarm, _ in found),
        "mean above the limit": sum(mean is not None for _, mean in found),
    }
    changes = {}
    for change, runs in robots.changed.items():
        at_start = [first_alarms(model, run.slice(BEFORE, len(run)))[0] for run in runs]
        amid = [
            first_alarms(model, _one_after_the_other(same, run))[0]
            for same, run in zip(robots.same, runs, strict=False)
        ]
        after = [None if tick is None else tick - TICKS for tick in amid]
        period = runs[0].period
        changes[change] = {
            "at a start": _told(at_start, period),
            "amid a run": _told(after, period),
        }
    return figures | {"changes": changes}


def _one_after_the_other(same: Trajectory, changed: Trajectory) -> Trajectory:
    """Return a run in which the robot changes; it moves on from elsewhere, which costs a tick."""
    parts = [run.slice(BEFORE, len(run)) for run in (same, changed)]
    return Trajectory(
        np.concatenate([run.observations for run in parts]),
        np.concatenate([run.actions for run in parts]),
        same.period,
    )


def _told(ticks: Sequence[int | None], period: float) -> dict[str, Any]:
    known = [tick for tick in ticks if tick is not None]
    latest = max(known, default=None)
    return {
        "runs": len(ticks),
        "told": len(known),
        "latest": latest,
        "seconds": None if latest is None else latest * period,
    }


def table(record: Mapping[str, Any]) -> str:
    """Return a record as Markdown."""
    rows = []
    for name, one in record["systems"].items():
        silent = f"{one['false alarms']} of {one['starts']}"
        before = f"{one['mean above the limit']} of {one['starts']}"
        rows.append([name, "the robot learned from", silent, before, ""])
        for change, when in one["changes"].items():
            for start, told in when.items():
                count = f"{told['told']} of {told['runs']}"
                latest = str(told["latest"])
                if told.get("seconds") is not None:
                    latest += f" ({told['seconds']:.3g} s)"
                rows.append([name, f"{change}, {start}", count, "", latest])
    heads = ["system", "robot", "alarms", "mean of 20 above 4", "latest after ticks"]
    return markdown(heads, rows)


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.drift_alarm")
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=", ".join(SYSTEMS))
    parser.add_argument("--show", action="store_true", help="only print the table of the record")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file to write or show")
    options = parser.parse_args()
    if unknown := set(options.systems) - set(SYSTEMS):
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(SYSTEMS)}")
    if not options.show:
        known: dict[str, Any] = {}
        if options.systems and options.record.exists():
            known = json.loads(options.record.read_text(encoding="utf-8"))["systems"]
        for name in options.systems or SYSTEMS:
            known[name] = measured(name)
        record = {"machine": machine(), "limit": LIMIT, "systems": known}
        options.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(table(json.loads(options.record.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
