"""A quadratic programme over plans: bounds on actions and on their changes.

Solved by the alternating direction method of multipliers as OSQP does (Stellato et al. 2020):
one factorisation, then products. What comes out meets the limits to some digits only; whoever
takes it holds it to them.
"""

from __future__ import annotations

import numpy as np

from rffpsr_ros.control.plan_cost import differences
from rffpsr_ros.numerics.arrays import Array

ROUNDS = 60
OVER_RELAXATION = 1.6
PENALTY = 0.3
"""In mean second derivatives: how hard limits pull; for plans it hardly matters."""
TINY = 1e-9


def least_within(
    second: Array, gradient: Array, low: Array, high: Array, step: Array, before: Array
) -> Array:
    """Return the plan v (n, d_a) that makes v' second v / 2 + gradient' v least, within limits.

    Bounds are (n, d_a) or (d_a,), the largest step and the action before the plan's first (d_a,).
    """
    columns = len(before)
    count = len(gradient) // columns
    lower = np.broadcast_to(low, (count, columns)).ravel()
    upper = np.broadcast_to(high, (count, columns)).ravel()
    scale = max(float(np.trace(second)) / len(gradient), TINY)
    own = PENALTY * scale
    limited = bool(np.isfinite(step).any())
    kernel = second + (own + TINY * scale) * np.eye(len(gradient))
    if limited:
        change = differences(count, columns)
        start = np.zeros((count, columns))
        start[0] = before
        kernel = kernel + own * change.T @ change
        least = np.tile(-step, count) + start.ravel()
        most = np.tile(step, count) + start.ravel()
    inverse = np.linalg.inv(kernel)
    free = np.linalg.solve(second + TINY * scale * np.eye(len(gradient)), -gradient)
    if not limited and ((free >= lower) & (free <= upper)).all():
        return np.asarray(free.reshape(count, columns))
    plan = np.clip(free, lower, upper)
    inside, pull = plan.copy(), np.zeros_like(plan)
    if limited:
        moved = np.clip(change @ plan, least, most)
        drag = np.zeros_like(moved)
    for _ in range(ROUNDS):
        target = own * inside - pull - gradient
        if limited:
            target = target + change.T @ (own * moved - drag)
        plan = inverse @ target
        eased = OVER_RELAXATION * plan + (1 - OVER_RELAXATION) * inside
        inside = np.clip(eased + pull / own, lower, upper)
        pull = pull + own * (eased - inside)
        if limited:
            eased = OVER_RELAXATION * (change @ plan) + (1 - OVER_RELAXATION) * moved
            moved = np.clip(eased + drag / own, least, most)
            drag = drag + own * (eased - moved)
    return np.asarray(inside.reshape(count, columns))
