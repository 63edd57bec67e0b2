"""Whether the model at hand is what a training would make, so that it need not run again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rffpsr_ros.cli.recordings import Parts
from rffpsr_ros.episodes.trajectory import Trajectory
from rffpsr_ros.errors import InputError
from rffpsr_ros.learning.windows.survey import STRETCH
from rffpsr_ros.learning.windows.workers import THIS_PROCESS, Workers
from rffpsr_ros.models.arx import LinearARX
from rffpsr_ros.models.predictive_model import Learner, Signature
from rffpsr_ros.models.rff_psr_learner import RFFPSR
from rffpsr_ros.models.storage import load_model

REQUEST = "request"
"""The entry of a training record's options under which `request_of` stands."""


def request_of(learner: Learner, parts: Parts, workers: Workers = THIS_PROCESS) -> dict[str, Any]:
    """Return what was asked of a training, in JSON types: options and a digest of the data.

    What the data decided is not part of it: the record's other options tell that.
    """
    options: Mapping[str, Any] = {}
    if isinstance(learner, RFFPSR):
        options = asdict(learner.options)
    elif isinstance(learner, LinearARX):
        options = {"past": learner.past, "future": learner.future}
    return {"options": dict(options), "data": fingerprint(parts.train, parts.validation, workers)}


def check_same_training(path: Path, kind: str, request: Mapping[str, Any]) -> None:
    """Refuse a model file that another training made.

    Raises
    ------
    InputError
        If the file holds no model, or one of another kind, with other options or from other data.
    """
    model = load_model(path)
    made = model.record.options.get(REQUEST)
    if not isinstance(made, Mapping) or not isinstance(made.get("options"), Mapping):
        raise _other(path, "without this command")
    if model.kind != kind:
        raise _other(path, f"as {model.kind}, not {kind}")
    for name, value in request["options"].items():
        before = made["options"].get(name)
        if before != value:
            raise _other(path, f"with {name} {before}, not {value}")
    if made.get("data") != request["data"]:
        raise _other(path, "on other data")


def fingerprint(
    train: Sequence[Trajectory],
    validation: Sequence[Trajectory],
    workers: Workers = THIS_PROCESS,
) -> str:
    """Return a short digest of trajectories: the same data, the same digest."""
    digest = hashlib.sha256()
    for part in (train, validation):
        digest.update(f"{len(part)}\n".encode())
        for trajectory in workers.map(_digest, part):
            digest.update(trajectory)
    return digest.hexdigest()[:16]


def _digest(trajectory: Trajectory) -> bytes:
    """Return a digest of one trajectory, read a stretch at a time."""
    digest = hashlib.sha256(repr(Signature.of(trajectory)).encode())
    for start in range(0, len(trajectory), STRETCH):
        stretch = trajectory.slice(start, start + STRETCH)
        digest.update(stretch.observations.tobytes())
        digest.update(stretch.actions.tobytes())
    return digest.digest()


def _other(path: Path, how: str) -> InputError:
    return InputError(f"model '{path}' was trained {how}; remove it, or train without --resume")
