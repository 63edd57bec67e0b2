"""Whether the robot is still the one that was learned: live errors against those of training.

Errors of a good model have long tails: most are tiny, and a few make up the mean. A mean over some
tens of forecasts therefore says little: it exceeded four times that of training at every second
start with the very robot learned from. So medians are compared, and the bands of the model file say
how training's errors were spread. Each observation is judged by itself, as a joint may wear alone.
Only forecasts count that say something of the robot: made once the state had settled, several ticks
apart, of observations in the range trained on.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.arrays import Array


class Window(NamedTuple):
    """Forecasts that are judged together, and what is too much of them."""

    size: int
    """The newest so many; of fewer nothing is concluded."""
    factor: float
    """Times the limit of the typical squared error over that of training."""
    misses: float
    """The share of errors outside the band, in the median of forecasts."""


COVERAGE = 0.9
"""The share of training's errors within the band that typical errors are held against."""

ENOUGH = 30
"""Forecasts of the longest window."""

WINDOWS = (Window(ENOUGH, 1.0, 0.25), Window(10, 4.0, 0.7))
"""A change for the worse is seen in the first; a large one sooner, in the second. A forecast like
those of training misses a tenth of the band; the median of forecasts, if the robot is the same,
hardly any."""

MOSTLY_SECONDS = 10.0
"""That the robot works outside the range trained on is concluded of so long at least: a swing a
little beyond it is soon over."""

APART, APART_SECONDS = 10, 0.1
"""Ticks between forecasts that are judged, and seconds: errors of neighbouring ticks are much the
same, and those of a robot at one end of its swing, however many ticks that takes."""

CALMER = 0.5
"""An alarm ends when the ratio, or the share of misses, is below so much of what began it."""


class DriftAlarm(NamedTuple):
    """What began an alarm: the observation that is forecast worst, and where."""

    observation: int
    """Its column."""
    horizon: int
    """Ticks ahead, from 1, where it is forecast worst; without bands, up to where."""
    ratio: float
    """The typical squared error there over that of training."""
    misses: float | None
    """The share of the forecasts judged whose error left the band there; None without bands."""


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
    alarm
        What began the alarm that there is now, see `drifted`; None: there is none.
    """

    def __init__(
        self, model: PredictiveModel[Any], horizon: int, reference: Array | None = None
    ) -> None:
        self._known = model.known_range.observations
        self._horizon = horizon
        self._typical: Array | None = None
        self._wide: Array | None = None
        if model.bands is not None:
            self._typical = _positive(model.bands.half_width(0.5, horizon))
            self._wide = _positive(model.bands.half_width(COVERAGE, horizon))
        elif reference is not None:
            self._typical = np.sqrt(_positive(reference[:horizon]))
        self._judged: deque[tuple[Array, Array]] = deque(maxlen=ENOUGH)
        period = model.signature.period
        self._apart = max(APART, round(APART_SECONDS / period))
        mostly = round(MOSTLY_SECONDS / (max(self._apart, horizon) * period))
        self.outside: deque[bool] = deque(maxlen=max(ENOUGH, mostly))
        self._since = self._apart
        self.alarm: DriftAlarm | None = None

    def take(self, errors: Array, observations: Array) -> None:
        """Take the errors (H, d_o) of a forecast from a settled state.

        ``observations`` (H + 1, d_o) are what was seen from its origin on.
        """
        self._since += len(errors)
        if self._since < self._apart:
            return
        self._since = 0
        known = self._known
        beyond = known is not None and known.left_by(observations)
        self.outside.append(beyond)
        if not beyond:
            self._judge(np.abs(errors))

    def _judge(self, errors: Array) -> None:
        if self._typical is None:
            return
        relative = errors / self._typical
        if self._wide is None:
            # Of a mean square alone it is known by how much errors exceed it together.
            relative = np.sqrt(_mean(relative**2))[None]
            missed = np.where(np.isfinite(relative), 1.0, np.nan)
        else:
            known = np.isfinite(errors) & np.isfinite(self._wide)
            missed = np.where(known, errors > self._wide, np.nan)
        if np.isfinite(relative * missed).any():
            self._judged.append((relative, missed))

    @property
    def ratios(self) -> Array | None:
        """Typical squared errors (d_o,) over those of training; None while too few were judged."""
        if len(self._judged) < ENOUGH:
            return None
        return self._typical_squares(ENOUGH)[0]

    @property
    def ratio(self) -> float | None:
        """The typical squared error of all observations over that of training, as `ratios`."""
        if len(self._judged) < ENOUGH:
            return None
        return float(_median(self._newest(ENOUGH)[0].reshape(-1)) ** 2)

    @property
    def far(self) -> bool:
        """Whether most forecasts lately were of observations outside the range trained on."""
        return len(self.outside) == self.outside.maxlen and 2 * sum(self.outside) > len(
            self.outside
        )

    def drifted(self, limit: float) -> bool:
        """Tell whether an observation's typical squared error exceeds ``limit`` times training's.

        Its errors must also leave training's band far more often than in training. Once true of an
        observation it stays so, and `alarm` what it was, until both are well below what made it
        true. For the others the full limits hold meanwhile: of many, one is always a little high.
        """
        alarm, self.alarm = self.alarm, None
        for window in WINDOWS:
            if len(self._judged) < window.size:
                continue
            ratios, misses = self._typical_squares(window.size)
            calm = np.ones_like(ratios)
            if alarm is not None:
                calm[alarm.observation] = CALMER
            too_much = (ratios > calm * window.factor * limit) & (misses > calm * window.misses)
            if alarm is not None and too_much[alarm.observation]:
                self.alarm = alarm
                return True
            if too_much.any() and self.alarm is None:
                self.alarm = self._worst(ratios, too_much, window)
        return self.alarm is not None

    def _typical_squares(self, size: int) -> tuple[Array, Array]:
        """Return the newest ``size`` forecasts' typical squares and shares of misses (d_o,)."""
        relative, missed = self._newest(size)
        typical = _median(relative.reshape(-1, relative.shape[-1]))
        shares = _mean(np.moveaxis(missed, 1, 0))
        return typical**2, _median(shares)

    def _newest(self, size: int) -> tuple[Array, Array]:
        newest = list(self._judged)[-size:]
        return np.stack([one for one, _ in newest]), np.stack([one for _, one in newest])

    def _worst(self, ratios: Array, too_much: Array, window: Window) -> DriftAlarm:
        column = int(np.argmax(np.where(too_much, ratios, -np.inf)))
        relative, missed = (rows[..., column] for rows in self._newest(window.size))
        by_horizon = _median(relative) ** 2
        row = int(np.nanargmax(by_horizon))
        if self._wide is None:
            return DriftAlarm(column, self._horizon, float(by_horizon[row]), None)
        return DriftAlarm(column, row + 1, float(by_horizon[row]), float(_mean(missed)[row]))


def _positive(values: Array) -> Array:
    """Return values, NaN in place of those that are not positive."""
    return np.where(values > 0, values, np.nan)


def _median(values: Array) -> Array:
    """Return the median (...) of what is no NaN in values (n, ...); NaN where there is nothing."""
    ordered = np.sort(values, axis=0)  # NaN last
    count = np.isfinite(values).sum(axis=0)
    middle = np.stack([np.maximum(count - 1, 0) // 2, np.minimum(count // 2, len(values) - 1)])
    median: Array = np.take_along_axis(ordered, middle, axis=0).mean(axis=0)
    return median


def _mean(values: Array) -> Array:
    """Return the mean (...) of what is no NaN in values (n, ...); NaN where there is nothing."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    mean: Array = np.where(known, values, 0.0).sum(axis=0) / np.where(count, count, np.nan)
    return mean
