"""What speaks against control in what is seen: silence, values outside, forecasts that fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rffpsr_ros.forecasting.live_error import training_error
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.usable import usable
from rffpsr_ros.numerics.arrays import Array

COVERAGE = 0.99
"""Of the band that errors one tick ahead are measured in."""
NORMAL = 2.58
"""Half that band in standard deviations, where a model brings no bands."""
LEAST_BAND = 1e-4
"""Of the trained range: what is forecast to so many digits need not be seen to more."""


@dataclass(frozen=True)
class Tolerance:
    """What is tolerated.

    Attributes
    ----------
    stale_ticks
        Ticks for which an observation may be missing.
    range_margin
        How many widths of its trained range an observation may lie outside of it; 0: any.
    error_limit
        How many half-widths of the 99 % band an observation may be off its forecast one tick ahead;
        0: any.
    settle_ticks
        Ticks that must have been followed.
    """

    stale_ticks: float = 2.0
    range_margin: float = 0.2
    error_limit: float = 10.0
    settle_ticks: int = 20


class ObservationMonitor:
    """Looks at every tick of a segment.

    Parameters
    ----------
    model
        As it runs.
    tolerance
        See there.

    Attributes
    ----------
    error_ratio
        The newest error one tick ahead, of the observation that is farthest off, in half-widths.
    """

    def __init__(self, model: PredictiveModel[Any], tolerance: Tolerance) -> None:
        self.model = model
        self._names = model.signature.observation_names
        self._tolerance = tolerance
        self._settled = max(tolerance.settle_ticks, model.history_length)
        known = model.trained_range.observations
        width = np.zeros(len(self._names)) if known is None else known.high - known.low
        self._band = _band(model, width)
        self._low = self._high = None
        if (known := model.known_range.observations) is not None and tolerance.range_margin:
            self._low = known.low - tolerance.range_margin * width
            self._high = known.high + tolerance.range_margin * width
        self.begin()

    def begin(self) -> None:
        """Forget what was seen: no segment is under way."""
        self._ticks = 0
        self._unseen = np.zeros(len(self._names), dtype=int)
        self._before: Any = None
        self._newest: Array | None = None
        self._against: list[str] = ["no observations are being followed yet"]
        self.error_ratio = 0.0

    def tick(self, state: Any, action: Array, observation: Array) -> None:
        """Take a tick, and the state after it; None: it is not known."""
        self._ticks += 1
        seen = np.isfinite(observation)
        self._unseen = np.where(seen, 0, self._unseen + 1)
        self._against = [
            *self._missing(),
            *self._outside(observation),
            *self._wrong(action, observation, seen),
        ]
        if self._ticks < self._settled:
            self._against.append("the belief has not settled yet")
        self._before, self._newest = state, observation

    @property
    def against(self) -> list[str]:
        """Sentences on all that speaks against control now."""
        return list(self._against)

    def _missing(self) -> list[str]:
        late = self._unseen >= self._tolerance.stale_ticks
        if not late.any():
            return []
        return [f"'{self._names[int(late.argmax())]}' is no longer observed"]

    def _outside(self, observation: Array) -> list[str]:
        if self._low is None or self._high is None:
            return []
        beyond = (observation < self._low) | (observation > self._high)
        if not beyond.any():
            return []
        name = self._names[int(beyond.argmax())]
        return [f"'{name}' is outside of the range trained on (range_margin)"]

    def _wrong(self, action: Array, observation: Array, seen: Array) -> list[str]:
        """Return what is wrong with the forecast that was for now, given the action that acted."""
        limit, band = self._tolerance.error_limit, self._band
        if self._before is None or band is None or self._ticks <= self._settled:
            return []
        expected = self.model.predict(self._before, action[None])[0]
        if not usable(expected):
            return ["the forecast is no finite number"]
        ratios = np.where(seen, np.abs(observation - expected), 0.0) / band
        self.error_ratio = float(ratios.max())
        name = self._names[int(ratios.argmax())]
        if self._frozen(expected, observation, band):
            return ["observations stay the very same while they should change"]
        if not limit or self.error_ratio <= limit:
            return []
        return [f"'{name}' is far off its forecast (error_limit)"]

    def _frozen(self, expected: Array, observation: Array, band: Array) -> bool:
        """Tell whether nothing at all has changed where it clearly should have."""
        newest = self._newest
        if newest is None or not np.array_equal(newest, observation):
            return False
        return bool((np.abs(expected - newest) > 2 * band).any())


def _band(model: PredictiveModel[Any], width: Array) -> Array | None:
    """Return half-widths (d_o,) of the 99 % band one tick ahead; None if nobody measured them."""
    half: Array | None = None
    if model.bands is not None:
        half = model.bands.half_width(COVERAGE, 1)[0]
    elif (error := training_error(model)) is not None:
        half = NORMAL * np.sqrt(error[0])
    if half is None:
        return None
    return np.where(np.isnan(half), np.inf, np.maximum(half, np.maximum(LEAST_BAND * width, 1e-12)))
