"""Ticks without an observation: whether a sensor is slower than the tick."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.recordings.trajectory import Trajectory


class RareObservation(NamedTuple):
    """The column that the fewest ticks hold."""

    name: str
    share: float
    """Of the ticks, with a value."""
    every: int
    """Ticks from one value to the next, usually."""
    period: float
    alone: bool
    """Whether there is no other observation."""

    def describe(self) -> str:
        """Return in words how many ticks hold it."""
        return f"{100 * self.share:.0f} % of the ticks of {self.period:g} s hold '{self.name}'"

    def advice(self) -> str:
        """Return what to do, as the end of a sentence."""
        longer = "choose longer ones, by the sensor's rate that 'rffpsr inspect' shows"
        if self.every > 1:
            rate = 1 / (self.every * self.period)
            longer = f"it comes every {self.every} ticks, so choose longer ones (rate: {rate:.3g})"
        return longer if self.alone else f"{longer}, or raise its max_age if it is not the first"


def rare_observation(
    trajectories: Sequence[Trajectory], columns: NDArray[np.bool_]
) -> RareObservation | None:
    """Return the rarest of some columns (d_o,); None where every tick holds all of them."""
    seen = [np.isfinite(one.observations) for one in trajectories]
    shares = np.where(columns, np.concatenate(seen).mean(axis=0), 1.0)
    column = int(shares.argmin())
    if shares[column] == 1:
        return None
    apart = np.concatenate([np.diff(np.flatnonzero(one[:, column])) for one in seen])
    every = int(np.median(apart)) if len(apart) else 1
    names, period = trajectories[0].observation_names, trajectories[0].period
    share = float(shares[column])
    return RareObservation(names[column], share, every, period, len(names) == 1)
