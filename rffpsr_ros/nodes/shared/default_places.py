"""Where nodes keep episodes and models unless told otherwise: under ``ROS_HOME``."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from rffpsr_ros.errors import InputError, shown

MODEL_SUFFIX = ".psr"


def home() -> Path:
    """Return this package's folder in ``ROS_HOME`` (default ``~/.ros``)."""
    return Path(os.environ.get("ROS_HOME") or "~/.ros").expanduser() / "rffpsr"


def episodes_folder(given: str) -> Path:
    """Return the folder of the episodes."""
    return Path(given).expanduser() if given else home() / "episodes"


def new_model_path(given: str, now: datetime) -> Path:
    """Return where to write a model: as given, else a file named by date."""
    if given:
        return Path(given).expanduser()
    return home() / "models" / f"model_{now:%Y-%m-%d_%H-%M-%S}{MODEL_SUFFIX}"


def served_model_path(given: str) -> Path:
    """Return the model file to serve: as given, else the learner's newest.

    Raises
    ------
    InputError
        If none was given and the learner has written none.
    """
    if given:
        return Path(given).expanduser()
    folder = home() / "models"
    written = {}
    for path in folder.glob(f"*{MODEL_SUFFIX}"):
        with suppress(OSError):  # a link to nowhere, or a file that was removed just now
            written[path] = path.stat().st_mtime_ns
    if not written:
        raise InputError(
            f"there is no model in {folder} yet; train one or set the parameter model_path"
        )
    return max(sorted(written), key=written.__getitem__)


def newest_model(given: str) -> str:
    """Return the model file that is served, if there is one, else nothing."""
    with suppress(InputError):
        return str(served_model_path(given))
    return ""


class ModelPlaces:
    """Where the parameter ``model_path`` may lead while a node runs.

    Whoever may set it from afar shall not be able to write or read any file of the computer.

    Parameters
    ----------
    started_with
        The path that the node was started with; its folder is allowed.
    folders
        What else is allowed, beside the place of models in ``ROS_HOME``; empty names count not.
    """

    def __init__(self, started_with: str, folders: Iterable[str]) -> None:
        own = [Path(started_with).expanduser().parent] if started_with else []
        given = [Path(folder).expanduser() for folder in folders if folder]
        self._allowed = [folder.resolve() for folder in (*own, *given, home() / "models")]

    def refusal(self, given: str) -> str:
        """Return why a path is refused; empty if it is allowed."""
        if not given:
            return ""
        try:
            if not given.isprintable():  # it would stand in logs
                raise ValueError
            path = Path(given).expanduser().resolve()
        except (OSError, RuntimeError, ValueError):
            return f"model_path is {shown(given)}, which is no path"
        if any(path.is_relative_to(folder) and path != folder for folder in self._allowed):
            return ""
        allowed = ", ".join(str(folder) for folder in self._allowed)
        return (
            f"model_path is {shown(given)}, which is not below {allowed}; name its folder in the"
            " parameter model_folders when the node is started"
        )
