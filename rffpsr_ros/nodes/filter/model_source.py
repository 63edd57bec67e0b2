"""The model file that a node serves: found, loaded, and watched for being replaced."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.model_channels import channels_of
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.loading import load
from rffpsr_ros.nodes.shared.default_places import ModelPlaces, served_model_path

Fingerprint = tuple[int, int, int]


class ServedModel(NamedTuple):
    """A model, and the file it was loaded from."""

    model: PredictiveModel[Any]
    path: Path
    checksum: str


def same_topics(one: ServedModel | None, other: ServedModel) -> bool:
    """Return whether two models are fed by the same topics, read in the same way."""
    if one is None:
        return False
    first, second = (channels_of(served.model) for served in (one, other))
    return (first.topics, first.stamps) == (second.topics, second.stamps)


class ModelSource:
    """Loads the file that a parameter names; empty: the learner's newest."""

    def __init__(self) -> None:
        self._given = ""
        self._places: ModelPlaces | None = None
        self._seen: tuple[Path, Fingerprint] | None = None
        self._before: tuple[Path, Fingerprint] | None = None

    def refusal(self, values: Mapping[str, Any], serving: bool) -> str:
        """Return why a node that is ``serving`` a model or not cannot take parameters' values.

        Empty if it can. Those at the start say where models may be found later.
        """
        path = values["model_path"]
        if self._places is None:
            self._places = ModelPlaces(path, values["model_folders"])
        elif path != self._given:
            if serving:
                return (
                    "model_path can be changed only while the node is unconfigured: clean it up,"
                    " set model_path, configure"
                )
            return self._places.refusal(path)
        return ""

    def look_for(self, given: str) -> None:
        """Load the file of another path from now on, if it is another one."""
        if given != self._given:
            self._given, self._seen = given, None

    def load(self) -> ServedModel:
        """Load the file as it is now.

        Raises
        ------
        InputError
            If there is none, or it is damaged.
        """
        self._seen = self._look()
        path = served_model_path(self._given)
        loaded = load(path)
        return ServedModel(loaded.model, path, loaded.checksum)

    @property
    def changed(self) -> bool:
        """Whether there is another file, or another content, than when it was loaded last."""
        return self._is_new(self._look())

    @property
    def gone(self) -> bool:
        """Whether there is no file."""
        return self._look() is None

    def written(self) -> bool:
        """Return whether a changed file is the same as at the last call: nobody writes it now."""
        before, self._before = self._before, self._look()
        return self._is_new(before) and self._before == before

    def _is_new(self, look: tuple[Path, Fingerprint] | None) -> bool:
        return look not in (None, self._seen)

    def _look(self) -> tuple[Path, Fingerprint] | None:
        """Return which file there is, and what tells its content; None if there is none."""
        try:
            path = served_model_path(self._given)
            status = path.stat()
        except (InputError, OSError):
            return None
        return path, (status.st_ino, status.st_mtime_ns, status.st_size)
