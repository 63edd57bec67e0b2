"""The blend of an ensemble's forecasts, as numba compiles it; see `EnsembleModel.predict`."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.compiling import in_place, part


@part
def hold_back(values: Array, weights: Array, distance: Array, h: int, o: int) -> None:
    """Hold forecasts (C,) back that lie further than ``distance`` (C, H, d_o) outside the others.

    Others are those that have a weight.
    """
    highest, high, lowest, low = -np.inf, -np.inf, np.inf, np.inf  # with the next ones
    for c in range(len(values)):
        if weights[c, h, o] > 0:
            value = values[c]
            if value > highest:
                highest, high = value, highest
            elif value > high:
                high = value
            if value < lowest:
                lowest, low = value, lowest
            elif value < low:
                low = value
    for c in range(len(values)):
        if weights[c, h, o] > 0:
            value, most = values[c], distance[c, h, o]
            above = (high if value == highest else highest) + most
            below = (low if value == lowest else lowest) - most
            values[c] = above if value > above else below if value < below else value


@in_place
def blend(
    own: Array, weights: Array, distance: Array, each: Array, fallback: int, blended: Array
) -> None:
    """Write the weighted sum (N, H, d_o) of forecasts (C, N, H, d_o), weights (C, H, d_o).

    ``own`` (4, d_o) are the limits of forecasts and the bounds of the sum. Where a forecast is
    beyond the limits the ``fallback``'s counts instead, if there is one. What lies further than its
    ``distance`` (C, H, d_o) outside the others is held back, if there are distances.
    """
    values = np.empty(len(each))
    for n in range(each.shape[1]):
        for h in range(each.shape[2]):
            for o in range(each.shape[3]):
                for c in range(len(each)):
                    value = each[c, n, h, o]
                    if fallback >= 0 and not own[0, o] <= value <= own[1, o]:
                        value = each[fallback, n, h, o]
                    values[c] = value
                if len(distance):
                    hold_back(values, weights, distance, h, o)
                total = 0.0
                for c in range(len(each)):
                    total += weights[c, h, o] * values[c]
                low, high = own[2, o], own[3, o]
                blended[n, h, o] = low if total < low else high if total > high else total
