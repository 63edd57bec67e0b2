"""One small model of every kind, and more of those with optional parts: what is then mutated.

They are learned once and kept in a temporary folder for as long as the package's source stays.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import rffpsr_ros
from benchmarks.audit.model_mutations import contents_of
from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.bands import conformal_bands
from rffpsr_ros.models.baselines.last_observation import LastObservation
from rffpsr_ros.models.baselines.mean import Mean
from rffpsr_ros.models.compressed.learner import Compressed
from rffpsr_ros.models.contract import PredictiveModel, Signature, TrainingRecord
from rffpsr_ros.models.ensemble.model import EnsembleModel, EnsembleParts, OutputLimits
from rffpsr_ros.models.ensemble.reach import Reach
from rffpsr_ros.models.hse_psr.learner import HSEPSR
from rffpsr_ros.models.io_hmm.learner import IOHMM
from rffpsr_ros.models.kalman.learner import Kalman
from rffpsr_ros.models.low_passed.learner import LowPassed
from rffpsr_ros.models.moving_origin.learner import MovingOrigin
from rffpsr_ros.models.output_error.learner import OutputError
from rffpsr_ros.models.registry import model_kinds
from rffpsr_ros.models.rff_arx.learner import RFFARX
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR
from rffpsr_ros.models.state_space.learner import NonlinearStateSpace
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.learner import RFFPSR
from rffpsr_ros.recordings.trajectory import Trajectory

CHANNELS: Mapping[str, Any] = {
    "rate": 10.0,
    "observation": {"inputs": ["seen"], "seen": {"topic": "/seen", "fields": ["x", "y"]}},
    "action": {"inputs": ["told"], "told": {"topic": "/told", "fields": ["u"]}},
}
OBSERVATIONS, ACTIONS = ("seen.x", "seen.y"), ("told.u",)

SMALL: dict[str, Any] = {
    "past": 3,
    "future": 2,
    "features": 10,
    "rank": 4,
    "iterations": 3,
    "arx_past": 3,
    "narx_features": 5,
}

LEARNED: dict[str, Callable[[], Any]] = {
    "last_observation": LastObservation,
    "mean": Mean,
    "linear_arx": lambda: LinearARX(past=3, future=4, ridge=1e-4),
    "rff_arx": lambda: RFFARX(past=3, future=4, features=8, ridge=1e-2),
    "kalman": lambda: Kalman(past=3, future=4),
    "output_error": lambda: OutputError(past=2, features=6),
    "state_space": lambda: NonlinearStateSpace(2, past=3, stages=1),
    "rff_psr": lambda: SingleRFFPSR(**SMALL),
    "rff_psr without terms": lambda: SingleRFFPSR(**{**SMALL, "arx_past": 0, "narx_features": 0}),
    "rff_psr of the paper": lambda: RFFPSR.paper(past=3, future=3, features=10, rank=4),
    "hse_psr": lambda: HSEPSR(past=3, future=2, rank=4),
    "io_hmm": lambda: IOHMM(past=2, future=1),
    "compressed": lambda: Compressed(SingleRFFPSR(**SMALL), 1),
    "moving_origin": lambda: MovingOrigin(SingleRFFPSR(**SMALL), [1]),
    "low_passed": lambda: LowPassed(SingleRFFPSR(**SMALL), (5, 20), squares=True),
    "ensemble": lambda: RFFPSR(**SMALL, folds=2),
}


@cache
def samples() -> dict[str, bytes]:
    """Return model files by name: those kept, or learned now."""
    folder = _folder()
    found = {path.stem: path.read_bytes() for path in sorted(folder.glob("*.psr"))}
    if set(found) == {*LEARNED, "ensemble with limits"}:
        return found
    for name, model in _models().items():
        # Learned by several at a time, the last one's stays: they are the same.
        model.save(folder / f"{name}.psr")
    samples.cache_clear()
    return samples()


def kinds_without_sample() -> set[str]:
    """Return the kinds that model files can hold, and of which there is none here."""
    kinds = {contents_of(file).header["kind"] for file in samples().values()}
    return {*model_kinds()} - kinds


def _models() -> dict[str, PredictiveModel[Any]]:
    by_name = {
        name: _served(make().fit(_recordings(discrete=name == "io_hmm")))
        for name, make in LEARNED.items()
    }
    return {**by_name, "ensemble with limits": _with_limits(by_name)}


def _with_limits(by_name: Mapping[str, PredictiveModel[Any]]) -> PredictiveModel[Any]:
    members = tuple(by_name[name] for name in ("linear_arx", "rff_psr", "kalman"))
    weights = np.full((4, 2, 3), 1 / 3)
    limits = OutputLimits(np.full(2, -5.0), np.full(2, 5.0), 0)
    bounds = Bounds(np.full(2, -np.inf), np.full(2, 9.0))
    reach = Reach(np.full(weights.shape, 0.5))
    parts = EnsembleParts(members, weights, limits, bounds, reach)
    return _served(EnsembleModel(members[0].signature, TrainingRecord(), parts))


def _served(model: PredictiveModel[Any]) -> PredictiveModel[Any]:
    """Return a model with topics, errors of training and bands, as nodes serve it."""
    signature = Signature(OBSERVATIONS, ACTIONS, 0.1, CHANNELS, ("m", "m"), ("N",))
    metrics = {"validation_mse_by_observation": [[0.1, 0.2], [0.3, None]], "validation_mse": [0.3]}
    errors = np.random.default_rng(1).normal(size=(40, 3, 2))
    return model.replaced(
        signature=signature,
        record=TrainingRecord({"past": 3}, metrics, ("made for the audit",)),
        bands=conformal_bands(errors),
    )


def _recordings(discrete: bool) -> list[Trajectory]:
    generator = np.random.default_rng(5)
    made = []
    for _ in range(4):
        actions = generator.normal(size=(60, 1))
        observations = np.zeros((60, 2))
        for t in range(1, 60):
            observations[t] = 0.8 * np.tanh(observations[t - 1]) + actions[t] * [0.5, -0.2]
        observations += 0.05 * generator.normal(size=(60, 2))
        columns: tuple[Array, Array] = observations, actions
        if discrete:
            columns = np.where(observations > 0, 1.0, 0.0), np.where(actions > 0, 1.0, 0.0)
        made.append(Trajectory(*columns, 0.1, OBSERVATIONS, ACTIONS))
    return made


def _folder() -> Path:
    """Return a folder that is of this source alone."""
    digest = hashlib.sha256()
    for root in (Path(rffpsr_ros.__file__).parent, Path(__file__).parent):
        for path in sorted(root.rglob("*.py")):
            digest.update(path.read_bytes())
    name = f"rffpsr_audit_{os.getuid()}_{digest.hexdigest()[:16]}"
    folder = Path(tempfile.gettempdir()) / name
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
