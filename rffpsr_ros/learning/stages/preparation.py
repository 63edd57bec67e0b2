"""From trajectories to what the stages work on: checked, standardised, gaps filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.episodes.trajectory import Trajectory
from rffpsr_ros.errors import InputError
from rffpsr_ros.learning.filtering.predictor import Start
from rffpsr_ros.learning.stages.base import fill_missing, fit_base
from rffpsr_ros.learning.windows.arrays import Array
from rffpsr_ros.learning.windows.scaling import Run, Scaling, standardise
from rffpsr_ros.learning.windows.survey import Survey

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
    train: Sequence[Trajectory], validation: Sequence[Trajectory], found: Survey, fill_past: int
) -> Prepared:
    """Standardise by the survey, and fill gaps by a linear model of ``fill_past`` ticks."""
    observation_scaling, action_scaling = found.observations.scaling(), found.actions.scaling()
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


def check_survey(found: Survey, like: Trajectory, past: int, future: int, needed: int) -> None:
    """Refuse data, with columns named like those of ``like``, of which nothing can be learned.

    Raises
    ------
    InputError
        If an observation is missing in every tick, a column is constant (the message names it), or
        there are fewer complete windows than needed (it says how many there are).
    """
    absent = found.observations.count == 0
    if absent.any():
        name = like.observation_names[int(np.argmax(absent))]
        raise InputError(f"observation '{name}' is missing in every tick; leave it out")
    for what in ("observation", "action"):
        constant = getattr(found, f"{what}s").constant()
        if constant.any():
            name = getattr(like, f"{what}_names")[int(np.argmax(constant))]
            raise InputError(
                f"{what} '{name}' is constant in the training data; leave it out, or record data"
                " in which it varies"
            )
    if found.windows < needed:
        raise InputError(
            f"the training data hold {found.windows} complete windows of {past + future + 1} ticks"
            f" (past {past} + future {future} + 1) and {needed} are needed; record longer or lower"
            " past and future"
        )
