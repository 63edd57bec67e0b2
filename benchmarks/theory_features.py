"""How stage one converges on random Fourier features, beside the theorem's bound.

    python -m benchmarks.theory_features            a minute; kept in benchmarks/results

A nonlinear system whose state noise hides. Features are drawn once; stage one of N windows, joint
and conditional, is compared with that of a hundred times as many as the most: root mean square of
Q_N(h) - Q(h) over histories, relative to Q's own. The ridge is fixed, or falls with N. Beside the
error of conditional stage one stand the terms of its bound (supplement, the theorem on continuous
systems), all computed from the features: lambda_min of the covariance of h x psi^a, Delta 1 to 3.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.records import RESULTS, machine
from benchmarks.tables import markdown, number
from benchmarks.theory import DELTA, slope
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.data.windows import window_chunks
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.psr.feature_set import FeatureOptions, FeatureSet, fit_features
from rffpsr_ros.psr.stage_one import ConditionalStageOne, JointStageOne

COMMAND = "python -m benchmarks.theory_features"
FILE = "theory_features.json"
TICKS = 100
OPTIONS = FeatureOptions(
    past=4, future=2, features=50, rank=8, observation_rank=4, action_rank=4, tolerance=1e-2
)
WINDOWS = TICKS - OPTIONS.past - OPTIONS.future
"""Windows of a recording."""
LAMBDA = 1e-3
"""The lambda of joint stage one's conditioning, the same for any N."""
JUDGED = 5
"""Recordings at whose histories Q_N and Q are compared."""

Ridge = Callable[[int], float]
RIDGES: Mapping[str, Ridge] = {
    "1e-6": lambda n: 1e-6,
    "1e-2": lambda n: 1e-2,
    "falls as N^-1/4": lambda n: 1e-2 * (n / 1000) ** -0.25,
    "falls as N^-1/2": lambda n: 1e-2 * (n / 1000) ** -0.5,
}


class Bound(NamedTuple):
    """The terms of the bound on conditional stage one; c's are the largest norms of features."""

    smallest: float
    """lambda_min of the covariance of h x psi^a."""
    delta_1: float
    delta_2: float
    delta_3: float
    bound: float
    """Infinite where N is too small for the theorem."""


def recordings(count: int, seed: int) -> list[Run]:
    """Return runs of a nonlinear oscillator under white actions, seen through noise."""
    draw = np.random.default_rng(seed)
    acted = draw.uniform(-1, 1, (TICKS, count))
    noise = 0.2 * draw.normal(size=(TICKS, count))
    state, before = np.zeros(count), np.zeros(count)
    seen = np.empty((TICKS, count))
    for t in range(TICKS):
        state, before = np.sin(1.6 * state - 0.9 * before) + 0.6 * acted[t], state
        seen[t] = state + noise[t]
    return [Run(seen[:, i : i + 1], acted[:, i : i + 1]) for i in range(count)]


class Sums:
    """Stage one of both kinds, of Q_t, summed over recordings."""

    def __init__(self, features: FeatureSet) -> None:
        self._features = features
        sizes = (
            features.history.size + 1,
            features.future_action.size,
            features.future_observation.size,
        )
        self.joint = JointStageOne(*sizes, "squared")
        self.conditional = ConditionalStageOne(*sizes)
        self.windows = 0

    def add(self, runs: Sequence[Run]) -> None:
        """Add the windows of runs."""
        for windows in window_chunks(runs, OPTIONS.past, OPTIONS.future):
            rows = self._features(windows)
            parts = rows.history, rows.future_action, rows.future_observation
            self.joint.add(*parts)
            self.conditional.add(*parts)
            self.windows += len(parts[0])

    def operators(self, ridge: float, histories: Array) -> dict[str, Array]:
        """Return Q (n, outputs, actions) of histories by both."""
        return {
            "joint": self.joint.solve(ridge, LAMBDA)(histories),
            "conditional": self.conditional.solve(ridge, 0.0)(histories),
        }


def relative_error(found: Array, true: Array) -> float:
    """Return the root mean square of what operators (n, ...) are off, relative to the true ones."""
    return float(np.sqrt(np.sum((found - true) ** 2) / np.sum(true**2)))


def bound(features: FeatureSet, runs: Sequence[Run], windows: int, ridge: float) -> Bound:
    """Return the bound's terms for so many windows; covariances are those of the runs."""
    (chunk, *_) = window_chunks(runs, OPTIONS.past, OPTIONS.future, 1 << 20)
    rows = features(chunk)
    both = khatri_rao(rows.history, rows.future_action)
    covariance = both.T @ both / len(both)
    smallest = max(float(np.linalg.eigvalsh(covariance)[0]), 0.0)
    outputs = rows.future_observation
    largest = float(np.linalg.eigvalsh(outputs.T @ outputs / len(outputs))[-1])
    c_o, c_h, c_a = (
        float(np.sqrt((part**2).sum(axis=1).max()))
        for part in (outputs, rows.history, rows.future_action)
    )
    sizes = outputs.shape[1], both.shape[1]
    return bound_terms(smallest, largest, (c_o, c_h, c_a), sizes, windows, ridge)


def bound_terms(
    smallest: float,
    largest: float,
    norms: tuple[float, float, float],
    sizes: tuple[int, int],
    windows: int,
    ridge: float,
) -> Bound:
    """Return the terms as the supplement writes them, for `DELTA`.

    ``smallest`` is lambda_min of h x psi^a's covariance, ``largest`` lambda_max of psi^o's,
    ``norms`` the bounds of psi^o, h, psi^a, and ``sizes`` d_O and d_h d_A.
    """
    c_o, c_h, c_a = norms
    d_o, d_ha = sizes
    log_inputs, log_all = math.log(2 * d_ha / DELTA), math.log((d_o + d_ha) / DELTA)
    inputs = c_h * c_a
    root = math.sqrt(smallest)
    delta_1 = 2 * inputs * math.sqrt(log_inputs / windows)
    delta_1 += 2 * log_inputs / (3 * windows) * (inputs**2 / root + inputs)
    delta_2 = 2 * c_o * inputs * math.sqrt(log_all / windows)
    delta_2 += 4 * c_o * inputs * log_all / (3 * windows)
    delta_3 = inputs**2 * log_inputs / (smallest * windows)
    left = smallest * (1 - delta_3) + ridge
    whole = math.inf
    if delta_3 < 1:
        whole = math.sqrt(largest / smallest) * (root * delta_1 + ridge) / left + delta_2 / left
    return Bound(smallest, delta_1, delta_2, delta_3, c_h * whole)


def measure(counts: Sequence[int], runs: int, reference: int) -> dict[str, Any]:
    """Return errors by stage one, ridge and number of recordings, means over runs, and bounds."""
    sample = recordings(40, 1)
    source = WindowSource.of_runs(sample, OPTIONS.past, OPTIONS.future)
    features = fit_features(source, OPTIONS, np.random.default_rng(0)).features
    judged = np.concatenate(
        [
            features(chunk).history
            for chunk in window_chunks(recordings(JUDGED, 2), OPTIONS.past, OPTIONS.future)
        ]
    )
    accurate = Sums(features)
    batch = 1000
    for part, first in enumerate(range(0, reference, batch)):
        accurate.add(recordings(min(batch, reference - first), 1000 + part))
    truth = accurate.operators(1e-10, judged)
    windows = [WINDOWS * count for count in counts]
    errors = {kind: {name: np.zeros(len(counts)) for name in RIDGES} for kind in truth}
    for seed in range(runs):
        whole = recordings(max(counts), 10 + seed)
        for place, count in enumerate(counts):
            sums = Sums(features)
            sums.add(whole[:count])
            for name, ridge in RIDGES.items():
                for kind, found in sums.operators(ridge(windows[place]), judged).items():
                    errors[kind][name][place] += relative_error(found, truth[kind]) / runs
    following = RIDGES["falls as N^-1/4"]
    typical = recordings(200, 3)
    bounds = [bound(features, typical, n, following(n)) for n in windows]
    needed = bounds[0].delta_3 * windows[0]
    later = [int(float(f"{factor * needed:.1g}")) for factor in (2, 100, 10_000)]
    return {
        "windows": windows,
        "reference": accurate.windows,
        "runs": runs,
        "errors": {
            kind: {name: _digits(values.tolist()) for name, values in by_ridge.items()}
            for kind, by_ridge in errors.items()
        },
        "slopes": {
            kind: {name: _digits([slope(np.array(windows), v)])[0] for name, v in by_ridge.items()}
            for kind, by_ridge in errors.items()
        },
        "bounds": [
            {name: value if math.isfinite(value) else None for name, value in one._asdict().items()}
            for one in bounds
        ],
        "needed": float(f"{needed:.3g}"),
        "later": {str(n): bound(features, typical, n, following(n)).bound for n in later},
    }


def _digits(values: Sequence[float]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def section(kept: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was found, for the page of results."""
    slopes = "; ".join(
        f"{kind}, ridge {name}: {value:.2f}"
        for kind, by_ridge in kept["slopes"].items()
        for name, value in by_ridge.items()
    )
    yield (
        "## Theory\n\nStage one of RFF-PSR against that of"
        f" {kept['reference']} windows: root mean square of Q_N(h) - Q(h) over histories, relative"
        f" to Q's, mean of {kept['runs']} runs. `{kept['command']}`. Delta 1 to 3 and lambda_1 (the"
        " ridge that falls as N^-1/4) are the terms of the supplement's bound on conditional S1."
    )
    columns = [(kind, name) for kind, by_ridge in kept["errors"].items() for name in by_ridge]
    heading = ["windows", *(f"{kind}, ridge {name}" for kind, name in columns)]
    heading += ["lambda_1", "Delta 1", "Delta 2", "Delta 3"]
    rows = []
    for place, (windows, terms) in enumerate(zip(kept["windows"], kept["bounds"], strict=True)):
        found = [number(kept["errors"][kind][name][place]) for kind, name in columns]
        ridge = RIDGES["falls as N^-1/4"](windows)
        deltas = [number(terms[f"delta_{k}"]) for k in (1, 2, 3)]
        rows.append([str(windows), *found, number(ridge), *deltas])
    yield markdown(heading, rows)
    best = "; ".join(f"{kind}: {_best(by, kept)}" for kind, by in kept["errors"].items())
    later = "; ".join(f"{value:.2g} at {float(n):.0e}" for n, value in kept["later"].items())
    smallest = kept["bounds"][0]["smallest"]
    yield (
        f"Slopes in N, both logarithms (the theory's is -1/2): {slopes}. A fixed ridge is a bias"
        f" that does not fall. The best ridge: {best}. The bound holds where Delta 3 is below"
        f" 1, from {kept['needed']:.1e} windows on: the covariance of h x psi^a has an eigenvalue"
        f" of {smallest:.1e}; its value is {later} windows. So it says that stage one converges,"
        " and nothing of how good it is."
    )
    yield "![Stage one's error and the terms of its bound](images/theory_features.png)"


def _best(by_ridge: Mapping[str, Sequence[float]], kept: Mapping[str, Any]) -> str:
    """Return in words which ridge errs least at each number of windows."""
    names = list(by_ridge)
    least = np.argmin(list(by_ridge.values()), axis=0)
    return ", ".join(
        f"{names[place]} at {windows}"
        for place, windows in zip(least, kept["windows"], strict=True)
    )


def plot(kept: Mapping[str, Any], path: Path) -> None:
    """Draw errors and the bound's terms against the number of windows."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
    for panel, (kind, by_ridge) in zip(panels, kept["errors"].items(), strict=False):
        for (name, values), mark in zip(by_ridge.items(), "osd^", strict=True):
            panel.loglog(kept["windows"], values, f"{mark}-", label=f"ridge {name}")
        panel.set(title=f"{kind} stage one", xlabel="windows", ylabel="relative error of Q(h)")
    for term, mark in (("delta_1", "o"), ("delta_2", "s"), ("delta_3", "d")):
        label = term.replace("_", " ").capitalize()
        values = [terms[term] for terms in kept["bounds"]]
        panels[2].loglog(kept["windows"], values, f"{mark}-", label=label)
    ridges = [RIDGES["falls as N^-1/4"](n) for n in kept["windows"]]
    panels[2].loglog(kept["windows"], ridges, "^-", label="lambda 1")
    panels[2].axhline(1, color="0.4", linestyle="--")
    panels[2].set(title="the bound's terms", xlabel="windows")
    for panel in panels:
        panel.legend(fontsize="small")
        panel.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--recordings", type=int, nargs="+", default=[3, 10, 30, 100])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--reference", type=int, default=10_000, help="recordings")
    parser.add_argument("--folder", type=Path, default=RESULTS)
    parser.add_argument("--plot", type=Path, help="draw into this file")
    options = parser.parse_args(arguments)
    with one_blas_thread():
        found = measure(options.recordings, options.runs, options.reference)
    kept = {"command": COMMAND, "machine": machine(), **found}
    options.folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(kept, indent=1) + "\n"
    (options.folder / FILE).write_text(text, encoding="utf-8")
    print(text)
    if options.plot:
        plot(kept, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
