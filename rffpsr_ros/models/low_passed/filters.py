"""First-order low-pass filters: what the actions were over a long time, in a few numbers.

m_t = m_{t-1} + (1 - e^{-1/tau}) (z_t - m_{t-1}), with z an action in standard units, or its square
for what work heats up whichever way it goes. Something that fills, warms or relaxes more slowly
than a window is long follows such a mean.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds
from rffpsr_ros.recordings.trajectory import Trajectory

SHORT = 100
"""Ticks of plans whose means are computed all at once."""


class LowPassFilters(NamedTuple):
    """Means m of actions (d_a,) in standard units, each with a time constant of its own."""

    mean: Annotated[Array, holds("d_a")]
    deviation: Annotated[Array, holds("d_a", positive=True)]
    ticks: Annotated[Array, holds("m", positive=True)]
    """The time constants tau."""
    column: Annotated[Array, holds("m", least=0, most="d_a-1", whole=True)]
    """Of which action each is the mean."""
    squared: Annotated[Array, holds("m", least=0, most=1, whole=True)]
    """1 where it is the mean of the action's square."""

    @property
    def initial(self) -> Array:
        """Return the means before a first action: those of a robot at rest."""
        return np.zeros(len(self.ticks))

    @property
    def shares(self) -> Array:
        """Return 1 - e^{-1/tau} of each mean."""
        return np.asarray(-np.expm1(-1 / self.ticks))

    def trajectory(self, trajectory: Trajectory) -> Trajectory:
        """Return a recording with the means beside its actions."""
        return Trajectory(
            trajectory.observations,
            RunningMeans(self).along(self.initial, trajectory.actions),
            trajectory.period,
            trajectory.observation_names,
            self.names(trajectory.action_names),
            trajectory.label,
            trajectory.likelihood_ratios,
        )

    def only(self, places: Sequence[int]) -> LowPassFilters:
        """Return the filters of some of the means."""
        some = list(places)
        return self._replace(
            ticks=self.ticks[some], column=self.column[some], squared=self.squared[some]
        )

    def beside(self, others: LowPassFilters) -> LowPassFilters:
        """Return the filters of these means, and then of others of the same actions."""
        return self._replace(
            ticks=np.concatenate([self.ticks, others.ticks]),
            column=np.concatenate([self.column, others.column]),
            squared=np.concatenate([self.squared, others.squared]),
        )

    def names(self, actions: Sequence[str]) -> tuple[str, ...]:
        """Return the names of actions and means."""
        every = zip(self.column, self.squared, self.ticks, strict=True)
        slow = (f"{actions[one]}{'^2' * power} over {ticks:g} ticks" for one, power, ticks in every)
        return (*actions, *slow)


class RunningMeans:
    """Filters made ready: what they compute of actions, and its derivatives."""

    def __init__(self, filters: LowPassFilters) -> None:
        self._column, self._squared = filters.column, filters.squared.astype(bool)
        self._mean, self._deviation = (one[filters.column] for one in filters[:2])
        self._shares = filters.shares
        self._kept = 1 - self._shares
        self._acted = len(filters.mean)
        later = np.arange(SHORT)[:, None] - np.arange(SHORT)
        powers = self._kept[:, None, None] ** np.maximum(later, 0)
        self._of_driving = np.where(later >= 0, self._shares[:, None, None] * powers, 0.0)
        self._of_start = self._kept ** np.arange(1, SHORT + 1)[:, None]

    def after(self, means: Array, action: Array) -> Array:
        """Return the means (..., m) after one more action (..., d_a)."""
        return np.asarray(means + self._shares * (self._driven_by(action) - means))

    def along(self, means: Array, actions: Array) -> Array:
        """Return actions (..., T, d_a) with the means after each beside them, (..., T, d_a + m)."""
        ticks = actions.shape[-2]
        found = self._driven_by(actions)
        if ticks <= SHORT:
            rows = found.swapaxes(-1, -2)[..., None]
            found = (self._of_driving[:, :ticks, :ticks] @ rows)[..., 0].swapaxes(-1, -2)
            found = found + self._of_start[:ticks] * means[..., None, :]
        else:
            for tick in range(ticks):
                means = means + self._shares * (found[..., tick, :] - means)
                found[..., tick, :] = means
        return np.concatenate([actions, found], axis=-1)

    def pulled_back(self, derivatives: Array, actions: Array) -> Array:
        """Return derivatives by actions, (..., T, d_a), from those by what `along` makes of them.

        ``actions`` (..., T, d_a) have as many axes as ``derivatives`` (..., T, d_a + m).
        """
        own, slow = derivatives[..., : self._acted], derivatives[..., self._acted :]
        later, carried = np.empty(slow.shape), np.zeros(slow[..., 0, :].shape)
        for tick in reversed(range(slow.shape[-2])):
            carried = slow[..., tick, :] + self._kept * carried
            later[..., tick, :] = carried
        slope = (
            np.where(self._squared, 2 * self._standard(actions), 1.0)
            * self._shares
            / self._deviation
        )
        return np.asarray(own + (later * slope) @ (self._column[:, None] == np.arange(self._acted)))

    def _driven_by(self, actions: Array) -> Array:
        """Return what the means (..., m) follow."""
        standard = self._standard(actions)
        return np.where(self._squared, standard * standard, standard)

    def _standard(self, actions: Array) -> Array:
        """Return each mean's action (..., m) in standard units."""
        return np.asarray((actions[..., self._column] - self._mean) / self._deviation)


def fit_filters(
    recordings: Sequence[Trajectory], ticks: Sequence[float], squares: bool
) -> LowPassFilters:
    """Return filters of all actions for each time constant, and of their squares if asked for."""
    rows = np.concatenate([one.actions for one in recordings])
    deviation = rows.std(axis=0)
    deviation[deviation == 0] = 1.0
    powers = range(2 if squares else 1)
    every = list(itertools.product(powers, ticks, range(rows.shape[1])))
    squared, constants, columns = np.array(every, dtype=float).reshape(-1, 3).T
    return LowPassFilters(
        rows.mean(axis=0), deviation, constants, columns.astype(int), squared.astype(int)
    )
