"""The files that are part of this package, installed or in a checkout."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import rffpsr_ros
from rffpsr_ros.errors import InputError

_SHARE = Path("share") / "rffpsr_ros"


def package_folder(name: str) -> Path:
    """Return a folder of this package's files, such as ``config``.

    In a checkout it is the checkout's, else that of the first prefix that has one: those of
    sourced workspaces, then that of the running Python.

    Raises
    ------
    InputError
        If there is none.
    """
    checkout = Path(rffpsr_ros.__file__).resolve().parents[1]
    sourced = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    prefixes = [*map(Path, sourced), *checkout.parents, Path(sys.prefix)]
    places = [checkout / name] if (checkout / "package.xml").is_file() else []
    places += [prefix / _SHARE / name for prefix in prefixes]
    for place in places:
        if place.is_dir():
            return place
    raise InputError(
        f"the folder '{name}' of this package is not installed; install the whole package with"
        " colcon build or pip install ."
    )
