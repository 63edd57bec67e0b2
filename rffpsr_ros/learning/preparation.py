"""From trajectories to what the stages work on: checked, standardised, gaps filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.episodes.trajectory import Trajectory
from rffpsr_ros.errors import InputError
from rffpsr_ros.learning.arrays import Array
from rffpsr_ros.learning.base import fill_missing, fit_base
from rffpsr_ros.learning.predictor import Start
from rffpsr_ros.learning.scaling import Run, Scaling, fit_scaling, standardise
from rffpsr_ros.learning.windows import count_windows

FILL_RIDGE = 1e-6


class Recordings(NamedTuple):
    """Runs in standard units, as recorded and with stand-ins where observations are missing."""

    recorded: list[Run]
    filled: list[Run]
    seen: list[Array]  # (T, d_o) each: what was observed

    def start(self) -> Start:
        """Return how recordings begin, on average."""
        return Start(
            np.mean([run.observations[0] for run in self.filled], axis=0),
            np.mean([run.actions[0] for run in self.filled], axis=0),
        )


class Prepared(NamedTuple):
    """Training and validation recordings, and the scaling learned from the former."""

    observation_scaling: Scaling
    action_scaling: Scaling
    train: Recordings
    validation: Recordings


def prepare(
    train: Sequence[Trajectory], validation: Sequence[Trajectory], fill_past: int
) -> Prepared:
    """Standardise by the training data, and fill gaps by a linear model of ``fill_past`` ticks."""
    observation_scaling = fit_scaling([t.observations for t in train])
    action_scaling = fit_scaling([t.actions for t in train])
    recorded = standardise(train, observation_scaling, action_scaling)
    seen = [~np.isnan(run.observations) for run in recorded]
    base = fit_base(recorded, seen, fill_past, FILL_RIDGE)

    def recordings(runs: list[Run]) -> Recordings:
        return Recordings(
            runs,
            [fill_missing(run, base, fill_past) for run in runs],
            [~np.isnan(run.observations) for run in runs],
        )

    held = standardise(validation, observation_scaling, action_scaling)
    return Prepared(observation_scaling, action_scaling, recordings(recorded), recordings(held))


def check_columns(train: Sequence[Trajectory]) -> None:
    """Refuse columns that never change: nothing can be learned of or from them.

    Raises
    ------
    InputError
        If a column is constant over all trajectories; the message names it.
    """
    for what in ("observation", "action"):
        rows = np.concatenate([getattr(t, f"{what}s") for t in train])
        spread = np.nanmax(rows, axis=0) - np.nanmin(rows, axis=0)
        size = np.nanmax(np.abs(rows), axis=0)
        # An all-but-constant column is rounding noise around a value; it has no scale of its own.
        constant = spread <= 1e-9 * size
        if constant.any():
            name = getattr(train[0], f"{what}_names")[int(np.argmax(constant))]
            raise InputError(
                f"{what} '{name}' is constant in the training data; leave it out, or record data"
                " in which it varies"
            )


def check_windows(train: Sequence[Trajectory], past: int, future: int, needed: int) -> None:
    """Refuse data that hold fewer than ``needed`` complete windows.

    Raises
    ------
    InputError
        If there are too few; the message says how many there are and how many are needed.
    """
    length = past + future + 1
    found = 0
    for trajectory in train:
        missing = np.isnan(trajectory.observations).any(axis=1)
        count = count_windows(len(trajectory), past, future)
        if count:
            holes = np.concatenate([[0], np.cumsum(missing)])
            found += int(np.sum(holes[length : length + count] == holes[:count]))
    if found < needed:
        raise InputError(
            f"the training data hold {found} complete windows of {length} ticks (past {past} +"
            f" future {future} + 1) and {needed} are needed; record longer or lower past and future"
        )
