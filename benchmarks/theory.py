"""What the theorems say and what happens: errors of both stages against the number of ticks.

    python -m benchmarks.theory [--most 1000000] [--runs 3] [--plot FILE] [--json FILE]

The systems are known, so E[Q | h] and E[P | h] of every history are known too. Errors are root mean
squares over the stationary distribution of histories; the dynamics' error applies the learned W to
the true Q, so that it does not depend on a basis.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg

from benchmarks.known_systems import IOHMM, random_linear_system, simulate_linear
from rffpsr_ros.data.feature_source import FeaturesOfWindows
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.models.io_hmm.discrete_system import OFTEN, DiscreteOptions, indicator_stage_one
from rffpsr_ros.models.kalman.linear_system import LinearSystem
from rffpsr_ros.models.kalman.subspace import LinearFeatures
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.stage_one import AdditiveOperators, AdditiveStageOne
from rffpsr_ros.psr.stage_two import project_states, stage_two
from rffpsr_ros.psr.two_stage import stage_one

RIDGE = 1e-9
DELTA = 0.05
PAST, FUTURE = 5, 3
"""Windows of the linear system; the discrete one has history and future of one tick."""


class Errors(NamedTuple):
    """Root mean square errors of stage one and of the dynamics."""

    stage_one: float
    dynamics: float


def discrete_errors(known: IOHMM, run: Run, rank: int = 5) -> Errors:
    """Return the errors of two stages on histories and futures of one tick (1-observability)."""
    _, actions, symbols = known.observation.shape
    options = DiscreteOptions(past=1, future=1, ridge=RIDGE)
    maps, classes = indicator_stage_one([run], symbols, actions, options)
    (chunk,) = classes.sample
    projection = project_states(maps, classes, rank, 1e-9, np.random.default_rng(0))
    two = stage_two(maps, classes, projection, RIDGE)
    # The classes' own numbers: the history (o, a) of class 1 + o A + a, where all are frequent.
    belief = stationary(known)
    states, chances = [], []
    for seen, acted in itertools.product(range(symbols), range(actions)):
        joint = belief * known.observation[:, acted, seen] / actions
        chances.append(joint.sum())
        states.append(known.filter(belief, acted, seen) if joint.sum() > 0 else belief)
    numbers = chunk.history.argmax(1)
    operators = dict(zip(numbers, maps.state(chunk.history), strict=True))
    known_classes = _class_of(run, symbols, actions)
    first, total = 0.0, 0.0
    second = 0.0
    for index, (state, chance) in enumerate(zip(states, chances, strict=True)):
        if index not in known_classes:
            continue
        now, extended = conditional_tables(known, state)
        learned = operators[known_classes[index]]
        first += chance * float(np.sum((learned - now) ** 2))
        applied = two.weights[0] @ (projection.T @ now.ravel())
        second += chance * float(np.sum((applied - extended.ravel()) ** 2))
        total += chance
    return Errors(float(np.sqrt(first / total)), float(np.sqrt(second / total)))


def _class_of(run: Run, symbols: int, actions: int) -> dict[int, int]:
    """Return the class of each history (o A + a) that is frequent enough to be one."""
    codes = (run.observations[:-2, 0] * actions + run.actions[:-2, 0]).astype(int)
    counts = np.bincount(codes, minlength=symbols * actions)
    frequent = np.flatnonzero(counts >= OFTEN)
    return {int(code): 1 + place for place, code in enumerate(frequent)}


def stationary(known: IOHMM) -> Array:
    """Return the stationary distribution of the hidden states under uniform actions."""
    chain = known.transition.mean(1)
    values, vectors = np.linalg.eig(chain.T)
    vector = np.real(vectors[:, np.argmax(np.real(values))])
    return np.asarray(vector / vector.sum())


def conditional_tables(known: IOHMM, state: Array) -> tuple[Array, Array]:
    """Return P(o | a) (S, A) and P(o, o' | a, a') (S^2, A^2) from a distribution of states."""
    now = np.einsum("s,sao->oa", state, known.observation)
    led = np.einsum("s,sao,sat->oat", state, known.observation, known.transition)
    pairs = np.einsum("oat,tbp->opab", led, known.observation)
    symbols, actions = now.shape
    return now, pairs.reshape(symbols**2, actions**2)


def linear_errors(system: LinearSystem, run: Run) -> Errors:
    """Return the errors of two stages on windows of `PAST` and `FUTURE` ticks."""
    source = WindowSource.of_runs([run], PAST, FUTURE)
    draw = np.random.default_rng(0)
    chunks = FeaturesOfWindows(source, LinearFeatures.of, source.sample(20_000, draw))
    maps = stage_one(chunks, AdditiveStageOne, RIDGE, 0.0)
    projection = project_states(maps, chunks, len(system.start), 0.0, draw)
    two = stage_two(maps, chunks, projection, RIDGE)
    true, spread = expected_state(system)
    observing = observability(system, FUTURE + 1)
    state, extended = observing[: -len(system.output)] @ true, observing @ true
    assert isinstance(maps.state, AdditiveOperators)
    error = maps.state.history.copy()
    error[:, :-1] -= state
    whole = scipy.linalg.block_diag(spread, np.eye(1))
    applied = two.weights[0] @ (projection.T @ state) - extended
    return Errors(
        float(np.sqrt(np.trace(error @ whole @ error.T))),
        float(np.sqrt(np.trace(applied @ spread @ applied.T))),
    )


def observability(system: LinearSystem, ticks: int) -> Array:
    """Return [C; C A; ...]."""
    rows, power = [], np.eye(len(system.start))
    for _ in range(ticks):
        rows.append(system.output @ power)
        power = system.transition @ power
    return np.concatenate(rows)


def expected_state(system: LinearSystem) -> tuple[Array, Array]:
    """Return G with E[x_t | h] = G h, and the covariance of h, the last `PAST` (o, then a)."""
    n, observed, acted = len(system.start), len(system.output), system.action.shape[1]
    noise = system.gain @ system.innovation @ system.gain.T + system.action @ system.action.T
    initial = scipy.linalg.solve_discrete_lyapunov(system.transition, noise)
    sources = scipy.linalg.block_diag(
        initial, *([np.eye(acted)] * PAST), *([system.innovation] * PAST)
    )
    size = len(sources)

    def pick(start: int, count: int) -> Array:
        return np.eye(size)[start : start + count]

    state, observations, actions = pick(0, n), [], []
    for t in range(PAST):
        action = pick(n + t * acted, acted)
        innovation = pick(n + PAST * acted + t * observed, observed)
        observations.append(system.output @ state + system.feedthrough @ action + innovation)
        actions.append(action)
        state = system.transition @ state + system.action @ action + system.gain @ innovation
    history = np.concatenate([*observations, *actions])
    spread = history @ sources @ history.T
    return np.linalg.solve(spread, history @ sources @ state.T).T, spread


def hoeffding(known: IOHMM, ticks: int) -> float:
    """Return the discrete theorem's bound on the S1 error for history and future of one tick."""
    _, actions, symbols = known.observation.shape
    histories, futures, outputs = actions * symbols, actions**2, symbols**2
    cells = histories * futures * outputs
    repeats = ticks / (histories * futures)
    return float(np.sqrt(cells / (2 * repeats) * np.log(2 * cells / DELTA)))


def theorem(stage_one_error: float, ticks: int) -> float:
    """Return Theorem 1's expression with all constants 1, at the best lambda_2."""
    ridge = np.logspace(-12, 2, 400)
    log = np.log(1 / DELTA)
    first = stage_one_error * (1 / ridge + ridge**-1.5 * np.sqrt(1 + np.sqrt(log / ticks)))
    second = log / np.sqrt(ticks) * (1 / ridge + ridge**-1.5)
    return float(np.min(first + second + np.sqrt(ridge)))


def slope(ticks: Array, errors: Array) -> float:
    """Return the slope of a line through the logarithms."""
    return float(np.polyfit(np.log(ticks), np.log(errors), 1)[0])


def measure(most: int, runs: int) -> dict[str, Any]:
    """Return the errors by system and number of ticks, mean over runs, with slopes and bounds."""
    ticks = [n for n in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000) if n <= most]
    known, linear = IOHMM.random(0), random_linear_system(0)
    found: dict[str, list[list[Errors]]] = {"io_hmm": [], "kalman": []}
    for seed in range(runs):
        for name in found:
            whole = known.simulate(most, seed) if name == "io_hmm" else None
            whole = whole or simulate_linear(linear, most, seed)
            parts = [Run(whole.observations[:n], whole.actions[:n]) for n in ticks]
            if name == "io_hmm":
                found[name].append([discrete_errors(known, part) for part in parts])
            else:
                found[name].append([linear_errors(linear, part) for part in parts])
    result: dict[str, Any] = {"ticks": ticks, "runs": runs}
    late = np.array(ticks) >= min(10_000, most / 10)
    for name, table in found.items():
        mean = np.array(table).mean(0)
        result[name] = {
            "stage_one": mean[:, 0].tolist(),
            "dynamics": mean[:, 1].tolist(),
            "slopes": [slope(np.array(ticks)[late], mean[late, i]) for i in (0, 1)],
            "theorem_1": [theorem(e, n) for e, n in zip(mean[:, 0], ticks, strict=True)],
        }
    result["io_hmm"]["hoeffding"] = [hoeffding(known, n) for n in ticks]
    return result


def plot(result: dict[str, Any], path: Path) -> None:
    """Draw errors and bounds against the number of ticks."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
    for panel, name, title in zip(panels, ("io_hmm", "kalman"), ("IO-HMM", "Kalman"), strict=True):
        part, ticks = result[name], result["ticks"]
        panel.loglog(ticks, part["stage_one"], "o-", label=f"S1, slope {part['slopes'][0]:.2f}")
        panel.loglog(
            ticks, part["dynamics"], "s-", label=f"dynamics, slope {part['slopes'][1]:.2f}"
        )
        panel.loglog(ticks, part["theorem_1"], "--", color="0.4", label="Theorem 1, constants 1")
        if "hoeffding" in part:
            panel.loglog(ticks, part["hoeffding"], ":", color="0.4", label="S1 by Hoeffding")
        panel.set(title=title, xlabel="ticks")
        panel.legend(fontsize="small")
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("root mean square error")
    figure.savefig(path, dpi=120)


def main() -> None:
    """Measure, print, and draw what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--most", type=int, default=1_000_000, help="ticks of the longest run")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    result = measure(arguments.most, arguments.runs)
    text = json.dumps(result, indent=1)
    print(text)
    if arguments.json:
        arguments.json.write_text(text + "\n")
    if arguments.plot:
        plot(result, arguments.plot)


if __name__ == "__main__":
    main()
