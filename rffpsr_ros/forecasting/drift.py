"""Whether the robot is still the one that was learned: live errors against those of training.

Errors of a good model have long tails: most are tiny, and a few make up the mean. A mean over some
tens of forecasts therefore says little: it exceeded four times that of training at every second
start with the very robot learned from. So medians are compared, and the bands of the model file say
how training's errors were spread. Only forecasts count that say something of the robot: made once
the state had settled, several ticks apart, of observations in the range trained on.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.arrays import Array

ENOUGH = 30
"""Forecasts that are judged together, the newest; below so many nothing is concluded."""

APART = 10
"""Ticks between forecasts that are judged: errors of neighbouring ticks are much the same."""

COVERAGE = 0.9
"""The share of training's errors within the band that typical errors are held against."""

MISSES = 0.15
"""A forecast like those of training misses a tenth of that band; the median of forecasts, if the
robot is the same, hardly any. Of so large a share on it tells of another robot."""

CALMER = 0.5
"""An alarm ends when the ratio, or the share of misses, is below so much of what began it."""


class DriftTest:
    """Judges the newest forecasts against what the model file tells of training's errors.

    Parameters
    ----------
    model
        Its bands say how errors were spread in training; without bands, only the mean square in its
        record is known, and ``reference`` is it.
    horizon
        Ticks of the forecasts that are judged.
    reference
        Mean squared errors (H, d_o) in training; None: unknown.

    Attributes
    ----------
    outside
        Of the newest forecasts, which were of observations outside the range trained on.
    """

    def __init__(
        self, model: PredictiveModel[Any], horizon: int, reference: Array | None = None
    ) -> None:
        self._known = model.trained_range.observations
        self._typical = self._wide = self._mean = None
        if model.bands is not None:
            self._typical = _positive(model.bands.half_width(0.5, horizon))
            self._wide = _positive(model.bands.half_width(COVERAGE, horizon))
        elif reference is not None:
            self._mean = _positive(reference[:horizon])
        self._judged: deque[tuple[Array, float]] = deque(maxlen=ENOUGH)
        self.outside: deque[bool] = deque(maxlen=ENOUGH)
        self._since = APART
        self._alarmed = False

    def take(self, errors: Array, observations: Array) -> None:
        """Take the errors (H, d_o) of a forecast from a settled state.

        ``observations`` (H + 1, d_o) are what was seen from its origin on.
        """
        self._since += len(errors)
        if self._since < APART:
            return
        self._since = 0
        known = self._known
        beyond = known is not None and bool(
            ((observations < known.low) | (observations > known.high)).any()
        )
        self.outside.append(beyond)
        if not beyond:
            self._judge(np.abs(errors))

    def _judge(self, errors: Array) -> None:
        if self._typical is not None and self._wide is not None:
            relative = errors / self._typical
            misses = (errors > self._wide)[np.isfinite(errors) & np.isfinite(self._wide)]
            kept = relative[np.isfinite(relative)]
            if kept.size and misses.size:
                self._judged.append((kept, float(misses.mean())))
        elif self._mean is not None:
            squares = (errors**2 / self._mean)[np.isfinite(errors) & np.isfinite(self._mean)]
            if squares.size:
                self._judged.append((np.sqrt(squares.mean(keepdims=True)), 1.0))

    @property
    def ratio(self) -> float | None:
        """The typical squared error over that of training; None while too few were judged."""
        if len(self._judged) < ENOUGH:
            return None
        return float(np.median(np.concatenate([relative for relative, _ in self._judged])) ** 2)

    @property
    def far(self) -> bool:
        """Whether most forecasts lately were of observations outside the range trained on."""
        return len(self.outside) == ENOUGH and 2 * sum(self.outside) > ENOUGH

    def drifted(self, limit: float) -> bool:
        """Tell whether the typical squared error exceeds ``limit`` times that of training.

        It must also leave training's band far more often than in training. Once true it stays so
        until both are well below what made it true.
        """
        ratio = self.ratio
        if ratio is None:
            return self._alarmed
        misses = float(np.median([share for _, share in self._judged]))
        calm = CALMER if self._alarmed else 1.0
        self._alarmed = ratio > calm * limit and misses > calm * MISSES
        return self._alarmed


def _positive(values: Array) -> Array:
    """Return values, NaN in place of those that are not positive."""
    return np.where(values > 0, values, np.nan)
