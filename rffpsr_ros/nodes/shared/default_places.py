"""Where nodes keep episodes and models unless told otherwise: under ``ROS_HOME``."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from rffpsr_ros.errors import InputError

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
    models = sorted(folder.glob(f"*{MODEL_SUFFIX}"), key=lambda path: path.stat().st_mtime_ns)
    if not models:
        raise InputError(
            f"there is no model in {folder} yet; train one or set the parameter model_path"
        )
    return models[-1]
