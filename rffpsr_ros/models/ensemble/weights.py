"""Who takes part in an ensemble's forecasts of some length, and with what weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.models.ensemble.reach import Reach
from rffpsr_ros.numerics.arrays import Array


class MemberWeights(NamedTuple):
    """Who takes part in forecasts of some length."""

    places: tuple[int, ...]
    """Of the members."""
    weights: Array
    """(members that take part, H, d_o)"""
    distance: Array | None
    """Their `Reach`, as the weights; None: nothing holds them."""


class WeightsByLength:
    """Weights (H, d_o, M) by horizon, observation and member; beyond H those of the last one hold.

    Members of the places ``always`` take part whether or not they have a weight. Beyond H nothing
    limits their reach.
    """

    def __init__(self, weights: Array, always: Sequence[int], reach: Reach | None = None) -> None:
        of_members = np.moveaxis(weights, -1, 0)
        distances = None if reach is None else np.moveaxis(reach.beside(weights), -1, 0)
        chosen: dict[tuple[int, ...], Array] = {}
        self._known = []
        for steps in range(1, len(weights) + 1):
            needed: Array = np.array(of_members[:, :steps].any(axis=(1, 2)))
            needed[list(always)] = True
            places = tuple(np.flatnonzero(needed).tolist())
            if places not in chosen:
                chosen[places] = of_members[list(places)]
            own = None if distances is None else distances[list(places), :steps]
            self._known.append(MemberWeights(places, chosen[places][:, :steps], own))

    def of(self, horizon: int) -> MemberWeights:
        """Return who is needed for so many steps."""
        known = len(self._known)
        if 0 < horizon <= known:
            return self._known[horizon - 1]
        places, weights, distance = self._known[-1]
        rows = np.minimum(np.arange(horizon), known - 1)
        if distance is not None:
            distance = np.take(distance, rows, axis=1)
            distance[:, known:] = np.inf
        return MemberWeights(places, np.take(weights, rows, axis=1), distance)
