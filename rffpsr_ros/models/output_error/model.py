"""The output-error model: a recurrence on a short window, learned by its simulation error."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.derivatives import in_units
from rffpsr_ros.models.output_error.recurrence import (
    Recurrence,
    inputs_of,
    simulate,
    step_jacobian,
)
from rffpsr_ros.models.tick_window import TickWindow, TickWindowModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds, sizes
from rffpsr_ros.psr.runtime.derivative_chain import TickDerivatives, backwards, forwards
from rffpsr_ros.psr.runtime.tick_layout import Layout


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

    def forecast(self, state: TickWindow, actions: Array) -> Array:
        """Return the forecast (H, d_o) or (B, H, d_o)."""
        forecast = self._forecast(state, self.parts.action_scaling.apply(actions))
        return self.parts.observation_scaling.invert(forecast)

    def _forecast(self, state: TickWindow, plan: Array) -> Array:
        """Return the forecast (..., H, d_o) of plans (..., H, d_a), all in standard units."""
        batch = np.broadcast_shapes(state.observations.shape[:-2], plan.shape[:-2])

        def rows(part: Array) -> Array:
            spread = np.broadcast_to(part, (*batch, *part.shape[-2:]))
            return spread.reshape(math.prod(batch), *part.shape[-2:])

        actions = np.concatenate([rows(state.actions), rows(plan)], axis=1)
        simulated = simulate(
            self.parts.recurrence, self.parts.weights, rows(state.observations), actions
        )
        return simulated.reshape(*batch, *simulated.shape[1:])

    def jacobian(self, state: TickWindow, actions: Array) -> Array:
        """Return the derivatives (H, d_o, H, d_a), or (B, H, d_o, H, d_a), of the forecast."""
        ticks, batch = self._derivatives(state, actions)
        acted = actions.shape[-1]
        found = forwards(ticks).rows[:, :, acted:]
        jacobian = found.reshape(*batch, *found.shape[1:3], *actions.shape[-2:])
        return in_units(jacobian, self.parts.observation_scaling, self.parts.action_scaling)

    def predict_with_gradient(
        self, state: TickWindow, actions: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Return the forecast, and the gradient (H, d_a) of its sum with weights (H, d_o)."""
        forecast = self.forecast(state, actions)
        ticks, batch = self._derivatives(state, actions)
        scaled = np.broadcast_to(weights, forecast.shape) * self.parts.observation_scaling.deviation
        gradient = backwards(ticks, scaled.reshape(-1, *forecast.shape[-2:]))
        gradient = gradient.reshape(*batch, *actions.shape[-2:])
        return forecast, gradient / self.parts.action_scaling.deviation

    def _derivatives(
        self, state: TickWindow, actions: Array
    ) -> tuple[TickDerivatives, tuple[int, ...]]:
        """Return every tick's derivatives in standard units, and the batch's shape."""
        parts, past = self.parts, self.past
        plan = parts.action_scaling.apply(actions)
        forecast = self._forecast(state, plan)
        batch, (horizon, observed), acted = (
            forecast.shape[:-2],
            forecast.shape[-2:],
            plan.shape[-1],
        )

        def ticks(before: Array, after: Array) -> Array:
            joined = [np.broadcast_to(part, (*batch, *part.shape[-2:])) for part in (before, after)]
            return np.concatenate(joined, axis=-2).reshape(-1, past + horizon, after.shape[-1])

        def rows(values: Array, length: int) -> Array:
            windows = sliding_window_view(values, length, axis=1)[:, :horizon]
            return windows.swapaxes(-1, -2).reshape(-1, length, values.shape[-1])

        seen = rows(ticks(state.observations, forecast), past)
        point = inputs_of(parts.recurrence, seen, rows(ticks(state.actions, plan), past + 1))
        by_window = step_jacobian(parts.recurrence, parts.weights, point, past * observed)
        by_row = np.empty_like(by_window)
        by_row[..., Layout(observed, acted, 0, past).window(past)] = by_window
        by_row = by_row.reshape(-1, horizon, *by_row.shape[1:])
        count, split = len(by_row), by_row.shape[-1] - acted
        nothing = np.zeros((count, horizon, 0, observed))
        return TickDerivatives(
            nothing.swapaxes(-1, -2),
            by_row[..., :split],
            by_row[..., split:],
            parts.recurrence.bounds.strictly_inside(forecast).reshape(count, horizon, observed),
            np.zeros((count, horizon, 0, 0)),
            np.zeros((count, horizon, 0, acted)),
            nothing,
        ), batch
