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
from rffpsr_ros.models.arx import LinearARX
from rffpsr_ros.models.predictive_model import Learner, Signature
from rffpsr_ros.models.rff_psr_learner import RFFPSR
from rffpsr_ros.models.storage import load_model
from rffpsr_ros.signals.channels import ChannelConfiguration

DATA = "training_data"
"""The option of a training record that tells which data it was."""


def check_same_training(
    path: Path, kind: str, learner: Learner, configuration: ChannelConfiguration, parts: Parts
) -> None:
    """Refuse a model file that another training made.

    Raises
    ------
    InputError
        If the file holds no model, or its kind, options or training data are others.
    """
    model = load_model(path)
    wanted: dict[str, Any] = {"kind": kind, **_options(learner)}
    made: dict[str, Any] = {"kind": model.kind, **model.record.options}
    for name, value in wanted.items():
        if made.get(name) != value:
            raise _other(path, f"{name} {made.get(name)}, not {value}")
    if made.get(DATA) != fingerprint(parts.train, parts.validation):
        raise _other(path, "other data")
    if _without_options(model.signature.channels) != _without_options(configuration.to_mapping()):
        raise _other(path, "channels that were described otherwise")


def fingerprint(train: Sequence[Trajectory], validation: Sequence[Trajectory]) -> str:
    """Return a short digest of trajectories: the same data, the same digest."""
    digest = hashlib.sha256()
    for part in (train, validation):
        digest.update(f"{len(part)}\n".encode())
        for trajectory in part:
            digest.update(repr(Signature.of(trajectory)).encode())
            digest.update(trajectory.observations.tobytes())
            digest.update(trajectory.actions.tobytes())
    return digest.hexdigest()[:16]


def _options(learner: Learner) -> Mapping[str, Any]:
    if isinstance(learner, RFFPSR):
        return asdict(learner.options)
    if isinstance(learner, LinearARX):
        return {"past": learner.past, "future": learner.future}
    return {}


def _without_options(channels: Mapping[str, Any] | None) -> Any:
    """Return what a configuration says of the data; types may have been filled in from the bag."""
    if not isinstance(channels, Mapping):
        return channels
    return {
        key: _without_options(value)
        for key, value in channels.items()
        if key not in ("learning", "dataset", "type")
    }


def _other(path: Path, what: str) -> InputError:
    return InputError(
        f"model '{path}' was trained with {what}; remove it, or train without --resume"
    )
