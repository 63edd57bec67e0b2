"""What a controller takes of a model costs: derivatives beside forecasts, exported C beside Python.

    python -m benchmarks.forecast_uses            measure, write the record, print its tables
    python -m benchmarks.forecast_uses --show     the tables of the record

Six joints, positions observed, efforts acting; forecasts of ten ticks, with other actions each
time, as a controller asks for them. Times are those of the fastest tenth of many runs on one core,
in microseconds of processor time; models run live as compiled code, exported ones as gcc makes them
with -O3 -march=native.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.realtime import train
from benchmarks.records import RESULTS, machine
from benchmarks.six_joints import drive
from benchmarks.speed_step import least_time
from benchmarks.tables import markdown
from rffpsr_ros.export.files import exported
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.numerics.arrays import Array

RECORD = RESULTS / "forecast_uses.json"
RATE, HORIZON, TICKS = 100.0, 10, 400
SECONDS = 1.5
"""Of processor time that each figure takes."""
KINDS = {"single model": "single_rff_psr", "default ensemble": "rff_psr"}
FLAGS = {"C, floats": ["-DMODEL_FLOAT"], "C, doubles": []}

Figures = Mapping[str, float]


def measured() -> dict[str, dict[str, Figures]]:
    """Return microseconds by model, way and what was done."""
    found = {}
    with tempfile.TemporaryDirectory() as place:
        for title, kind in KINDS.items():
            path = Path(place) / f"{kind}.model"
            train(RATE, path, kind)
            found[title] = _of_model(load_model(path), Path(place) / kind)
    return found


def _of_model(model: PredictiveModel[Any], folder: Path) -> dict[str, Figures]:
    seen, acted = drive(RATE, TICKS, 3)
    ways = {"Python, compiled": _python(model.inference_model(), seen, acted)}
    folder.mkdir()
    for name, content in exported(model, "c").items():
        (folder / name).write_text(str(content), encoding="utf-8")
    for way, flags in FLAGS.items():
        library = folder / f"{'floats' if flags else 'doubles'}.so"
        source = str(folder / "model.c")
        command = ["gcc", "-std=c99", "-O3", "-march=native", "-shared", "-fPIC", *flags]
        subprocess.run([*command, "-o", str(library), source, "-lm"], check=True)
        dtype = np.dtype(np.float32 if flags else np.float64)
        ways[way] = _compiled_c(library, model, dtype, seen, acted)
    return ways


def _plans(acted: Array) -> Iterator[Array]:
    starts = range(0, len(acted) - HORIZON, HORIZON)
    return cycle([np.ascontiguousarray(acted[i : i + HORIZON]) for i in starts])


def _python(model: PredictiveModel[Any], seen: Array, acted: Array) -> Figures:
    state = model.initial_state()
    for action, observation in zip(acted, seen, strict=True):
        state = model.update(state, action, observation)
    ticks, plans = cycle(zip(acted, seen, strict=True)), _plans(acted)
    weights, followed = np.ones((HORIZON, seen.shape[1])), [state]

    def update() -> None:
        followed[0] = model.update(followed[0], *next(ticks))

    return {
        "update": least_time(update, SECONDS),
        "forecast": least_time(lambda: model.predict(state, next(plans)), SECONDS),
        "Jacobian": least_time(lambda: model.jacobian(state, next(plans)), SECONDS),
        "gradient": least_time(
            lambda: model.predict_with_gradient(state, next(plans), weights), SECONDS
        ),
    }


def _compiled_c(
    path: Path, model: PredictiveModel[Any], dtype: np.dtype[Any], seen: Array, acted: Array
) -> Figures:
    functions = ctypes.CDLL(str(path))
    observed = seen.shape[1]
    header = path.with_name("model.h").read_text(encoding="utf-8")
    sizes = {
        name: int(header.split(f"MODEL_{name} = ")[1].split("\n")[0].rstrip(","))
        for name in ("STATE_SIZE", "CARRY_SIZE")
    }

    def at(values: Array) -> ctypes.c_void_p:
        return values.ctypes.data_as(ctypes.c_void_p)

    state = np.zeros(sizes["STATE_SIZE"], dtype)
    forecast = np.zeros((HORIZON, observed), dtype)
    jacobian = np.zeros(forecast.size * HORIZON * acted.shape[1], dtype)
    work = np.zeros(HORIZON * acted.shape[1] * sizes["CARRY_SIZE"], dtype)
    rows = [(row.astype(dtype), one.astype(dtype)) for row, one in zip(acted, seen, strict=True)]
    ticks = cycle([(at(row), at(one)) for row, one in rows])
    plans = [plan.astype(dtype) for plan, _ in zip(_plans(acted), range(20), strict=False)]
    given = cycle([at(plan) for plan in plans])
    own, out, derivatives, room = map(at, (state, forecast, jacobian, work))
    functions.model_initial(own)
    for _ in rows:
        functions.model_update(own, *next(ticks))
    return {
        "update": least_time(lambda: functions.model_update(own, *next(ticks)), SECONDS),
        "forecast": least_time(
            lambda: functions.model_predict(own, HORIZON, next(given), out), SECONDS
        ),
        "Jacobian": least_time(
            lambda: functions.model_jacobian(own, HORIZON, next(given), out, derivatives, room),
            SECONDS,
        ),
    }


def table(record: Mapping[str, Any]) -> str:
    """Return a record as Markdown."""
    rows = [
        [
            "" if number else model,
            way,
            f"{figures['update']:.0f}",
            f"{figures['forecast']:.0f}",
            f"{figures['Jacobian']:.0f}",
            f"{figures['Jacobian'] / figures['forecast']:.1f}",
        ]
        for model, ways in record["models"].items()
        for number, (way, figures) in enumerate(ways.items())
    ]
    heads = ["model", "way", "update us", "forecast us", "Jacobian us", "in forecasts"]
    return markdown(heads, rows)


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.forecast_uses")
    parser.add_argument("--show", action="store_true", help="only print the table of the record")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file to write or show")
    options = parser.parse_args()
    if not options.show:
        record = {"machine": machine(), "models": measured()}
        options.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(table(json.loads(options.record.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main()
