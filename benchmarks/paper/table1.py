"""The paper's Table 1 as experiments: each claimed property by a small run.

    python -m benchmarks.paper.table1            some minutes
    python -m benchmarks.paper.table1 --quick
    python -m benchmarks.paper.table1 --only 'hidden state' --rows 'Kalman (PSR)'     one row anew

Actions: forecasts of a controlled system with and without knowing its actions. Non-linear and
consistent: error against the number of recordings, of the non-linear synthetic system and of a
linear one whose exact filter is known. Partially observable: a slow hidden state that shows through
noise only. Scalable: processor time and memory against the number of windows. Continuous: what a
model of symbols does with numbers. Local minima: refinement from random initial weights, and
expectation maximisation of a model of symbols beside two-stage regression.
"""

from __future__ import annotations

import argparse
import json
import sys
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cpu_time import cpu_seconds
from benchmarks.datasets import Split, fresh_synthetic
from benchmarks.em import expectation_maximisation, random_tables
from benchmarks.known_systems import IOHMM as KnownIOHMM
from benchmarks.known_systems import optimal_forecasts, random_linear_system, simulate_linear
from benchmarks.records import RESULTS, machine
from benchmarks.tables import markdown, number
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.contract import Learner
from rffpsr_ros.models.hse_psr.learner import HSEPSR
from rffpsr_ros.models.io_hmm.learner import IOHMM
from rffpsr_ros.models.io_hmm.model import IOHMMModel
from rffpsr_ros.models.kalman.learner import Kalman
from rffpsr_ros.models.kalman.linear_system import LinearSystem
from rffpsr_ros.models.n4sid.learner import N4SID
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.models.rff_psr.options import OffAutoOn
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory

RESTARTS = 10

COMMAND = "python -m benchmarks.paper.table1"


@dataclass(frozen=True)
class Table:
    """A table and what it shows, in words."""

    caption: str
    heading: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Sizes:
    """How large the runs are."""

    recordings: Sequence[int] = (5, 10, 20, 40, 80)
    copies: Sequence[int] = (10, 40, 160)
    features: int = 200
    rounds: int = 30
    iterations: int = 400
    test: int = 30
    climbs: int = 100
    symbols: int = 2000
    rows: Sequence[str] = ()
    """Only these methods, where a table has a row for each; none: all."""
    learned: OffAutoOn = "auto"
    """Whether `RFFPSR` learns features."""


TWO_STAGES = "RFF-PSR, two-stage regression"
_CHEAP = ("linear ARX", "linear ARX, past 2", "N4SID", TWO_STAGES, f"{TWO_STAGES}, lambda 1e-2")

QUICK = Sizes((4, 8), (2, 4), 20, 1, 5, 3, 3, 500, _CHEAP, "off")

PENALTIES: Mapping[str, Mapping[str, float]] = {
    TWO_STAGES: {},
    f"{TWO_STAGES}, ridge 1e-2": {"ridge": 1e-2},
    f"{TWO_STAGES}, ridge 1e-2 (N / 1000)^-1/4": {"ridge": 1e-2, "ridge_decay": 0.25},
    f"{TWO_STAGES}, lambda 1e-2": {"regularisation": 1e-2},
}
"""The paper's own; then a larger ridge, one that falls with the windows as the theorem asks (more
slowly than N^-1/3), and a larger lambda of conditioning."""


def learners(sizes: Sizes) -> dict[str, Learner]:
    """Return one learner of each family of Table 1."""
    two_stages = {
        name: RFFPSR.paper(features=sizes.features, refinement="none", **penalties)
        for name, penalties in PENALTIES.items()
    }
    refined = RFFPSR.paper(features=sizes.features, rounds=sizes.rounds)
    return {
        "linear ARX": LinearARX(),
        "N4SID": N4SID(),
        "RFF-ARX": RFFARX(features=sizes.features),
        **two_stages,
        "RFF-PSR, + the paper's refinement": refined,
        "RFFPSR()": RFFPSR(iterations=sizes.iterations, narx_learning=sizes.learned),
    }


def error(learner: Learner, split: Split) -> float:
    """Return the mean squared error over horizons 1 to 10, scored from tick 20."""
    model = learner.fit(split.train, split.validation)
    return float(horizon_errors(model, split.test, 10, 20).mse.mean())


def without_actions(split: Split) -> Split:
    """Return the same observations beside actions that have nothing to do with them."""
    draw = np.random.default_rng(99)

    def hide(run: Trajectory) -> Trajectory:
        low, high = run.actions.min(), run.actions.max()
        other = draw.uniform(low, high, run.actions.shape)
        return Trajectory(run.observations, other, run.period)

    return Split(*([hide(run) for run in part] for part in split))


def actions(sizes: Sizes) -> Table:
    """Forecast a controlled system with and without its actions."""
    split = fresh_synthetic(2000, sizes.test)
    hidden = without_actions(split)
    names = ("linear ARX", "RFF-ARX", "RFFPSR()")
    rows = [
        [name, number(error(learner, split)), number(error(learner, hidden))]
        for name, learner in learners(sizes).items()
        if name in names
    ]
    rows.append(["last observation", number(error(LastObservation(), split)), ""])
    return Table(
        "Actions. Synthetic system, 10 recordings: mean squared error over h1..h10 of models that"
        " know the actions, and of the same models given unrelated ones",
        ["method", "with actions", "without"],
        rows,
    )


def against_recordings(sizes: Sizes) -> Table:
    """Error on the non-linear synthetic system against the number of recordings."""
    most = fresh_synthetic(2001, max(sizes.recordings) + sizes.test)
    pool, test = most.test[: max(sizes.recordings)], most.test[max(sizes.recordings) :]
    rows = [
        [
            name,
            *(
                number(error(learner, Split(pool[:count], most.validation, test)))
                for count in sizes.recordings
            ),
        ]
        for name, learner in _asked(learners(sizes), sizes).items()
    ]
    return Table(
        "Non-linear, consistent. Synthetic system: mean squared error over h1..h10 against the"
        " number of recordings of 100 ticks (5 more for validation), one seed. Two-stage regression"
        " has a ridge of 1e-6 and a lambda of conditioning of 1e-3 where nothing else is said; N is"
        " the number of windows. Its error rises again with more data: neither a larger ridge nor"
        " one that follows N mends that, a larger lambda does, so it comes of conditioning,"
        " C (C^2 + lambda)^-1, and not of the regressions",
        ["method", *map(str, sizes.recordings)],
        rows,
    )


def hidden_state(sizes: Sizes) -> Table:
    """Error on a linear system with a slow hidden state, relative to its exact filter's."""
    system = slow_system()
    runs = [simulate_linear(system, 200, seed) for seed in range(max(sizes.recordings) + 25)]
    validation, test, pool = runs[:5], runs[5:25], runs[25:]
    floor = _exact_error(system, test)
    features, iterations = sizes.features, sizes.iterations
    alone: Any = {"arx_past": 0, "narx_past": 0, "narx_features": 0, "folds": 1}
    compared: dict[str, Learner] = {
        "linear ARX, past 2": LinearARX(past=2),
        "linear ARX, past 20": LinearARX(),
        "RFF-PSR, two-stage regression": RFFPSR.paper(features=features, refinement="none"),
        "RFF-PSR, + the paper's refinement": RFFPSR.paper(features=features, rounds=sizes.rounds),
        "RFF-PSR, state alone, rolled out": RFFPSR(iterations=iterations, **alone),
        "RFF-PSR, one model of the default": RFFPSR(iterations=iterations, folds=1),
        "RFFPSR()": RFFPSR(iterations=iterations),
        "Kalman (PSR)": Kalman(),
        "N4SID": N4SID(),
    }
    rows = []
    for name, learner in _asked(compared, sizes).items():
        errors = [error(learner, Split(pool[:n], validation, test)) for n in sizes.recordings]
        rows.append([name, *(f"{100 * (one / floor - 1):.1f} %" for one in errors)])
    return Table(
        "Partially observable, consistent. A slow hidden state seen through noise: how far the"
        " error over h1..h10 exceeds that of the exact Kalman filter, against the number of"
        " recordings of 200 ticks. The linear instance of the framework, Kalman, is a PSR that"
        " finds this state; random features of histories show it far less exactly, and what"
        " RFFPSR() reaches here its linear members reach too",
        ["method", *map(str, sizes.recordings)],
        rows,
    )


def _asked(compared: dict[str, Learner], sizes: Sizes) -> dict[str, Learner]:
    """Return the methods whose rows are asked for."""
    return {name: one for name, one in compared.items() if not sizes.rows or name in sizes.rows}


def slow_system() -> LinearSystem:
    """Return a random linear system whose filter has to remember some fifty ticks."""
    system = random_linear_system(0, states=2, inputs=1, outputs=1)
    return system._replace(
        transition=np.diag([0.99, 0.95]),
        action=np.array([[0.1], [0.3]]),
        output=np.array([[1.0, 1.0]]),
        feedthrough=np.zeros((1, 1)),
        gain=np.array([[0.02], [0.02]]),
        innovation=np.eye(1),
    )


def _exact_error(system: LinearSystem, test: Sequence[Trajectory]) -> float:
    squares = []
    for run in test:
        origins = np.arange(20, len(run) - 9)
        seen = run.observations[origins[:, None] + np.arange(10)]
        squares.append(np.mean((optimal_forecasts(system, run, origins, 10) - seen) ** 2))
    return float(np.mean(squares))


def scalability(sizes: Sizes) -> Table:
    """Processor time and memory of learning against the number of recordings."""
    rows = []
    for count in sizes.copies:
        split = fresh_synthetic(2002, count)
        row = [str(count), str(70 * count)]
        measured: tuple[Learner, ...] = (
            N4SID(),
            RFFARX(features=sizes.features),
            RFFPSR.paper(features=sizes.features, refinement="none"),
            HSEPSR(),
        )
        for learner in measured:
            row += _costs(learner, Split(split.test, split.validation, []))
        rows.append(row)
    names = ("N4SID", "RFF-ARX", "RFF-PSR, two-stage regression", "HSE-PSR")
    costs = [f"{name}, {unit}" for name in names for unit in ("CPU s", "MB")]
    return Table(
        f"Scalable. Learning from recordings of 100 ticks, D = {sizes.features}: processor time and"
        " the most memory that arrays held; refused: more than 2 GB. (The authors' HSE-PSR took"
        " 97 s and 8.2 GB for 700 windows)",
        ["recordings", "windows", *costs],
        rows,
    )


def _costs(learner: Learner, split: Split) -> tuple[str, str]:
    """Return processor seconds and megabytes in words."""
    began = cpu_seconds()
    try:
        learner.fit(split.train, split.validation)
    except InputError:
        return "refused", ""
    seconds = cpu_seconds() - began
    tracemalloc.start()
    learner.fit(split.train, split.validation)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return number(seconds), f"{peak / 1e6:.0f}"


def continuous(sizes: Sizes) -> Table:
    """What a model of symbols does with numbers."""
    try:
        IOHMM().fit(fresh_synthetic(2003, 1).train)
        outcome = "learned"
    except InputError as refusal:
        outcome = f"refused: {refusal}"
    return Table(
        "Continuous. The spectral PSR of symbols on the synthetic system's recordings",
        ["method", "outcome"],
        [["IO-HMM", outcome]],
    )


def local_minima(sizes: Sizes) -> Table:
    """Refinement alone, from random initial weights, and from two-stage regression."""
    split = fresh_synthetic(2004, sizes.test)
    rows = []
    for start in ("random", "joint"):
        errors = [
            error(RFFPSR.paper(features=20, stage_one=start, rounds=sizes.rounds, seed=seed), split)
            for seed in range(3)
        ]
        rows.append([start, *map(number, errors)])
    return Table(
        "Local minima. RFF-PSR (D = 20, the paper's refinement) from random weights and from joint"
        " two-stage regression: mean squared error over h1..h10",
        ["initialisation", "seed 0", "seed 1", "seed 2"],
        rows,
    )


def maximisation(sizes: Sizes) -> Table:
    """Expectation maximisation from random tables beside two-stage regression."""
    rows = []
    for seed in range(3):
        known = KnownIOHMM.random(seed)
        states, choices, symbols = known.observation.shape
        run, test = known.simulate(sizes.symbols, seed + 100), known.simulate(1000, seed + 200)
        truth = known.predictions(test)
        starts = random_tables(seed, RESTARTS, states, choices, symbols)
        climbed, likelihoods = expectation_maximisation(run, starts, sizes.climbs)
        found = [climbed.model(number).predictions(test) for number in range(RESTARTS)]
        apart = np.array([_variation(one, truth) for one in found])
        likeliest = apart[int(np.argmax(likelihoods[-1]))]
        model = IOHMM().fit([run])
        spectral = _variation(_probabilities(model, test), truth)
        figures = (likeliest, np.median(apart), apart.max(), spectral)
        rows.append([str(seed), *(number(float(value)) for value in figures)])
    return Table(
        f"Local minima, of symbols. Random IO-HMMs of 5 states, {sizes.symbols} ticks: total"
        f" variation from the exact filter's one-step probabilities of expectation maximisation"
        f" from {RESTARTS} random starts ({sizes.climbs} iterations, told the number of states),"
        " and of the IO-HMM by two-stage regression, which has no start. " + _starts_matter(rows),
        ["system", "EM, likeliest", "EM, median", "EM, worst", "IO-HMM, two stages"],
        rows,
    )


def _starts_matter(rows: Sequence[Sequence[str]]) -> str:
    """Return in words what the rows of `maximisation` say."""
    likeliest, _, worst, spectral = np.array([row[1:] for row in rows], float).T
    better = int(np.sum(likeliest < spectral))
    farthest = number(float((worst / likeliest).max()))
    return (
        f"Starts end in different maxima, the worst up to {farthest} times as far off as the"
        " likeliest; of so few ticks the likeliest makes more than two stages do"
        f" in {better} of {len(rows)} systems: to have no local minima is not to be more exact"
    )


def _variation(found: Array, truth: Array) -> float:
    return float(np.abs(found - truth)[100:].sum(axis=1).mean() / 2)


def _probabilities(model: IOHMMModel, run: Trajectory) -> Array:
    """Return one-step probabilities (T, S) before each tick; all symbols must have been seen."""
    state, found = model.initial_state(), []
    for action, seen in zip(run.actions, run.observations, strict=True):
        found.append(model.probabilities(state, action[None])[0])
        state = model.update(state, action, seen)
    return np.array(found)


EXPERIMENTS: Mapping[str, Callable[[Sizes], Table]] = {
    "actions": actions,
    "recordings": against_recordings,
    "hidden state": hidden_state,
    "scalability": scalability,
    "continuous": continuous,
    "local minima": local_minima,
    "maximisation": maximisation,
}


def _with_rows(old: Mapping[str, Any] | None, new: dict[str, Any]) -> dict[str, Any]:
    """Return the old table with the new one's rows in place of its own, or after them."""
    if old is None or list(old["heading"]) != list(new["heading"]):
        return new
    fresh = {row[0]: row for row in new["rows"]}
    kept = [fresh.pop(row[0], row) for row in old["rows"]]
    return {**new, "rows": [*kept, *fresh.values()]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument("--recordings", type=int, nargs="+", help="sizes of training sets")
    parser.add_argument("--rows", nargs="+", default=[], metavar="NAME", help="only these methods")
    parser.add_argument("--quick", action="store_true", help="a small form, in seconds")
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where results are kept")
    options = parser.parse_args(arguments)
    sizes = QUICK if options.quick else Sizes()
    if options.recordings:
        sizes = replace(sizes, recordings=tuple(options.recordings))
    sizes = replace(sizes, rows=tuple(options.rows) or sizes.rows)
    path = options.folder / "table1.json"
    tables = json.loads(path.read_text(encoding="utf-8"))["tables"] if path.exists() else {}
    for name in options.only:
        table = EXPERIMENTS[name](sizes)
        print(f"\n{table.caption}.\n\n{markdown(table.heading, table.rows)}", flush=True)
        tables[name] = _with_rows(tables.get(name), asdict(table)) if sizes.rows else asdict(table)
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = {"command": COMMAND, "machine": machine(), "tables": tables}
        path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
