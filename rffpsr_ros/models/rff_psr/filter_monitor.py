"""Watching the belief: when it has collapsed, blown up, or stopped explaining what is seen.

The filter's update is homogeneous in the state: an observation far outside what the features
represent can send the state to zero, where it stays for ever. Nothing in the mathematics brings it
back, so the model watches what training showed to be normal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds

NIS_MEMORY = 0.9
"""Weight of the past in the running mean of squared innovations."""


class Events(NamedTuple):
    """How often something out of the ordinary happened to a state; (...) integers each."""

    missing: Array  # ticks with a missing observation
    limited_observations: Array  # ticks with an observation outside what features represent
    limited_actions: Array
    collapses: Array  # beliefs rebuilt, by what was found
    blow_ups: Array
    large_innovations: Array

    @classmethod
    def none(cls) -> Events:
        """Return the counts of an episode's start."""
        return cls(*(np.zeros((), np.int64) for _ in cls._fields))

    @property
    def rebuilds(self) -> Array:
        """Return how often the belief was rebuilt, for whatever reason."""
        return np.asarray(self.collapses + self.blow_ups + self.large_innovations)


@dataclass(frozen=True)
class MonitorThresholds:
    """How far from those of training a belief may be before it is rebuilt.

    Attributes
    ----------
    collapse
        A belief shorter than this fraction of the median training belief has collapsed.
    blow_up
        A belief longer than this multiple of the longest training belief has blown up.
    nis
        A running innovation larger than this multiple of training's largest is no longer normal.
    """

    collapse: float = 0.2
    blow_up: float = 4.0
    nis: float = 10.0


class FilterMonitor(NamedTuple):
    """What is normal: bounds on the belief's norm and on the running squared innovation.

    Innovations are in units of the one-step error seen in training (d_o,), standardised.
    """

    shortest: Annotated[float, holds(least=0)] = 0.0
    longest: Annotated[float, holds(positive=True, infinite=True)] = float("inf")
    nis: Annotated[float, holds(positive=True, infinite=True)] = float("inf")
    innovation_scale: Annotated[Array, holds("1 | d_o", positive=True)] = np.ones(1)

    def innovation(self, error: Array) -> Array:
        """Return the mean squared innovation (...,) over what was seen (..., d_o); NaN if nothing.

        Errors are those of one-step predictions, NaN where nothing was seen.
        """
        squared = (error / self.innovation_scale) ** 2
        seen = np.isfinite(squared)
        count = seen.sum(-1)
        total = np.where(seen, squared, 0.0).sum(-1)
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def verdict(self, beliefs: Array, nis: Array) -> Verdict:
        """Return which of N beliefs are out of order, and why."""
        with np.errstate(invalid="ignore", over="ignore"):
            norms = np.linalg.norm(beliefs.astype(np.float64), axis=1)
        blown = ~(norms <= self.longest)
        collapsed = norms < self.shortest
        return Verdict(collapsed, blown, (nis > self.nis) & ~collapsed & ~blown)


class Verdict(NamedTuple):
    """Which beliefs (N,) are out of order."""

    collapsed: Array
    blown_up: Array
    large_innovation: Array

    @property
    def any(self) -> Array:
        """Return which beliefs are to be rebuilt."""
        return np.asarray(self.collapsed | self.blown_up | self.large_innovation)


def fit_monitor(
    norms: Array,
    innovations: Sequence[Array],
    scale: Array,
    thresholds: MonitorThresholds,
) -> FilterMonitor:
    """Return a monitor from belief norms (T,) and each run's squared innovations (T_n,)."""
    usual = max((float(running_means(run).max(initial=1.0)) for run in innovations), default=1.0)
    return FilterMonitor(
        thresholds.collapse * float(np.median(norms)),
        thresholds.blow_up * float(norms.max()),
        thresholds.nis * max(usual, 1.0),
        scale,
    )


def running_means(values: Array) -> Array:
    """Return the exponentially weighted means of values (T,), starting at 1."""
    means = np.empty(len(values))
    mean = 1.0
    for t, value in enumerate(values):
        if np.isfinite(value):
            mean = NIS_MEMORY * mean + (1 - NIS_MEMORY) * value
        means[t] = mean
    return means
