"""What the filter's adaptation gains after a change, costs without one, and what faults do to it.

    python -m benchmarks.adaptation             measure, write the record, print its tables
    python -m benchmarks.adaptation --show      the tables of the record
    python -m benchmarks.adaptation --model FILE   with a model of the arm that was learned before

The arm of worlds/arm.sdf is learned with a payload, by default settings. Then it is followed with
and without adaptation on the same runs: with the payload doubled in mid-run, with the same payload
throughout, and with a burst of faults in either. Errors are those of forecasts that know the
actions to come, half a second ahead, as shares of those without adaptation: root mean squares by
observation, and the mean of these.
"""

from __future__ import annotations

import argparse
import json
import timeit
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.loaded_arm import PAYLOAD, PERIOD, changed_in_mid_run, loaded_arm, runs
from benchmarks.records import RESULTS, machine
from benchmarks.tables import markdown
from rffpsr_ros import RFFPSR
from rffpsr_ros.forecasting.adaptation.adaptive_model import AdaptiveModel
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

RECORD = RESULTS / "adaptation.json"
HORIZON = 10
RUNS = 10
SAME, AFTER = 400, 900
"""Ticks before the payload is doubled, and after it."""

EVERY = 100
"""Ticks (5 s) over which errors are taken together."""

BURST = slice(1000, 1020)
"""Ticks of a burst of faults."""
RECOVERED = 20
"""Ticks after a burst from which on errors are compared: until then any filter is upset."""

Fault = Callable[[Array, Array, np.random.Generator], Array]
"""What becomes of observations (n, d_o), given the widths of the trained range (d_o,)."""

FAULTS: Mapping[str, Fault] = {
    "spikes": lambda seen, width, draw: seen + 3 * width * draw.normal(size=seen.shape),
    "offset": lambda seen, width, draw: seen + 0.5 * width,
    "stuck": lambda seen, width, draw: np.repeat(seen[:1], len(seen), axis=0),
    "zeros": lambda seen, width, draw: np.zeros_like(seen),
    "silence": lambda seen, width, draw: np.full_like(seen, np.nan),
}


def shares(adapted: Sequence[Array], plain: Sequence[Array], part: slice, row: int) -> Array:
    """Return root mean square errors (d_o,) of forecasts over those of others."""
    one, other = (
        np.concatenate([errors[part, row] for errors in found]) ** 2 for found in (adapted, plain)
    )
    ratio: Array = np.sqrt(np.nanmean(one, axis=0) / np.nanmean(other, axis=0))
    return ratio


def after_the_change(adapted: Sequence[Array], plain: Sequence[Array]) -> dict[str, Any]:
    """Return shares of errors by seconds after the payload was doubled."""
    by_seconds = []
    for first in range(SAME, SAME + AFTER - EVERY - HORIZON, EVERY):
        share = shares(adapted, plain, slice(first, first + EVERY), HORIZON - 1)
        by_seconds.append({"until": (first + EVERY - SAME) * PERIOD, "share": float(share.mean())})
    return {"by seconds": by_seconds}


def burst_shares(
    model: PredictiveModel[Any], runs: Sequence[Trajectory], without: Sequence[Array]
) -> dict[str, float]:
    """Return, by fault, errors in the five seconds after a burst over those without the burst."""
    known = model.trained_range.observations
    assert known is not None
    adaptive, found = AdaptiveModel(model, HORIZON), {}
    later = slice(BURST.stop + RECOVERED, BURST.stop + RECOVERED + EVERY)
    for name, fault in FAULTS.items():
        after = []
        for number, run in enumerate(runs):
            seen = run.observations.copy()
            draw = np.random.default_rng(number)
            seen[BURST] = fault(seen[BURST], known.high - known.low, draw)
            after.append(errors_by_origin(adaptive, Trajectory(seen, run.actions, PERIOD), HORIZON))
        found[name] = float(shares(after, without, later, HORIZON - 1).mean())
    return found


def costs(model: PredictiveModel[Any], run: Trajectory) -> dict[str, float]:
    """Return microseconds of an update and of a forecast, with and without adaptation."""
    served = model.inference_model()
    found = {}
    for name, one in (("without", served), ("with", AdaptiveModel(served, HORIZON))):
        state = one.initial_state()
        for action, seen in zip(run.actions, run.observations, strict=True):
            state = one.update(state, action, seen)
        plan, ticks = run.actions[:HORIZON], slice(500, 600)

        def follow(one: Any = one, state: Any = state, ticks: slice = ticks) -> None:
            for action, seen in zip(run.actions[ticks], run.observations[ticks], strict=True):
                state = one.update(state, action, seen)

        found[f"update, {name}"] = min(timeit.repeat(follow, number=1, repeat=10)) / 100 * 1e6
        forecast = partial(one.predict, state, plan)
        found[f"forecast, {name}"] = min(timeit.repeat(forecast, number=100, repeat=10)) * 1e4
    return found


def measured(given: PredictiveModel[Any] | None) -> dict[str, Any]:
    """Return all figures."""
    light, heavy = loaded_arm(), loaded_arm(2 * PAYLOAD)
    model = given or RFFPSR().fit(runs(light, 15, 200, 0))
    same = runs(light, RUNS, SAME + AFTER, 77)
    doubled = [
        changed_in_mid_run(run.slice(0, SAME), heavy, AFTER, 78 + number)
        for number, run in enumerate(same)
    ]
    adaptive, figures = AdaptiveModel(model, HORIZON), dict[str, Any]()
    for name, robots in (("payload doubled", doubled), ("same payload", same)):
        plain = [errors_by_origin(model, run, HORIZON) for run in robots]
        adapted = [errors_by_origin(adaptive, run, HORIZON) for run in robots]
        figures[name] = {"after a burst": burst_shares(model, robots, adapted)}
        if robots is doubled:
            figures[name] |= after_the_change(adapted, plain)
        else:
            whole = {h: shares(adapted, plain, slice(20, None), h - 1) for h in (1, 5, HORIZON)}
            figures[name] |= {f"share at horizon {h}": s.tolist() for h, s in whole.items()}
    return figures | {"microseconds": costs(model, doubled[0])}


def table(record: Mapping[str, Any]) -> str:
    """Return a record as Markdown."""
    changed, same = record["payload doubled"], record["same payload"]
    rows = [
        [f"payload doubled, until {one['until']:g} s after it", f"{one['share']:.2f}"]
        for one in changed["by seconds"]
    ]
    rows += [
        [f"same payload, {what.removeprefix('share at ')}", f"{max(values):.3f} at most"]
        for what, values in same.items()
        if what.startswith("share")
    ]
    lines = [markdown(["half a second ahead", "error over that without adaptation"], rows), ""]
    rows = [
        [name, *(f"{one['after a burst'][name]:.2f}" for one in (same, changed))] for name in FAULTS
    ]
    heads = ["a second of", "same payload: error after it over that without it", "payload doubled"]
    lines += [markdown(heads, rows), ""]
    rows = [[what, f"{micros:.0f}"] for what, micros in record["microseconds"].items()]
    return "\n".join([*lines, markdown(["of the compiled model", "us"], rows)])


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adaptation")
    parser.add_argument("--show", action="store_true", help="only print the table of the record")
    parser.add_argument("--model", type=Path, help="a model of the arm, instead of learning one")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file to write or show")
    options = parser.parse_args()
    if not options.show:
        record = {"machine": machine()} | measured(options.model and load_model(options.model))
        options.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(table(json.loads(options.record.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
