"""A summary of recordings in one pass: ranges, scaling, and how many windows are complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.data.windows import complete_windows
from rffpsr_ros.errors import InputError
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers, grouped, merged
from rffpsr_ros.recordings.trajectory import Trajectory

STRETCH = 2**16
"""Ticks summarised at once."""


@dataclass
class Columns:
    """Count, mean, squared deviations and range of columns (d,); NaN does not count."""

    count: Array
    mean: Array
    squares: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, rows: Array) -> Columns:
        """Return those of rows (T, d)."""
        seen = ~np.isnan(rows)
        count = seen.sum(axis=0).astype(float)
        mean = np.where(seen, rows, 0).sum(axis=0) / np.maximum(count, 1)
        squares = (np.where(seen, rows - mean, 0) ** 2).sum(axis=0)
        return cls(count, mean, squares, np.fmin.reduce(rows), np.fmax.reduce(rows))

    def merge(self, other: Columns) -> None:
        """Add those of other rows (Chan, Golub and LeVeque 1983)."""
        count = self.count + other.count
        share = other.count / np.maximum(count, 1)
        apart = other.mean - self.mean
        self.squares += other.squares + apart**2 * self.count * share
        self.mean = self.mean + apart * share
        self.count = count
        self.low, self.high = np.fmin(self.low, other.low), np.fmax(self.high, other.high)

    def scaling(self) -> Scaling:
        """Return the scaling to mean 0 and deviation 1."""
        deviation = np.sqrt(self.squares / np.maximum(self.count, 1))
        return Scaling(self.mean, deviation, self.low, self.high)

    def constant(self) -> Array:
        """Return which columns never change, up to rounding around a value."""
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        return np.asarray(self.high - self.low <= 1e-9 * size)

    def still(self) -> Array:
        """Return which columns teach nothing: they never change, or are missing everywhere."""
        return np.asarray(self.constant() | (self.count == 0))


@dataclass
class DataSummary:
    """What is known of recordings before anything is learned."""

    observations: Columns
    actions: Columns
    windows: int  # complete ones

    def merge(self, other: DataSummary) -> None:
        """Add the summary of other recordings."""
        self.observations.merge(other.observations)
        self.actions.merge(other.actions)
        self.windows += other.windows


def summarise(
    trajectories: Sequence[Trajectory], past: int, future: int, workers: Workers = THIS_PROCESS
) -> DataSummary:
    """Pass once over every tick; windows have ``past`` + ``future`` + 1 of them."""
    # Each with the ticks that the last windows which begin in it need.
    stretches = [
        trajectory.slice(start, min(start + STRETCH + past + future, len(trajectory)))
        for trajectory in trajectories
        for start in range(0, len(trajectory), STRETCH)
    ]
    return merged(workers.map(_Summarise(past, future), grouped(stretches, len, STRETCH)))


def check_summary(
    found: DataSummary, like: Trajectory, past: int, future: int, needed: int
) -> None:
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


@dataclass(frozen=True)
class _Summarise:
    past: int
    future: int

    def __call__(self, stretches: Sequence[Trajectory]) -> DataSummary:
        return merged(map(self._one, stretches))

    def _one(self, trajectory: Trajectory) -> DataSummary:
        observations, actions = trajectory.observations, trajectory.actions
        complete = complete_windows(observations, self.past, self.future)[:STRETCH]
        return DataSummary(
            Columns.of(observations[:STRETCH]),
            Columns.of(actions[:STRETCH]),
            int(np.count_nonzero(complete)),
        )
