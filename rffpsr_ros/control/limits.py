"""What commands may be: within bounds, and no farther from the one before than allowed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array


class ActionLimits(NamedTuple):
    """Limits of actions, each (d_a,)."""

    low: Array
    high: Array
    step: Array
    """The largest change from one tick to the next; infinite: any."""

    @property
    def half_range(self) -> Array:
        """Half the room there is (d_a,); 1 where there is none."""
        half = (self.high - self.low) / 2
        return np.where(half > 0, half, 1.0)

    def hold(self, action: Array, before: Array) -> Array:
        """Return the allowed action (..., d_a) nearest to one, given that ``before`` it.

        The bounds hold in any case, even if the action before was beyond them. What is no number is
        replaced by the action before.
        """
        wanted = np.where(np.isnan(action), before, action)
        near = np.clip(wanted, before - self.step, before + self.step)
        return np.asarray(np.clip(near, self.low, self.high))

    def hold_all(self, plan: Array, before: Array) -> Array:
        """Return plans (..., n, d_a) of which every action is allowed after the one before it."""
        if not np.isfinite(self.step).any():
            return self.hold(plan, np.broadcast_to(before, plan.shape))
        held = np.empty_like(plan)
        for row in range(plan.shape[-2]):
            before = held[..., row, :] = self.hold(plan[..., row, :], before)
        return held
