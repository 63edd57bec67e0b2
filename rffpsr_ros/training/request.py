"""What was asked of a training: remembered in the model, so that it need not run again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.data.summary import STRETCH
from rffpsr_ros.errors import InputError, plain
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

    Raises
    ------
    InputError
        If a recording is to be trained on and to validate by.
    """
    train = _digested(parts.train, workers)
    validation = _digested(parts.validation, workers)
    _refuse_repeated(train, validation, parts.validation)
    return {"kind": kind, "options": _options(learner), **_joined(train, validation)}


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
    kind = _asked(model).get("kind")
    return kind if isinstance(kind, str) else model.kind


class Known(NamedTuple):
    """What of some recordings a model was learned from."""

    all_of_it: bool
    """Whether these are just what it was learned from."""
    recordings: int
    """How many of them begin like one that it was learned from."""


def known_of(model: PredictiveModel[Any], trajectories: Sequence[Trajectory]) -> Known:
    """Return what of recordings a model was learned from, as far as its request tells."""
    asked = _asked(model)
    if "data" not in asked:
        return Known(False, 0)
    found, before = digests(trajectories), set(asked.get(BEGINNINGS, ()))
    return Known(found["data"] == asked["data"], sum(one in before for one in found[BEGINNINGS]))


def _asked(model: PredictiveModel[Any]) -> Mapping[str, Any]:
    """Return the request that a model remembers; empty if it does not."""
    request = model.record.options.get(REQUEST)
    return request if isinstance(request, Mapping) else {}


def digests(trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """Return short digests of trajectories, as a request holds them: of all, and of beginnings.

    The same data, the same digest. Each trajectory is read once.
    """
    return _joined(_digested(trajectories), [])


class _Digest(NamedTuple):
    """Of one trajectory."""

    whole: bytes
    beginning: str


def _digested(part: Sequence[Trajectory], workers: Workers = THIS_PROCESS) -> list[_Digest]:
    return list(workers.map(_digests, part))


def _joined(train: Sequence[_Digest], validation: Sequence[_Digest]) -> dict[str, Any]:
    digest = hashlib.sha256()
    for part in (train, validation):
        digest.update(f"{len(part)}\n".encode())
        for one in part:
            digest.update(one.whole)
    found = [one.beginning for one in (*train, *validation)]
    return {"data": digest.hexdigest()[:16], BEGINNINGS: found[:MOST_BEGINNINGS]}


def _refuse_repeated(
    train: Sequence[_Digest], validation: Sequence[_Digest], trajectories: Sequence[Trajectory]
) -> None:
    """Refuse a recording for validation that is trained on; a few ticks may be alike by chance."""
    known = {one.whole for one in train}
    for one, trajectory in zip(validation, trajectories, strict=True):
        if one.whole in known and len(trajectory) >= BEGINNING:
            label = f" {plain(trajectory.label)}" if trajectory.label else ""
            raise InputError(
                f"the recording{label} for validation holds the same as one that is trained on;"
                " validate by other bags, or by a part of all, as --split 0.8,0.2,0 does"
            )


def _digests(trajectory: Trajectory) -> _Digest:
    """Return digests of one trajectory, read a stretch at a time, and of its first ticks.

    These count from where something changes: robots that stand still are all alike.
    """
    kind = repr(Signature.of(trajectory)).encode()
    whole, beginning = hashlib.sha256(kind), ""
    for start in range(0, len(trajectory), STRETCH):
        stretch = trajectory.slice(start, min(start + STRETCH, len(trajectory)))
        observations, actions = stretch.observations, stretch.actions
        whole.update(observations.tobytes())
        whole.update(actions.tobytes())
        if not start:
            rows = np.hstack([observations, actions])
            first = int(np.argmax((rows != rows[0]).any(axis=1)))
            few = slice(first, first + BEGINNING)
            part = observations[few].tobytes() + actions[few].tobytes()
            beginning = hashlib.sha256(kind + part).hexdigest()[:12]
    return _Digest(whole.digest(), beginning)


def _other(path: Path, how: str) -> InputError:
    return InputError(f"model '{path}' was trained {how}; remove it, or train without resuming")
