"""From trajectories to what the stages work on: checked, standardised, gaps filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.data.arx_term import fill_missing, fit_arx
from rffpsr_ros.data.scaling import Run, Scaling, standardise
from rffpsr_ros.data.summary import DataSummary
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds
from rffpsr_ros.recordings.trajectory import Trajectory

FILL_RIDGE = 1e-6


class Start(NamedTuple):
    """What is taken for the past before anything was seen: how training recordings began.

    Once a recording's first tick was seen, its values are taken for the whole past before it.
    """

    observation: Annotated[Array, holds("d_o")]
    action: Annotated[Array, holds("d_a")]


class PreparedRecordings(NamedTuple):
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

    def scaled(self, factor: float) -> PreparedRecordings:
        """Return recordings of signals that are so many times as large."""

        def larger(runs: Sequence[Run]) -> list[Run]:
            return [Run(factor * run.observations, factor * run.actions) for run in runs]

        return PreparedRecordings(larger(self.recorded), larger(self.filled), self.seen)


class Prepared(NamedTuple):
    """Training and validation recordings, and the scaling learned from the former."""

    observation_scaling: Scaling
    action_scaling: Scaling
    train: PreparedRecordings
    validation: PreparedRecordings


def prepare(
    train: Sequence[Trajectory],
    validation: Sequence[Trajectory],
    found: DataSummary,
    fill_past: int,
) -> Prepared:
    """Standardise by the summary, and fill gaps by a linear model of ``fill_past`` ticks."""
    scalings = found.observations.scaling(), found.actions.scaling()
    return _prepared(*scalings, train, validation, fill_past)


def prepare_again(
    observation_scaling: Scaling,
    action_scaling: Scaling,
    train: Sequence[Trajectory],
    validation: Sequence[Trajectory],
    fill_past: int,
) -> Prepared:
    """Prepare what a known model goes on with: by its scalings, widened to hold ``train``."""
    observations = np.concatenate([run.observations for run in train])
    actions = np.concatenate([run.actions for run in train])
    scalings = observation_scaling.widened(observations), action_scaling.widened(actions)
    return _prepared(*scalings, train, validation, fill_past)


def _prepared(
    observation_scaling: Scaling,
    action_scaling: Scaling,
    train: Sequence[Trajectory],
    validation: Sequence[Trajectory],
    fill_past: int,
) -> Prepared:
    """Standardise by scalings that are known, and fill gaps as `prepare` does."""
    recorded = standardise(train, observation_scaling, action_scaling)
    seen = [~np.isnan(run.observations) for run in recorded]
    weights = fit_arx(recorded, seen, fill_past, FILL_RIDGE)

    def recordings(runs: list[Run]) -> PreparedRecordings:
        return PreparedRecordings(
            runs,
            [fill_missing(run, weights, fill_past) for run in runs],
            [~np.isnan(run.observations) for run in runs],
        )

    held = standardise(validation, observation_scaling, action_scaling)
    return Prepared(observation_scaling, action_scaling, recordings(recorded), recordings(held))
