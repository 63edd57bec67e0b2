"""Closed loops on simulated robots: what a controller with a learned model does.

    python -m benchmarks.control                          5 seeds of all worlds; writes the record
    python -m benchmarks.control --worlds pendulum --seeds 1 --episodes 10 --single
    python -m benchmarks.control --show --images docs/images

For every seed a model is learned from recordings under random torques (25 of 10 s), and robots
are to follow courses: slow and fast sines, and steps. The loop of the controller node plans with
that model, with the same and its adaptation, with a linear ARX model of the same recordings, and
with the true equations; and a PD controller follows, the best of as many trials as there were
recordings, on courses of the same kind. Errors are mean squared errors of angles (rad^2) after the
first second. Simulated time stands still while a command is computed: no controller is late.

All loops run tick by tick in this process; "nodes" is that of the learned model once more, between
the simulator node and the controller node over DDS (needs ROS 2).
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.control.closed_loop import Course, Predictive, drive, tuned_feedback
from benchmarks.control.courses import WORLDS, Draw, World, courses, on_topics, recordings
from benchmarks.control.equations import TrueEquations
from benchmarks.control.plot import ASKED, SHOWN, plot_courses
from benchmarks.control.swing_up import stands, swing_up
from benchmarks.records import RESULTS, machine
from benchmarks.tables import markdown
from rffpsr_ros import RFFPSR
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.nodes.demo.processes import enter_a_ros_of_its_own
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.simulation.system import System

RECORD = RESULTS / "control.json"
OURS, NODES, ADAPTED = "RFF-PSR", "RFF-PSR, nodes", "RFF-PSR, adapt"
ARX, TRUE, PD = "linear ARX", "true equations", "PD"
METHODS = OURS, NODES, ADAPTED, ARX, TRUE, PD
DIGITS = 4


def main(words: Sequence[str] | None = None) -> int:
    """Measure, write the record, print its table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), default=list(WORLDS))
    parser.add_argument("--seeds", type=int, default=5, help="how many (5)")
    parser.add_argument("--episodes", type=int, default=25, help="recordings, and PD's trials (25)")
    parser.add_argument("--ticks", type=int, default=200, help="of a course (200: 10 s)")
    parser.add_argument("--horizon", type=int, default=15, help="ticks of a plan (15)")
    parser.add_argument("--single", action="store_true", help="one RFF-PSR, no ensemble")
    parser.add_argument("--no-nodes", action="store_true", help="in this process only")
    parser.add_argument("--no-swing-up", action="store_true", help="leave the swing-up out")
    parser.add_argument("--record", type=Path, default=RECORD, help="where the record is written")
    parser.add_argument("--images", type=Path, help="draw a plot of the record into this folder")
    parser.add_argument("--show", action="store_true", help="measure nothing")
    options = parser.parse_args(words)
    if not options.show:
        if not options.no_nodes:
            enter_a_ros_of_its_own(Path(tempfile.mkdtemp()))
        record: dict[str, Any] = {"machine": machine(), "settings": _settings(options)}
        worlds = measured(options)
        record["worlds"] = _kept(options.record, record) | worlds
        options.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    known = json.loads(options.record.read_text(encoding="utf-8"))
    print(table(known))
    if options.images:
        plot_courses(known, options.images / "control.png")
    return 0


def _kept(path: Path, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the worlds of a record of the same settings and machine that is there already."""
    if not path.is_file():
        return {}
    known = json.loads(path.read_text(encoding="utf-8"))
    same = all(known[name] == record[name] for name in ("machine", "settings"))
    return dict(known["worlds"]) if same else {}


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    names = "seeds", "episodes", "ticks", "horizon"
    learner = "SingleRFFPSR()" if options.single else "RFFPSR()"
    return {**{name: getattr(options, name) for name in names}, "learner": learner}


def measured(options: argparse.Namespace) -> dict[str, Any]:
    """Return errors by world, course and method, one for each seed, and what is to be drawn."""
    found: dict[str, Any] = {}
    for name in options.worlds:
        world = WORLDS[name]
        system = world.system()
        errors: dict[str, dict[str, list[float]]] = {}
        planning: dict[str, list[float]] = {}
        shown: dict[str, Any] = {}
        swings: dict[str, list[dict[str, Any]]] = {}
        for seed in range(options.seeds):
            models = learned(world, system, options, seed)
            for course, method, driven, seconds in runs(world, system, models, options, seed):
                errors.setdefault(course, {}).setdefault(method, []).append(_short(driven.error))
                planning.setdefault(method, []).extend(seconds)
                if seed == 0 and method in SHOWN:
                    drawn = shown.setdefault(course, {ASKED: _first(driven.asked)})
                    drawn[method] = _first(driven.seen)
                print(name, seed, course, method, _short(driven.error), flush=True)
            if name == "pendulum" and not options.no_swing_up:
                for who in (OURS, TRUE):
                    angle = swing_up(world, system, models[who])
                    top = {"highest": _short(np.abs(angle).max()), "stands": stands(world, angle)}
                    swings.setdefault(who, []).append(top)
                    print("swing-up", seed, who, top, flush=True)
        found[name] = {
            "mean_squared_error": errors,
            "planning_milliseconds": {m: _times(each) for m, each in planning.items() if each},
            "shown": shown,
        }
        if swings:
            found[name]["swing_up"] = swings
    return found


def learned(
    world: World, system: System, options: argparse.Namespace, seed: int
) -> Mapping[str, PredictiveModel[Any]]:
    """Return the models to plan with."""
    runs = recordings(world, system, options.episodes, 100 + seed)
    held = max(1, options.episodes // 5)
    learner: Learner = SingleRFFPSR(seed=seed) if options.single else RFFPSR(seed=seed)
    ours = on_topics(learner.fit(runs[held:], runs[:held]), system)
    linear = on_topics(LinearARX().fit(runs[held:], runs[:held]), system)
    return {
        OURS: ours,
        **({} if options.no_nodes else {NODES: ours}),
        ADAPTED: ours,
        ARX: linear,
        TRUE: TrueEquations.of(world, ours),
    }


def runs(
    world: World,
    system: System,
    models: Mapping[str, PredictiveModel[Any]],
    options: argparse.Namespace,
    seed: int,
) -> Iterator[tuple[str, str, Course, list[float]]]:
    """Yield what every method makes of every course, and the seconds that planning took."""
    for name, draw in courses(world).items():
        course = draw(np.random.default_rng([seed, 0]), options.ticks)
        for method, model in models.items():
            if method == NODES:
                from benchmarks.control.through_nodes import drive_through_nodes

                yield name, method, drive_through_nodes(world, model, course, options.horizon), []
                continue
            planner = Predictive(world, model, options.horizon, adapt=method == ADAPTED)
            driven = drive(system, planner, course, world.rest)
            if planner.stops:
                print("stopped:", planner.stops, file=sys.stderr)
            yield name, method, driven, planner.seconds
        trial = _trials(world, system, draw, options.ticks, seed)
        feedback, _ = tuned_feedback(
            world, trial, options.episodes, np.random.default_rng([seed, 2])
        )
        yield name, PD, drive(system, feedback, course, world.rest), []


def _trials(
    world: World,
    system: System,
    draw: Draw,
    ticks: int,
    seed: int,
) -> Callable[[Any], float]:
    """Return what tries a controller on another course of a kind, the same for all."""
    course = draw(np.random.default_rng([seed, 1]), ticks)
    return lambda controller: drive(system, controller, course, world.rest).error


def table(record: Mapping[str, Any]) -> str:
    """Return errors, means over seeds and their spread, as Markdown."""
    rows = []
    for world, found in record["worlds"].items():
        for course, errors in found["mean_squared_error"].items():
            cells = [_mean_and_spread(errors.get(method, ())) for method in METHODS]
            ratios = [np.mean(errors[OURS]) / np.mean(errors[m]) for m in (ARX, PD, TRUE)]
            rows.append((world, course, *cells, *(f"{ratio:.2g}" for ratio in ratios)))
    header = ("world", "course", *METHODS, "over ARX", "over PD", "over true equations")
    return markdown(header, rows)


def _mean_and_spread(errors: Sequence[float]) -> str:
    return f"{np.mean(errors):.2g} ± {np.std(errors):.1g}" if errors else "-"


def _first(angles: Array) -> list[float]:
    """Return what is drawn of angles (n, joints): the first joint's."""
    return [_short(float(angle)) for angle in angles[:, 0]]


def _times(seconds: list[float]) -> dict[str, float]:
    median, late = np.percentile(np.array(seconds) * 1e3, [50, 99])
    return {"p50": _short(median), "p99": _short(late)}


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


if __name__ == "__main__":
    sys.exit(main())
