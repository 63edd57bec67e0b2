"""What was asked of a training: remembered in the model, so that it need not run again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rffpsr_ros.data.summary import STRETCH
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import Learner, PredictiveModel, Signature
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.parallel.processes import PROCESSES
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.training.recordings import Split

REQUEST = "request"
"""The entry of a training record's options under which `request_of` stands."""


BEGINNINGS = "beginnings"
"""The entry of a request under which digests of the recordings' first ticks stand."""

BEGINNING = 50
"""So many ticks tell a recording apart from others, whatever part of it was learned from."""

MOST_BEGINNINGS = 2000
"""Of more recordings the first are remembered."""


def request_of(
    kind: str, learner: Learner, parts: Split, workers: Workers = THIS_PROCESS
) -> dict[str, Any]:
    """Return what was asked of a training, in JSON types: kind, options, a digest of the data.

    What the data decided is not part of it: the record's other options tell that.
    """
    data = fingerprint(parts.train, parts.validation, workers)
    known = beginnings([*parts.train, *parts.validation])
    return {"kind": kind, "options": _options(learner), "data": data, BEGINNINGS: known}


def _options(learner: Any) -> dict[str, Any]:
    """Return a learner's options, those of the learners and option groups in it among them."""
    options: dict[str, Any] = {}
    for name, value in vars(learner).items():
        if isinstance(value, RecipeSettings):
            continue  # the program's, not the user's
        if name == PROCESSES:
            continue  # what is learned does not depend on it
        if hasattr(value, "__dict__"):
            options |= _options(value)
        else:
            options[name] = value
    return options


def model_of_same_training(path: Path, request: Mapping[str, Any]) -> PredictiveModel[Any]:
    """Return the model of a file that this very training made.

    Raises
    ------
    InputError
        If the file holds no model, or one of another kind, with other options or from other data.
    """
    model = load_model(path)
    made = model.record.options.get(REQUEST)
    if not isinstance(made, Mapping) or not isinstance(made.get("options"), Mapping):
        raise _other(path, "in another way")
    if made.get("kind") != request["kind"]:
        raise _other(path, f"as {made.get('kind')}, not {request['kind']}")
    for name, value in request["options"].items():
        before = made["options"].get(name)
        if before != value:
            raise _other(path, f"with {name} {before}, not {value}")
    if made.get("data") != request["data"]:
        raise _other(path, "on other data")
    return model


def kind_asked_for(model: PredictiveModel[Any]) -> str:
    """Return the kind that training was asked for; several learners make models of one kind."""
    request = model.record.options.get(REQUEST)
    kind = request.get("kind") if isinstance(request, Mapping) else None
    return kind if isinstance(kind, str) else model.kind


def has_learned_from(model: PredictiveModel[Any], trajectories: Sequence[Trajectory]) -> bool:
    """Return whether these are all that a model was learned from."""
    request = model.record.options.get(REQUEST)
    known = request.get("data") if isinstance(request, Mapping) else None
    return known is not None and known == fingerprint(trajectories, ())


def count_known(model: PredictiveModel[Any], trajectories: Sequence[Trajectory]) -> int:
    """Return how many of these begin like a recording that a model was learned from."""
    request = model.record.options.get(REQUEST)
    known = request.get(BEGINNINGS) if isinstance(request, Mapping) else None
    return sum(one in set(known) for one in beginnings(trajectories)) if known else 0


def beginnings(trajectories: Sequence[Trajectory]) -> list[str]:
    """Return digests of the first ticks of the first recordings, from where something changes.

    Robots that stand still are all alike.
    """
    found = []
    for trajectory in trajectories[:MOST_BEGINNINGS]:
        early = trajectory.slice(0, min(STRETCH, len(trajectory)))
        rows = np.hstack([early.observations, early.actions])
        first = int(np.argmax((rows != rows[0]).any(axis=1)))
        part = early.slice(first, min(first + BEGINNING, len(early)))
        found.append(_digest(part).hex()[:12])
    return found


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
    return InputError(f"model '{path}' was trained {how}; remove it, or train without resuming")
