"""Derivatives along a horizon: the chain rule over ticks whose outcome is fed back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array


class TickDerivatives(NamedTuple):
    """Derivatives of every tick of N forecasts of H ticks, by what enters the tick.

    ``by_row`` is that by a row of whole ticks (action, observation) before the tick, oldest first.
    G filter steps follow the first ticks: H - 1, or H if what follows the last matters; a model
    without a state has p = 0.
    """

    by_belief: Array  # of o, by q (N, H, d_o, p)
    by_row: Array  # of o (N, H, d_o, w)
    by_action: Array  # of o, by the tick's own action (N, H, d_o, d_a)
    inside: Array  # (N, H, d_o): 0 where o is held at a bound, else 1
    next_by_belief: Array  # of the next q (N, G, p, p)
    next_by_action: Array  # (N, G, p, d_a)
    next_by_observation: Array  # (N, G, p, d_o)


class Tangents(NamedTuple):
    """How N forecasts, and what follows them, depend on K actions before and theirs, flattened."""

    rows: Array  # of the ticks (action, observation): m before, then H (N, m + H, d, K + H d_a)
    belief: Array  # of q after the last tick (N, p, K + H d_a)


def forwards(
    ticks: TickDerivatives, belief: Array | None = None, rows: Array | None = None
) -> Tangents:
    """Return how forecasts depend on their actions.

    Where what comes before the first tick depends on K actions more, ``belief`` (N, p, K) and
    ``rows`` (N, m, d_a + d_o, K) say how; these come before all others.
    """
    count, horizon, observed, acted = ticks.by_action.shape
    earlier = 0 if belief is None else belief.shape[-1]
    columns, total = acted + observed, earlier + horizon * acted
    before = 0 if rows is None else rows.shape[1]
    trail = np.zeros((count, before + horizon, columns, total))
    if rows is not None:
        trail[:, :before, :, :earlier] = rows
    each = np.arange(acted)
    for h in range(horizon):
        trail[:, before + h, each, earlier + h * acted + each] = 1.0
    state = np.zeros((count, ticks.by_belief.shape[-1], total))
    if belief is not None:
        state[..., :earlier] = belief
    reach = ticks.by_row.shape[-1] // columns
    for h in range(horizon):
        known, now = np.s_[..., : earlier + h * acted], earlier + h * acted
        own, through = np.s_[..., now : now + acted], np.s_[..., : now + acted]
        back = min(reach, before + h)
        rows_before = trail[:, before + h - back : before + h].reshape(count, -1, total)
        change = trail[:, before + h, acted:]
        change[known] = ticks.by_belief[:, h] @ state[known]
        if back:
            change[known] += ticks.by_row[:, h, :, -back * columns :] @ rows_before[known]
        change[own] = ticks.by_action[:, h]
        change *= ticks.inside[:, h, :, None]
        if h == ticks.next_by_belief.shape[1]:
            break
        following = ticks.next_by_observation[:, h] @ change[through]
        following[known] += ticks.next_by_belief[:, h] @ state[known]
        following[own] += ticks.next_by_action[:, h]
        state[through] = following
    return Tangents(trail, state)


def backwards(ticks: TickDerivatives, weights: Array) -> Array:
    """Return the gradient (N, H, d_a) of the sum of forecasts times weights (N, H, d_o)."""
    count, horizon, observed, acted = ticks.by_action.shape
    columns = acted + observed
    gradient = np.zeros((count, horizon, columns))
    gradient[..., acted:] = weights
    at_belief = np.zeros((count, 1, ticks.by_belief.shape[-1]))
    reach = ticks.by_row.shape[-1] // columns
    for h in reversed(range(horizon)):
        at_value, step = gradient[:, h, None, acted:], h < ticks.next_by_belief.shape[1]
        if step:
            at_value = at_value + at_belief @ ticks.next_by_observation[:, h]
            gradient[:, h, :acted] += (at_belief @ ticks.next_by_action[:, h])[:, 0]
            at_belief = at_belief @ ticks.next_by_belief[:, h]
        at_value = at_value * ticks.inside[:, h, None]
        gradient[:, h, :acted] += (at_value @ ticks.by_action[:, h])[:, 0]
        back = min(reach, h)
        if back:
            at_rows = at_value @ ticks.by_row[:, h, :, -back * columns :]
            gradient[:, h - back : h] += at_rows.reshape(count, back, columns)
        at_belief = at_belief + at_value @ ticks.by_belief[:, h]
    return gradient[..., :acted]
