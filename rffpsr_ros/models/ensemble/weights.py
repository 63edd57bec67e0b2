"""Who takes part in an ensemble's forecasts of some length, and with what weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array


class MemberWeights(NamedTuple):
    """Who takes part in forecasts of some length."""

    places: tuple[int, ...]
    """Of the members."""
    weights: Array
    """(members that take part, H, d_o)"""


class WeightsByLength:
    """Weights (H, d_o, M) by horizon, observation and member; beyond H those of the last one hold.

    Members of the places ``always`` take part whether or not they have a weight.
    """

    def __init__(self, weights: Array, always: Sequence[int]) -> None:
        of_members = np.moveaxis(weights, -1, 0)
        chosen: dict[tuple[int, ...], Array] = {}
        self._known = []
        for steps in range(1, len(weights) + 1):
            needed: Array = np.array(of_members[:, :steps].any(axis=(1, 2)))
            needed[list(always)] = True
            places = tuple(np.flatnonzero(needed).tolist())
            if places not in chosen:
                chosen[places] = of_members[list(places)]
            self._known.append(MemberWeights(places, chosen[places][:, :steps]))

    def of(self, horizon: int) -> MemberWeights:
        """Return who is needed for so many steps."""
        known = len(self._known)
        if 0 < horizon <= known:
            return self._known[horizon - 1]
        places, weights = self._known[-1]
        rows = np.minimum(np.arange(horizon), known - 1)
        return MemberWeights(places, np.take(weights, rows, axis=1))
