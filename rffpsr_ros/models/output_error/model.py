"""The output-error model: a recurrence on a short window, learned by its simulation error."""

from __future__ import annotations

from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.output_error.recurrence import Recurrence, simulate
from rffpsr_ros.models.tick_window import TickWindow, TickWindowModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds, sizes


class OutputErrorParts(NamedTuple):
    """A recurrence on a short window, in standard units.

    o_t = o_{t-1} + W [1, w, z(w)],   w = [last m (o, a), a_t]
    """

    recurrence: Recurrence
    """z (r,), the range of w within which z sees it, and the bounds of what is predicted."""
    weights: Annotated[Array, holds("1+m*(d_o+d_a)+d_a+r", "d_o")]
    """W"""
    start: Annotated[Array, holds("d_o+d_a")]
    """The tick assumed for the past at an episode's start."""
    observation_scaling: Annotated[Scaling, sizes(d="d_o")]
    """What makes o (d_o,) standard."""
    action_scaling: Annotated[Scaling, sizes(d="d_a")]
    """What makes a (d_a,) standard."""


class OutputErrorModel(TickWindowModel):
    """Forecasts by feeding predictions back, from the first tick on; see `OutputError`."""

    kind: ClassVar[str] = "output_error"
    parts_class = OutputErrorParts
    parts: OutputErrorParts

    def _prepare(self) -> None:
        observed, acted = self.parts.weights.shape[1], len(self.parts.action_scaling.mean)
        self.past = (len(self.parts.recurrence.low) - acted) // (observed + acted)

    def predict(self, state: TickWindow, actions: Array) -> Array:
        """Return the forecast (H, d_o) or (B, H, d_o)."""
        forecast = self._forecast(state, self.parts.action_scaling.apply(actions))
        return self.parts.observation_scaling.invert(forecast)

    def _forecast(self, state: TickWindow, plan: Array) -> Array:
        """Return the forecast (..., H, d_o) of plans (..., H, d_a), all in standard units."""
        batch = np.broadcast_shapes(state.observations.shape[:-2], plan.shape[:-2])

        def rows(part: Array) -> Array:
            return np.broadcast_to(part, (*batch, *part.shape[-2:])).reshape(-1, *part.shape[-2:])

        actions = np.concatenate([rows(state.actions), rows(plan)], axis=1)
        simulated = simulate(
            self.parts.recurrence, self.parts.weights, rows(state.observations), actions
        )
        return simulated.reshape(*batch, *simulated.shape[1:])
