"""The method's figures in one command: paper settings, the default, fresh data, real recordings.

    python -m benchmarks.method                    everything, about 20 minutes
    python -m benchmarks.method default jackal     some of it
    python -m benchmarks.method --json figures.json

Every table names data, split, seeds and the rule of evaluation; errors are mean squared errors in
the observations' units, at horizons 1 to 10.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cpu_time import cpu_seconds
from benchmarks.datasets import Split, fresh_synthetic, jackal, quarter_drone, synth
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import horizon_errors, observation_range
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.contract import Learner
from rffpsr_ros.recipe.learner import RFFPSR

Figures = dict[str, list[float]]


def errors(learner: Learner, split: Split, authors: bool, everything: bool = False) -> list[float]:
    """Return the test error by horizon; ``authors``: scored from tick 9 on and clipped.

    With ``everything`` the learner gets the validation recordings as training data.
    """
    began = cpu_seconds()
    train = [*split.train, *split.validation] if everything else split.train
    model = learner.fit(train, None if everything else split.validation)
    seconds = cpu_seconds() - began
    clip = observation_range(split.train) if authors else None
    found = horizon_errors(model, split.test, 10, 9 if authors else 20, clip).mse
    return [*found.tolist(), seconds]


def seeds_of(make: Callable[[int], Learner], seeds: int, split: Split, authors: bool) -> Figures:
    """Return one row per seed."""
    return {f"seed {seed}": errors(make(seed), split, authors) for seed in range(seeds)}


def baselines(split: Split, authors: bool) -> Figures:
    """Return last observation, mean and linear ARX (trained on training and validation part)."""
    return {
        "last observation": errors(LastObservation(), split, authors),
        "mean": errors(Mean(), split, authors),
        "linear ARX": errors(LinearARX(), split, authors, everything=True),
    }


def paper_20() -> Figures:
    """synth.mat, the authors' evaluation: paper settings, joint S1, D = 20, refined, 10 seeds."""
    return seeds_of(lambda seed: RFFPSR.paper(features=20, seed=seed), 10, synth(), True)


def paper_10000() -> Figures:
    """synth.mat, the authors' evaluation: paper settings, joint S1, D = 10000, refined, 3 seeds."""
    return seeds_of(lambda seed: RFFPSR.paper(seed=seed), 3, synth(), True)


def default() -> Figures:
    """synth.mat, the authors' evaluation: RFFPSR() without options, 5 seeds, and baselines."""
    split = synth()
    return seeds_of(lambda seed: RFFPSR(seed=seed), 5, split, True) | baselines(split, True)


def fresh() -> Figures:
    """Five fresh sets of the synthetic system (10 / 5 / 50 trajectories), scored from tick 20."""
    rows: Figures = {}
    for seed in range(5):
        split = fresh_synthetic(1000 + seed)
        rows[f"set {seed}, RFFPSR()"] = errors(RFFPSR(), split, False)
        rows[f"set {seed}, linear ARX"] = errors(LinearARX(), split, False, everything=True)
    return rows


def recording(load: Callable[[], Split]) -> Figures:
    """Return RFFPSR() with 3 seeds and the baselines on a recording, scored from tick 20."""
    split = load()
    return seeds_of(lambda seed: RFFPSR(seed=seed), 3, split, False) | baselines(split, False)


def jackal_bag() -> Figures:
    """Clearpath Jackal, 61 s, first 70 % to learn from, last 20 % to judge by."""
    return recording(jackal)


def drone() -> Figures:
    """Quarter drone, a one-axis rig in closed loop: recordings 1 to 3 to learn from, 4 to judge."""
    return recording(quarter_drone)


SECTIONS: Mapping[str, Callable[[], Figures]] = {
    "paper_20": paper_20,
    "paper_10000": paper_10000,
    "default": default,
    "fresh": fresh,
    "jackal": jackal_bag,
    "drone": drone,
}


def show(title: str, rows: Figures) -> None:
    """Print one section as a Markdown table, with the rows' mean where they are seeds."""
    columns = ["h1", "h2", "h3", "h5", "h7", "h10", "mean", "CPU s"]
    print(f"\n{title}\n\n| | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    table = dict(rows)
    own = [row for name, row in rows.items() if name.startswith("seed")]
    if own:
        table["mean of seeds"] = np.mean(own, axis=0).tolist()
        table["median of seeds"] = np.median(own, axis=0).tolist()
    for name, row in table.items():
        values = [row[h - 1] for h in (1, 2, 3, 5, 7, 10)] + [float(np.mean(row[:10]))]
        print(f"| {name} | {' | '.join(f'{v:.3g}' for v in values)} | {row[10]:.1f} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sections named, or all; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], metavar="section")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args(arguments)
    figures: dict[str, Any] = {}
    for name in options.sections or SECTIONS:
        try:
            rows = SECTIONS[name]()
        except InputError as fault:
            print(f"\n{name}: skipped: {fault}", file=sys.stderr)
            continue
        show(SECTIONS[name].__doc__ or name, rows)
        figures[name] = rows
        if options.json:
            options.json.write_text(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
