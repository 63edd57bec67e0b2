"""Standardisation: every column of observations and actions to mean 0 and deviation 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds
from rffpsr_ros.recordings.trajectory import Trajectory


class Scaling(NamedTuple):
    """x -> (x - mean) / deviation, per column; ``low`` and ``high`` are the range seen."""

    mean: Annotated[Array, holds("d")]
    deviation: Annotated[Array, holds("d", positive=True)]
    low: Annotated[Array, holds("d")]
    high: Annotated[Array, holds("d")]

    def apply(self, values: Array) -> Array:
        """Return standardised values (..., d)."""
        return (values - self.mean) / self.deviation

    def invert(self, values: Array) -> Array:
        """Return values (..., d) in their own units."""
        return values * self.deviation + self.mean

    def limits(self, margin: float) -> tuple[Array, Array]:
        """Return the range seen, widened by ``margin`` times its width on both sides."""
        slack = margin * (self.high - self.low)
        return self.low - slack, self.high + slack

    def widened(self, rows: Array) -> Scaling:
        """Return the same scaling, whose range holds rows (T, d) too; NaN does not count."""
        low, high = np.fmin.reduce(rows), np.fmax.reduce(rows)
        return self._replace(low=np.fmin(self.low, low), high=np.fmax(self.high, high))


def fit_scaling(columns: Sequence[Array]) -> Scaling:
    """Return the scaling of the rows of all arrays (T_n, d); NaN does not count."""
    rows = np.concatenate(columns)
    return Scaling(
        np.nanmean(rows, axis=0),
        np.nanstd(rows, axis=0),
        np.nanmin(rows, axis=0),
        np.nanmax(rows, axis=0),
    )


def forgiving_scaling(columns: Sequence[Array]) -> Scaling:
    """Return `fit_scaling`, but a column that is constant keeps its unit."""
    scaling = fit_scaling(columns)
    return scaling._replace(deviation=np.where(scaling.deviation > 0, scaling.deviation, 1.0))


class Run(NamedTuple):
    """A trajectory as the learning code sees it: standardised columns, missing values NaN."""

    observations: Array
    actions: Array


def standardise(
    trajectories: Sequence[Trajectory], observation_scaling: Scaling, action_scaling: Scaling
) -> list[Run]:
    """Return the standardised runs of trajectories."""
    return [
        Run(observation_scaling.apply(t.observations), action_scaling.apply(t.actions))
        for t in trajectories
    ]
