"""Prediction bands: from forecast errors on recordings that the model was not trained on.

Split conformal prediction (Vovk, Gammerman and Shafer 2005; Lei et al. 2018), with the absolute
error as score, by horizon and observation. A band covers its share of new data if these are
exchangeable with the recordings it was made from: the same robot, load, surroundings and policy.
Ticks of one recording resemble each other, so few recordings make a band that is itself uncertain.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds

COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
"""Coverages for which widths are kept; those between are interpolated."""


class Bands(NamedTuple):
    """Half-widths of bands around forecasts."""

    coverages: Annotated[Array, holds("L", least=0, most=1, increasing=True)]
    """Share of the observations that a band covers."""
    widths: Annotated[Array, holds("L", "H", "d_o", least=0, missing=True)]
    """Half-widths in the observations' units; NaN where nothing was scored."""

    @property
    def horizon(self) -> int:
        """Return for how many ticks ahead there are bands."""
        return int(self.widths.shape[1])

    def half_width(self, coverage: float, horizon: int) -> Array:
        """Return the half-widths (horizon, d_o); NaN beyond the horizon they were made for.

        Raises
        ------
        InputError
            If the coverage lies outside of those that are kept.
        """
        low, high = self.coverages[0], self.coverages[-1]
        if not low <= coverage <= high:
            raise InputError(f"coverage is {coverage:g}; bands are known from {low:g} to {high:g}")
        above = int(np.clip(np.searchsorted(self.coverages, coverage), 1, len(self.coverages) - 1))
        left, right = self.coverages[above - 1], self.coverages[above]
        share = (coverage - left) / (right - left)
        known = (1 - share) * self.widths[above - 1] + share * self.widths[above]
        width = np.full((horizon, self.widths.shape[2]), np.nan)
        width[: self.horizon] = known[:horizon]
        return width


def conformal_bands(residuals: Array) -> Bands:
    """Return the bands that errors (n, H, d_o) on unseen data make; NaN errors do not count.

    The half-width for coverage c is the ceil((n + 1) c)-th smallest absolute error, which covers
    a new exchangeable error with probability c at least; with too few errors it is the largest.
    """
    count = np.isfinite(residuals).sum(axis=0)
    ordered = np.sort(np.abs(residuals), axis=0)  # NaN last
    widths = []
    for coverage in COVERAGES:
        # What floating point adds to a whole number must not make it the next one.
        rank = np.ceil((count + 1) * coverage - 1e-9).astype(int)
        place = np.clip(rank, 1, np.maximum(count, 1)) - 1
        widths.append(np.take_along_axis(ordered, place[None], axis=0)[0])
    return Bands(np.array(COVERAGES), np.stack(widths))
