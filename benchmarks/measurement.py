"""One method on one task: learn, score, time; what did not change is not measured again."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cpu_time import cpu_seconds
from benchmarks.methods import Method
from benchmarks.records import (
    RESULTS,
    Record,
    Run,
    machine,
    read_record,
    record_path,
    run_key,
    write_record,
)
from benchmarks.tasks import Material, Task
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel

_STEPS, _BATCHES = 20, 5


def measure(method: Method, task: Task, number: int, material: Material) -> Run:
    """Return one run: what is learned from ``material`` with seed ``number``, scored and timed."""
    key = run_key(method, task, number, material)
    train, validation = list(material.train), list(material.validation)
    if method.everything:
        train, validation = train + validation, []
    began = cpu_seconds()
    try:
        model = method.make(number).fit(train, validation or None)
    except InputError as fault:
        return Run(number, key, refused=str(fault))
    seconds = cpu_seconds() - began
    scores, blocks = task.judge(model, material)
    chosen_by: list[float] = []
    long = any(len(run) >= task.start + task.horizon for run in validation)
    if long and task.simulation_after is None:
        known = material._replace(tests={"validation": validation})
        chosen_by = next(iter(task.score(model, known).values()))
    step = step_seconds(model, material, task.horizon)
    return Run(number, key, scores, seconds, step, blocks=blocks, validation=chosen_by)


def step_seconds(model: PredictiveModel[Any], material: Material, horizon: int) -> float:
    """Return the processor time of an update and a forecast, the least of several averages."""
    trajectory = next(iter(material.tests.values()))[0]
    state = model.initial_state()
    ticks = range(min(_STEPS, len(trajectory) - horizon))
    averages = []
    for _ in range(_BATCHES):
        began = time.process_time()
        for tick in ticks:
            state = model.update(state, trajectory.actions[tick], trajectory.observations[tick])
            model.predict(state, trajectory.actions[tick + 1 : tick + 1 + horizon])
        averages.append((time.process_time() - began) / len(ticks))
    return min(averages)


def measured(
    methods: Iterable[Method],
    tasks: Iterable[Task],
    runs: int | None = None,
    folder: Path = RESULTS,
    tell: Callable[[str], None] | None = None,
) -> Iterator[Record]:
    """Yield the record of every method on every task, measuring only what changed.

    A task whose data are absent is left out, saying so. Runs beyond those asked for stay in the
    record while they are current; by default there are as many as is the task's custom.
    """
    say = tell or (lambda line: print(line, file=sys.stderr, flush=True))
    methods = list(methods)
    for task in tasks:
        materials = lru_cache(maxsize=None)(task.load)
        try:
            materials(0)
        except InputError as fault:
            say(f"{task.name}: left out: {fault}")
            continue
        for method in methods:
            yield _record(method, task, runs or task.runs, materials, folder, say)


def _record(
    method: Method,
    task: Task,
    runs: int,
    materials: Callable[[int], Material],
    folder: Path,
    say: Callable[[str], None],
) -> Record:
    found = read_record(record_path(method.name, task.name, folder))
    current = _current_runs(found, method, task, materials)
    wanted = range(runs if method.seeded or task.draws else 1)
    missing = [number for number in wanted if number not in current]
    for number in missing:
        run = measure(method, task, number, materials(number if task.draws else 0))
        say(f"{task.name}: {method.name}, run {number}: {_in_words(run)}")
        current[number] = run
        found = Record(
            method.name,
            task.name,
            dict(method.options),
            method.everything,
            method.version,
            machine(),
            tuple(current[n] for n in sorted(current)),
        )
        write_record(found, folder)
    assert found is not None
    return found


def _current_runs(
    record: Record | None, method: Method, task: Task, materials: Callable[[int], Material]
) -> dict[int, Run]:
    """Return the runs that still hold."""
    if record is None:
        return {}
    return {
        run.number: run
        for run in record.runs
        if run.key == run_key(method, task, run.number, materials(run.number if task.draws else 0))
    }


def _in_words(run: Run) -> str:
    if run.refused:
        return f"refused: {run.refused}"
    means = [f"{name} {np.mean(values):.4g}" for name, values in run.scores.items()]
    return f"{'; '.join(means)} ({run.training_seconds:.1f} CPU s)"
