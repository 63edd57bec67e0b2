"""Prediction bands that keep their promise when the robot is no longer what it was.

Every miss widens a band and every hit narrows it, such that only at the promised share of hits
the two balance: over a long run the share is right whatever the errors are (Gibbs and Candès 2021;
as here, on the logarithm of the width, a quantile tracker of Angelopoulos, Candès and Tibshirani
2023).
"""

from __future__ import annotations

import numpy as np

from rffpsr_ros.models.bands import Bands
from rffpsr_ros.numerics.arrays import Array

STEP = 0.1
"""How much a miss changes the logarithm of a width, over the share of hits."""

LIMIT = 1000.0
"""How many times wider or narrower than in training a band may become."""


class AdaptiveBands:
    """Bands of one coverage, adapted to the errors met.

    Parameters
    ----------
    bands
        Where the widths start.
    coverage
        The share of observations that the bands shall cover.
    horizon
        Ticks ahead, as of the forecasts.
    """

    def __init__(self, bands: Bands, coverage: float, horizon: int) -> None:
        self.coverage = coverage
        self._width = bands.half_width(coverage, horizon)
        self._log_factor = np.zeros_like(self._width)
        self.half_width: Array = self._width
        """Half-widths (H, d_o) now, in the observations' units; NaN where none are known."""

    def score(self, errors: Array) -> None:
        """Take the errors (h, d_o) of one forecast's first h <= H ticks.

        NaN, where nothing was observed, changes nothing.
        """
        width, log_factor = self.half_width[: len(errors)], self._log_factor[: len(errors)]
        missed = np.abs(errors) > width
        step = np.where(np.isfinite(errors), STEP * (missed - (1 - self.coverage)), 0.0)
        log_factor[:] = np.clip(log_factor + step, -np.log(LIMIT), np.log(LIMIT))
        self.half_width = self._width * np.exp(self._log_factor)
