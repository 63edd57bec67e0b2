"""What a correction depends on: what was seen, the forecast itself, and the actions on the way.

What the model thinks that the robot does tells of its error more than the actions alone: a motor
that gives half of what is asked changes what happens in proportion to it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rffpsr_ros.models.input_gate import InputRange
from rffpsr_ros.numerics.arrays import Array

REACH = 1.5
"""Up to how many half widths of the trained range from its middle a correction follows values."""

MOST_TOGETHER = 16
"""Up to so many observations depend on each other; of more, each depends on itself alone."""

LEAST_HALF_WIDTH = 1e-6
"""Of a trained range, in magnitudes of its values."""


LAG = 4
"""Ticks between the two observations that are looked at: together they tell of a speed."""


class CorrectionRegressors:
    """Regressors (H, G, n) of corrections of a forecast's H ticks, for G groups of observations.

    They are 1, the newest observation, its change in the last ticks, the change from it to the
    forecast, and two means of the actions until then: all alike, and the earlier the heavier. All
    are in half widths of the trained range.

    Parameters
    ----------
    observations, actions
        The ranges trained on.
    horizon
        Of the longest forecast.

    Attributes
    ----------
    groups, count
        G and n.
    half_width
        (d_o,): the unit in which observations are measured here.
    """

    def __init__(self, observations: InputRange, actions: InputRange, horizon: int) -> None:
        self._middle, self.half_width = _scale(observations)
        self._rest, self._effort = _scale(actions)
        columns = len(self.half_width)
        self.groups = 1 if columns <= MOST_TOGETHER else columns
        self.count = 1 + 3 * (columns // self.groups) + 2 * len(self._effort)
        self._ticks = np.arange(1.0, horizon + 1)[:, None]

    def __call__(self, forecast: Array, actions: Array, seen: Array) -> Array:
        """Return regressors (..., H, G, n) of a forecast (..., H, d_o) given actions (..., H, d_a).

        ``seen`` (2, d_o) are the newest observation and the one `LAG` ticks before it; the forecast
        of the next tick stands in for those that are missing. Regressors of a tick depend on the
        actions until then only.
        """
        values = (forecast - self._middle) / self.half_width
        first = values[..., :1, :]
        newest, before = (np.where(known, one, first) for known, one in self._measured(seen))
        total = np.cumsum((actions - self._rest) / self._effort, axis=-2)
        ticks = self._ticks[: values.shape[-2]]
        own, acted = values.shape[-1] // self.groups, total.shape[-1]
        shape = *values.shape[:-1], self.groups
        regressors = np.empty((*shape, self.count))
        regressors[..., 0] = 1.0
        place = 1
        for part in (newest, newest - before, values - newest):
            split = part.reshape(*part.shape[:-1], self.groups, own)
            regressors[..., place : place + own] = split
            place += own
        for mean in (total / ticks, np.cumsum(total, axis=-2) / (ticks * (ticks + 1) / 2)):
            regressors[..., place : place + acted] = mean[..., None, :]
            place += acted
        return np.clip(regressors, -REACH, REACH, out=regressors)

    def _measured(self, seen: Array) -> Iterator[tuple[Array, Array]]:
        """Yield which columns (d_o,) of an observation are known, and what they were."""
        for one in seen:
            yield np.isfinite(one), (one - self._middle) / self.half_width

    def derivatives(self, forecast: Array, actions: Array, seen: Array, jacobian: Array) -> Array:
        """Return the derivatives (..., H, G, n, K, d_a) of the regressors by K >= H actions.

        ``jacobian`` (..., H, d_o, K, d_a) is that of the forecast; the rest is as above.
        """
        values = jacobian / self.half_width[:, None, None]
        first = values[..., :1, :, :, :]
        now, before = (np.where(np.isfinite(one)[:, None, None], 0.0, first) for one in seen)
        lead, (steps, columns, count, acted) = values.shape[:-4], values.shape[-4:]
        whole = *lead, steps, self.groups, columns // self.groups, count, acted
        parts = [np.zeros((*lead, steps, self.groups, 1, count, acted))]
        for part in (now, now - before, values - now):
            parts.append(np.broadcast_to(part, values.shape).reshape(whole))
        ticks, since = self._ticks[:steps], np.arange(1.0, steps + 1)[:, None] - np.arange(count)
        weight = np.clip(since, 0, None)  # how often an action was counted by a tick
        for mean in ((weight > 0) / ticks, weight / (ticks * (ticks + 1) / 2)):
            by_action = mean[:, None, None, :, None] * np.diag(1 / self._effort)[:, None]
            parts.append(np.broadcast_to(by_action, (*whole[:-3], acted, count, acted)))
        followed = np.abs(self(forecast, actions, seen)) < REACH
        derivatives: Array = np.concatenate(parts, axis=-3) * followed[..., None, None]
        return derivatives


def _scale(known: InputRange) -> tuple[Array, Array]:
    """Return middle and half width (d,) of a range; what is unknown is 0, a width never nothing."""
    low, high = (np.where(np.isfinite(one), one, 0.0) for one in known)
    half = np.maximum((high - low) / 2, LEAST_HALF_WIDTH * np.maximum(np.abs(low), np.abs(high)))
    return (low + high) / 2, np.where(half > 0, half, 1.0)
