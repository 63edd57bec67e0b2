"""docs/results.md, written from the measured records.

    python -m benchmarks.page                           the page and its plots from the records
    python -m benchmarks.page --measure 'RFFPSR()'      measure a method anew where it changed
    python -m benchmarks.page --measure all             and everything else that changed, for hours

Every table is made from the files in benchmarks/results; nothing on the page is written by hand. So
are the figures of docs/method.md. A test holds that both say what the records say.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks import ablation, bands, compare, known_policy, theory_features
from benchmarks.first_screen import first_screen
from benchmarks.hard_classes import HARD_CLASSES, reporting
from benchmarks.hard_results import hard_results
from benchmarks.method_figures import method_figures, with_figures
from benchmarks.methods import METHODS
from benchmarks.observations import AUTHORS, RULE, Records, observations
from benchmarks.paper import swimmer, synthetic, table1, windshield
from benchmarks.paper.variants import LIKE_GRAM
from benchmarks.records import RESULTS, Record, read_records
from benchmarks.tables import markdown, number, task_tables
from benchmarks.tasks import TASKS, Task
from rffpsr_ros.errors import InputError

_DOCS = Path(__file__).resolve().parent.parent / "docs"
_PAPER = ("RFF-PSR, ", LIKE_GRAM, AUTHORS, "Octave: ", "RFF-ARX, one shot", "HSE-PSR, rank ")
_EXPERIMENTS: Mapping[str, str] = {
    "synth": "python -m benchmarks.paper.synthetic",
    "fresh": "python -m benchmarks.paper.synthetic",
    "swimmer": "python -m benchmarks.paper.swimmer",
}
_PLOTTED = 8
"""Curves of a plot, the best ones: nobody could tell more apart."""

_INTRODUCTION = """# Results

Every method on every data set, measured by one program with one rule, and the experiments of the
paper (Hefny, Downey and Gordon, AAAI 2018) with a check of its five observations. This page is
written by `python -m benchmarks.page` from the files in `benchmarks/results`."""

_READING = """## How to read the tables

- A model filters through each test trajectory. From every tick on it forecasts the next ten
  observations, given the actions of those ticks; hN is the mean squared error N ticks ahead.
  The forecast of tick t + N sees the actions up to that tick only, for every method but those
  called "one shot" and the paper's own window head ("RFF-PSR, ..."), which see all ten.
- Figures are means over runs; the last error column has the lowest and the highest run in
  brackets. Runs are seeds of the method, on simulated data with data of their own. A method that
  draws nothing learns recorded data once.
- N4SID, Kalman, the ARX and NARX models and Koopman learn from training and validation part, as in
  the authors' comparison, and so does RFFPSR(), which holds out folds of both; the others learn
  from the training part and choose by the validation part.
- Time is processor time of one thread on a machine that was busy with other work, so an upper
  bound. A step is an update and a forecast of ten ticks.
- "published" figures are those of the literature on the same split (Champneys et al. 2024,
  arXiv 2405.10779; of the Wiener-Hammerstein circuit and the positioning system the papers on each
  method); "authors" and "Octave" are the programs of the paper's authors, and N4SID of
  GNU Octave, on the same data (see `benchmarks/paper/authors.py`)."""


def page(folder: Path, plots: Path | None, draw: bool = False) -> str:
    """Return the page, which shows ``plots`` of a folder; with ``draw`` they are drawn first."""
    records = {task.name: read_records(task.name, folder) for task in _tasks()}
    known = {name: read_records(name, folder) for name in compare.KNOWN_TASKS}
    shown = [task for name, task in compare.KNOWN_TASKS.items() if known[name]]
    parts = [_INTRODUCTION, *first_screen(shown, known)]
    parts += _ablation(folder)
    parts += [_READING, f"Measured on: {_machines(records)}.", "## Side by side"]
    parts.append("`python -m benchmarks.compare` measures all of it again.")
    for task in TASKS.values():
        found = [r for r in records[task.name] if not r.method.startswith(_PAPER)]
        parts += _section(task, found, plots, draw, task.name)
    parts += hard_results([reporting(task) for task in HARD_CLASSES.values()], known)
    parts.append("## The paper's experiments")
    for name, command in _EXPERIMENTS.items():
        found = _paper_records(records[name])
        parts += _section(TASKS[name], found, plots, draw, f"paper_{name}", command)
    for task in windshield.TASKS:
        command = "python -m benchmarks.paper.windshield"
        parts += _section(task, records[task.name], plots, draw, task.name, command)
    if any(records[task.name] for task in windshield.TASKS):
        parts += [windshield.SIZES, *_windshield_pictures(plots)]
    parts += _table1(folder)
    parts.append("## The paper's observations")
    parts.append(RULE)
    parts += [f"{n}. {text}" for n, text in enumerate(observations(records), 1)]
    parts += _theory(folder, plots, draw)
    parts += _known_policy(folder)
    parts += _bands(folder)
    return "\n\n".join(parts) + "\n"


def _tasks() -> list[Task]:
    return [*TASKS.values(), *windshield.TASKS]


def _paper_records(records: Sequence[Record]) -> list[Record]:
    """Return the paper's variants, or nothing if there are none, and baselines to hold on to."""
    paper = [r for r in records if r.method.startswith(_PAPER)]
    beside = ("RFFPSR()", "RFF-ARX", "HSE-PSR", "N4SID", "linear ARX", "last observation")
    return [*paper, *(r for r in records if r.method in beside)] if paper else []


def _section(
    task: Task,
    records: Sequence[Record],
    plots: Path | None,
    draw: bool,
    name: str,
    command: str = "",
) -> Iterator[str]:
    """Yield heading, tables and plot of a task; nothing if nothing was measured."""
    done = sorted((r for r in records if not r.refused), key=_mean_error)
    if not done:
        return
    yield f"### {task.name}{', the paper' if name.startswith('paper') else ''}"
    measured_by = f" Measured by `{command}`." if command else ""
    yield f"Data: {task.title}. Figures: {task.unit}.{measured_by}"
    for test, table in task_tables(task, done):
        yield f"{test}:\n\n{table}" if test else table
    for record in records:
        if record.refused:
            yield f"{record.method} cannot do it: {record.refused}."
    if plots is not None and task.simulation_after is None:
        tests = [test for test in done[0].runs[0].scores if not test.endswith(", clipped")]
        if draw:
            compare.plot(task, _to_plot(done), plots / f"results_{name}.png", tests)
        yield f"![error over the horizon, {name}](images/results_{name}.png)"


def _to_plot(records: Sequence[Record]) -> list[Record]:
    """Return the best methods, and always linear and trivial ones; the mean is off the scale."""
    always = ("N4SID", "linear ARX", "last observation", "RFFPSR()")
    plain = [r for r in records if r.method != "mean"]
    chosen = [r for r in plain if r.method in always]
    for record in plain:
        if len(chosen) >= _PLOTTED + 4:
            break
        if record not in chosen:
            chosen.append(record)
    return [record for record in plain if record in chosen]


def _mean_error(record: Record) -> float:
    """Return the mean over horizons and runs of the first test's errors."""
    return float(np.mean([np.mean(next(iter(run.scores.values()))) for run in record.runs]))


def _machines(records: Records) -> str:
    found = {r.machine for of_task in records.values() for r in of_task if r.runs[0].key != ""}
    ours = sorted(m for m in found if "numpy" in m)
    return "; ".join(ours) or "nothing measured yet"


def _windshield_pictures(plots: Path | None) -> Iterator[str]:
    """Yield the pictures that `benchmarks.paper.windshield --images` drew."""
    for name, caption in windshield.PICTURES.items():
        if plots is not None and (plots / name).exists():
            yield f"![{caption}](images/{name})\n\n*{caption}.*"


def _table1(folder: Path) -> Iterator[str]:
    path = folder / "table1.json"
    if not path.exists():
        return
    kept = json.loads(path.read_text(encoding="utf-8"))
    yield f"### Table 1\n\nWhat each method claims, by small runs: `{kept['command']}`."
    for table in kept["tables"].values():
        yield f"{table['caption']}:\n\n{markdown(table['heading'], table['rows'])}"


def _ablation(folder: Path) -> Iterator[str]:
    """Yield what each part of `RFFPSR()` earns, where that was measured."""
    tasks = [compare.KNOWN_TASKS[name] for name in ablation.DATA]
    found = {task.name: read_records(task.name, folder / ablation.FOLDER.name) for task in tasks}
    table = ablation.table(tasks, found)
    if table.count("\n") > 1:
        yield (
            "## What each part earns\n\nThe error without a part over that of `RFFPSR()` on the"
            " same data with the same seed, geometric means over runs: above 1, the part was worth"
            ' it. `python -m benchmarks.ablation`. Rows without a figure for "no sigmoids" were'
            " measured before sigmoids were among the features that are learned, so against"
            ' `RFFPSR(narx_units="waves")`. The motor\'s row was measured with'
            ' `RFFPSR(slow_actions="off")`, before there were slow actions.'
        )
        yield table


def _theory(folder: Path, plots: Path | None, draw: bool) -> Iterator[str]:
    """Yield how stage one converges, from what `benchmarks.theory_features` wrote."""
    path = folder / theory_features.FILE
    if not path.exists():
        return
    kept = json.loads(path.read_text(encoding="utf-8"))
    if draw and plots is not None:
        theory_features.plot(kept, plots / "theory_features.png")
    yield from theory_features.section(kept)


def _known_policy(folder: Path) -> Iterator[str]:
    """Yield what importance weights are worth, from what `benchmarks.known_policy` wrote."""
    path = folder / known_policy.FILE
    if not path.exists():
        return
    kept = json.loads(path.read_text(encoding="utf-8"))
    yield (
        "## Importance weights\n\nLearned under a policy that looks at the last observation, judged"
        " on blind data against the exact filter, one random system a row: total variation of"
        f" IO-HMM's probabilities, excess error of Kalman's forecasts. `{kept['command']}`."
    )
    heading = ["system", *(f"{name}, {way}" for name in kept["errors"] for way in kept["ways"])]
    systems = zip(*kept["errors"].values(), strict=True)
    rows = [
        [str(n), *(number(value) for row in of_system for value in row)]
        for n, of_system in enumerate(systems)
    ]
    yield markdown(heading, rows)


def _bands(folder: Path) -> Iterator[str]:
    """Yield the section on prediction bands, from what `benchmarks.bands --json` wrote."""
    path = folder / "bands.json"
    if not path.exists():
        return
    kept = json.loads(path.read_text(encoding="utf-8"))
    rows = "\n".join(bands.row(name, runs) for name, runs in kept.items())
    yield (
        "## Prediction bands\n\nShare (%) of observations within 90 % bands, mean over horizons:"
        " median over seeds (least to most). `python -m benchmarks.bands --json"
        " benchmarks/results/bands.json`."
    )
    yield (
        "| data | fixed h1 | h10 | mean | adapted h1 | h10 | mean | learning (s) | bands (s) |\n"
        f"|---|{'---:|' * 8}\n{rows}"
    )


def measure(names: Sequence[str], folder: Path) -> None:
    """Measure methods anew where they changed; "all": also the paper's experiments."""
    chosen = METHODS.values() if "all" in names else [METHODS[name] for name in names]
    compare.run(chosen, TASKS.values(), None, folder)
    mains: Sequence[Callable[[Sequence[str]], int]] = (
        synthetic.main,
        swimmer.main,
        windshield.main,
        table1.main,
    )
    for main_of in mains if "all" in names else ():
        main_of(["--folder", str(folder)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--measure", nargs="+", choices=["all", *METHODS], default=[])
    parser.add_argument("--folder", type=Path, default=RESULTS, help="where results are kept")
    parser.add_argument("--out", type=Path, default=_DOCS / "results.md")
    parser.add_argument("--no-plots", action="store_true", help="keep the plots that are there")
    options = parser.parse_args(arguments)
    try:
        if options.measure:
            measure(options.measure, options.folder)
        draw = not options.no_plots
        text = page(options.folder, options.out.parent / "images", draw)
        options.out.write_text(text, encoding="utf-8")
        method = options.out.parent / "method.md"
        if method.exists():
            old = method.read_text(encoding="utf-8")
            method.write_text(with_figures(old, method_figures(options.folder)), encoding="utf-8")
    except InputError as fault:
        print(f"error: {fault}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
