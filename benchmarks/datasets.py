"""Data sets to measure with, each as trajectories with its customary split.

Recorded data is not part of the project. It is read from the folder ``shared`` beside the checkout,
or from the one that the environment variable RFFPSR_SHARED names; what can be simulated is.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.io import loadmat

from rffpsr_ros.episodes.trajectory import Trajectory
from rffpsr_ros.errors import InputError

_CHECKOUT = Path(__file__).resolve().parent.parent


class Split(NamedTuple):
    """Trajectories to learn from, to choose by, and to judge by."""

    train: Sequence[Trajectory]
    validation: Sequence[Trajectory]
    test: Sequence[Trajectory]


def shared_file(relative: str) -> Path:
    """Return the path of a file of the shared folder.

    Raises
    ------
    InputError
        If it is not there.
    """
    folder = Path(os.environ.get("RFFPSR_SHARED", _CHECKOUT.parent / "shared"))
    path = folder / relative
    if not path.exists():
        raise InputError(f"{relative} is not in {folder}; set RFFPSR_SHARED to the data's folder")
    return path


def synth() -> Split:
    """Return the paper's synthetic data as its authors recorded it: 10, 5 and 10 trajectories."""
    cells = loadmat(shared_file("data/synthetic/synth.mat"))

    def part(name: str) -> list[Trajectory]:
        return [
            Trajectory(
                np.ravel(observations), np.ravel(actions), 0.05, ["o"], ["a"], f"{name} {i + 1}"
            )
            for i, (observations, actions) in enumerate(
                zip(cells[f"X_{name}"].flat, cells[f"U_{name}"].flat, strict=True)
            )
        ]

    return Split(part("tr"), part("val"), part("tst"))
