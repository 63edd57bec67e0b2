"""How far a member's forecast may lie outside those of the others.

Where a robot goes further than it was recorded, one nonlinear member may run away long before its
forecasts leave the range of what was recorded. It cannot tell, but the others can: what lies much
further outside of all theirs than it ever did is held back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds

FURTHER = 4
"""Who has more than half of the weight may lie so many times as far outside as its reach."""

_FAR = 1e300
"""Where those stand that have no weight: no forecast is held back by them."""


class Reach(NamedTuple):
    """How far each of M members may go, by horizon and observation."""

    distance: Annotated[Array, holds("H", "d_o", "M", least=0, infinite=True)]
    """Beyond the least and the largest forecast of the others that have a weight there; infinite:
    nothing holds it."""

    def of(self, places: Sequence[int] | Array) -> Reach:
        """Return the reach of the members at places."""
        return Reach(self.distance[..., list(places)])

    def over(self, horizons: int, others: int = 0) -> Reach:
        """Return the reach over more horizons, and of others after these members.

        Nothing holds what is new.
        """
        known, observed, members = self.distance.shape
        distance = np.full((horizons, observed, members + others), np.inf)
        distance[:known, :, :members] = self.distance
        return Reach(distance)

    def beside(self, weights: Array) -> Array:
        """Return the distances (H, d_o, M), infinite where others may not hold a member back.

        Of two that disagree nobody can tell which one is far outside. Who has more than half of the
        weight may know what the others do not, but not as far as the absurd.
        """
        few = (weights > 0).sum(axis=-1, keepdims=True) < 3
        further = np.where(weights > 0.5, FURTHER * self.distance, self.distance)
        return np.where(few, np.inf, further)


class HeldBack(NamedTuple):
    """Forecasts within reach of each other."""

    forecasts: Array
    """(M, ..., H, d_o)"""
    follows: Array
    """(M, ..., H, d_o): with which member's forecast each of them moves, by its place: its own, or
    that of the one that holds it back."""


def held_back(forecasts: Array, weights: Array, distance: Array) -> HeldBack:
    """Return forecasts (M, ..., H, d_o) within a distance of the others that have a weight.

    Weights and distances are as many, or have axes of size one. Where there are no two others
    the distance has to be infinite.
    """
    taking = np.broadcast_to(weights > 0, forecasts.shape)
    high, of_high = _largest_of_others(np.where(taking, forecasts, -_FAR))
    low, of_low = _largest_of_others(np.where(taking, -forecasts, -_FAR))
    above, below = forecasts > high + distance, -forecasts > low + distance
    held = np.where(above, high + distance, np.where(below, -(low + distance), forecasts))
    own = np.arange(len(forecasts)).reshape(-1, *(1,) * (forecasts.ndim - 1))
    return HeldBack(held, np.where(above, of_high, np.where(below, of_low, own)))


def _largest_of_others(values: Array) -> tuple[Array, Array]:
    """Return for each of values (M, ...) the largest of the others, and its place."""
    first = values.argmax(axis=0)
    others = values.copy()
    np.put_along_axis(others, first[None], -2 * _FAR, axis=0)
    second = others.argmax(axis=0)
    own = np.arange(len(values)).reshape(-1, *(1,) * (values.ndim - 1))
    place = np.where(own == first, second, first)
    return np.take_along_axis(values, place, axis=0), place
