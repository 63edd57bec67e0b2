"""Whether a change of the code changed any forecast: recorded before, compared after.

    python -m benchmarks.same_forecasts record before.npz    with the code as it was
    python -m benchmarks.same_forecasts compare before.npz   with the code as it is

Every kind of model learns from the same data and forecasts along a test with gaps, as it is and as
it runs live; the live follower is run along a bag. Bits are compared: they hold on one machine with
one set of libraries, so the file is not kept in the repository. Where a sum was put in another
order, the largest difference tells, relative to the largest value.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.signal import lfilter

from benchmarks import datasets
from benchmarks.tasks import TASKS, Material
from rffpsr_ros.cli.main import main as rffpsr
from rffpsr_ros.data.subsample import SUBSAMPLE
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.compressed.learner import Compressed
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.models.hse_psr.learner import HSEPSR
from rffpsr_ros.models.io_hmm.learner import IOHMM
from rffpsr_ros.models.kalman.learner import Kalman
from rffpsr_ros.models.n4sid.learner import N4SID
from rffpsr_ros.models.output_error.learner import OutputError
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.models.state_space.learner import NonlinearStateSpace
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory

HORIZON = 30
EVERY = 7
TICKS = 300
"""Of each test: forecasts of so many ticks ahead, from every so many of the first so many."""

CONFIGURATION = Path(__file__).resolve().parents[1] / "config" / "jackal.yaml"
LIVE = {
    "rff_psr, one fold": ("--set", "learning.folds=1", "--set", "learning.iterations=40"),
    "kalman": ("--model", "kalman"),
    "linear_arx": ("--model", "linear_arx"),
}
"""What is trained from the Jackal's bag by the command line, and followed as a node does."""


def cases() -> dict[str, Callable[[], Mapping[str, Array]]]:
    """Return what each case computes, by name; nothing is computed yet."""
    synth, jackal, swimmer = (TASKS[name].load(0) for name in ("synth", "jackal", "swimmer"))
    learned: dict[str, tuple[Learner, Material]] = {
        "RFFPSR() on synth": (RFFPSR(), synth),
        "RFFPSR() on jackal": (RFFPSR(), jackal),
        "RFFPSR() on swimmer": (RFFPSR(), swimmer),
        "RFFPSR(folds=1) on synth": (RFFPSR(folds=1, iterations=60), synth),
        "RFFPSR() on synth with gaps": (RFFPSR(iterations=40), _with_gaps(synth)),
        "RFFPSR() on synth behind a sensor's limits": (RFFPSR(iterations=40), _saturated(synth)),
        "RFFPSR() on long recordings": (RFFPSR(iterations=20, features=50), _long()),
        "RFFPSR.paper() on synth": (RFFPSR.paper(features=200), synth),
        "RFFPSR.paper(), conditional, on synth": (
            RFFPSR.paper(features=200, stage_one="conditional", refinement="none"),
            synth,
        ),
        "HSE-PSR on synth": (HSEPSR(), synth),
        "Kalman on jackal": (Kalman(), jackal),
        "N4SID on jackal": (N4SID(), jackal),
        "linear ARX on jackal": (LinearARX(), jackal),
        "RFF-ARX on synth": (RFFARX(), synth),
        "output error on synth": (OutputError(3, seed=1), synth),
        "state space on synth": (NonlinearStateSpace(2, stages=1, seed=1), synth),
        "components of the swimmer": (Compressed(Kalman(), 3), swimmer),
        "last observation on jackal": (LastObservation(), jackal),
        "mean on jackal": (Mean(), jackal),
        "IO-HMM": (IOHMM(), _discrete()),
    }
    found: dict[str, Callable[[], Mapping[str, Array]]] = {
        name: _learned(learner, material) for name, (learner, material) in learned.items()
    }
    return found | {f"live, {name}": _live(options) for name, options in LIVE.items()}


def _learned(learner: Learner, material: Material) -> Callable[[], Mapping[str, Array]]:
    def computed() -> Mapping[str, Array]:
        model = learner.fit(list(material.train), list(material.validation) or None)
        tests = [run for runs in material.tests.values() for run in runs[:2]]
        as_run = {
            "": model,
            " served": model.inference_model(False),
            " compiled": model.inference_model(),
        }
        return {
            f"test {number}{how}": _forecasts(one, run)
            for how, one in as_run.items()
            for number, run in enumerate(tests)
        }

    return computed


def _forecasts(model: PredictiveModel[Any], run: Trajectory) -> Array:
    """Return forecasts (n, H, d_o) along a test, some of whose observations are missing."""
    observations = run.observations[:TICKS].copy()
    observations[40:43] = observations[60, 0] = np.nan
    state, made = model.initial_state(), []
    for tick, (seen, acted) in enumerate(zip(observations, run.actions[:TICKS], strict=True)):
        if tick % EVERY == 0:
            plan = run.actions[tick : tick + HORIZON]
            held = np.concatenate([plan, np.repeat(plan[-1:], HORIZON - len(plan), axis=0)])
            made.append(model.predict(state, held))
        state = model.update(state, acted, seen)
    return np.stack(made)


def _with_gaps(material: Material) -> Material:
    """Return material of whose training values a fifth are missing."""
    draw = np.random.default_rng(3)

    def holed(run: Trajectory) -> Trajectory:
        missing = draw.uniform(size=run.observations.shape) < 0.2
        seen = np.where(missing, np.nan, run.observations)
        return Trajectory(seen, run.actions, run.period)

    return Material([holed(run) for run in material.train], [], material.tests)


def _saturated(material: Material) -> Material:
    """Return material whose observations a sensor holds within the middle of their range."""
    rows = np.concatenate([run.observations for run in material.train])
    low, high = np.quantile(rows, [0.15, 0.85], axis=0)

    def held(run: Trajectory) -> Trajectory:
        return Trajectory(np.clip(run.observations, low, high), run.actions, run.period)

    tests = {name: [held(run) for run in runs] for name, runs in material.tests.items()}
    return Material([held(run) for run in material.train], [], tests)


def _long() -> Material:
    """Return three recordings so long that what follows the two stages takes a subsample."""
    draw = np.random.default_rng(5)

    def run() -> Trajectory:
        actions = draw.uniform(-1, 1, SUBSAMPLE // 3 + 1000)
        swinging = lfilter([0.2], [1.0, -1.6, 0.8], np.tanh(2 * actions))
        return Trajectory(swinging + draw.normal(0, 0.01, len(actions)), actions, 0.05)

    return Material([run() for _ in range(3)], [], {"test": [run()]})


def _discrete() -> Material:
    """Return runs of a machine with three states, of which two look alike."""
    draw = np.random.default_rng(4)

    def run() -> Trajectory:
        actions = draw.integers(0, 2, 600)
        states = np.cumsum(actions + (draw.uniform(size=600) < 0.1)) % 3
        return Trajectory((states > 0).astype(float), actions.astype(float), 0.1)

    return Material([run() for _ in range(4)], [], {"test": [run()]})


def _live(options: Sequence[str]) -> Callable[[], Mapping[str, Array]]:
    """Return what a node publishes along the Jackal's bag, and forecasts with recorded actions."""
    bag = str(datasets.shared_file("data/jackal/jackal.bag"))

    def computed() -> Mapping[str, Array]:
        with tempfile.TemporaryDirectory() as folder:
            model, table = f"{folder}/model.psr", Path(folder) / "table.csv"
            config = ("--config", str(CONFIGURATION), "--out", model, "--quiet", "--no-check")
            _command("train", bag, *config, "--split", "0.7,0.1,0.2", *options)
            found = {}
            for assumed in ("recorded", "hold"):
                shown = ("--model", model, "--out", str(table), "--quiet", "--every", "5")
                _command("predict", bag, *shown, "--future-actions", assumed)
                found[assumed] = np.frombuffer(table.read_bytes(), dtype=np.uint8)
                table.unlink()
            return found

    return computed


def _command(*words: str) -> None:
    if code := rffpsr(list(words)):
        raise SystemExit(f"'rffpsr {' '.join(words)}' ended with code {code}")


def recorded(path: Path, chosen: Sequence[str] = ()) -> None:
    """Compute every case, or those chosen, and keep what they give."""
    found = {
        f"{case} | {name}": array
        for case, computed in cases().items()
        if not chosen or case in chosen
        for name, array in _told(case, computed).items()
    }
    np.savez_compressed(path, **found)  # type: ignore[arg-type]


def differences(path: Path, chosen: Sequence[str] = ()) -> Iterator[tuple[str, float]]:
    """Yield every array's largest difference to what was kept, relative to its largest value.

    0 stands for equal bits, infinity for another shape, other gaps or another table.
    """
    with np.load(path) as kept:
        for case, computed in cases().items():
            if chosen and case not in chosen:
                continue
            for name, array in _told(case, computed).items():
                yield f"{case} | {name}", _difference(array, kept[f"{case} | {name}"])


def _difference(array: Array, before: Array) -> float:
    if array.shape == before.shape and array.tobytes() == before.tobytes():
        return 0.0
    same_gaps = array.shape == before.shape and (np.isnan(array) == np.isnan(before)).all()
    if array.dtype == np.uint8 or not same_gaps:
        return float("inf")
    return float(np.nanmax(np.abs(array - before)) / np.nanmax(np.abs(before)))


def _told(case: str, computed: Callable[[], Mapping[str, Array]]) -> Mapping[str, Array]:
    print(case, file=sys.stderr, flush=True)
    return computed()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; return 1 if anything differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["record", "compare"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--cases", nargs="+", default=(), help="these only")
    options = parser.parse_args(arguments)
    with one_blas_thread():  # products by several threads add up in another order
        return _done(options)


def _done(options: argparse.Namespace) -> int:
    if options.what == "record":
        recorded(options.file, options.cases)
        return 0
    code = 0
    for name, difference in differences(options.file, options.cases):
        print(f"{'same bits' if difference == 0 else f'{difference:.1e}':>10}  {name}", flush=True)
        code |= difference != 0
    return code


if __name__ == "__main__":
    sys.exit(main())
