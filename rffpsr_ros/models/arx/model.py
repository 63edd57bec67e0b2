"""The linear ARX model: what it forecasts from.

Horizon h has a linear regression of its own on the last ``past`` observations and actions and on
the actions of steps 1 to h (direct multi-step forecasting), so no forecast sees an action after its
own step. A forecast that could would look better on recordings of a controlled robot, where the
next command reveals what the robot just did, and be useless live.

Until ``past`` ticks were seen, regressions on 0, 1, 2, 4, 8, ... ticks forecast. Padding short
histories with a mean instead would spoil the one regression for all ticks that follow.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.arx.packing import LinearARXPacking
from rffpsr_ros.models.arx.state import LinearARXState
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.derivatives import by_plan, in_units, unit_plans
from rffpsr_ros.models.tick_window import append_rows, mended, silent_after
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds, sizes


class LinearARXParts(NamedTuple):
    """Regressions of L history lengths n and H horizons h, in standard units.

    o_{t+h} = sum over k < n of F_nkh (o, a)_{t-k} + sum over k <= h of G_nkh a_{t+k} + c_nh
    """

    lengths: Annotated[Array, holds("L", whole=True, least=0, most="past", increasing=True)]
    """n: ticks of history that the regressions use, from 0 to ``past``."""
    history_weights: Annotated[Array, holds("L", "past", "d_o+d_a", "H", "d_o")]
    """F, oldest tick first."""
    action_weights: Annotated[Array, holds("L", "H", "d_a", "H", "d_o")]
    """G: entry [:, k, :, h] is zero for k > h."""
    intercept: Annotated[Array, holds("L", "H", "d_o")]
    """c"""
    observation_scaling: Annotated[Scaling, sizes(d="d_o")]
    """Mean and standard deviation of the training observations."""
    action_scaling: Annotated[Scaling, sizes(d="d_a")]
    """Of the training actions."""


class LinearARXModel(PredictiveModel[LinearARXState]):
    """Direct multi-step linear forecasts; beyond ``future`` steps they are fed back.

    Attributes
    ----------
    past, future
        Ticks of history at the most, and horizons with a regression of their own.
    """

    kind: ClassVar[str] = "linear_arx"

    parts_class = LinearARXParts
    parts: LinearARXParts

    def _prepare(self) -> None:
        parts = self.parts
        self.past = parts.history_weights.shape[1]
        self.future = parts.intercept.shape[1]
        # As matrices from all inputs to all outputs: one product a forecast.
        regressions, outputs = len(parts.lengths), parts.intercept[0].size
        self._from_history = parts.history_weights.reshape(regressions, -1, outputs)
        self._from_actions = parts.action_weights.reshape(regressions, -1, outputs)

    def initial_state(self) -> LinearARXState:
        """Return the state in which nothing was seen."""
        columns, observed = self.parts.history_weights.shape[2:5:2]
        return LinearARXState(
            np.zeros((self.past, columns)),
            np.zeros((), dtype=np.int64),
            np.zeros(observed, dtype=np.int64),
        )

    def advance(self, state: LinearARXState, action: Array, observation: Array) -> LinearARXState:
        """Return the history with the new tick; the forecast stands in for missing entries."""
        seen = self.parts.observation_scaling.apply(observation)
        acted = self.parts.action_scaling.apply(action)
        missing = np.isnan(seen)
        if missing.any() or state.silent.any():
            expected = self._forecast(state, acted[..., None, :])[..., 0, :]
            history = mended(state.history[..., : seen.shape[-1]], seen - expected, state.silent)
            history = np.concatenate([history, state.history[..., seen.shape[-1] :]], axis=-1)
            silent = silent_after(state.silent, missing)
            state = state._replace(history=history, silent=silent)
            seen = np.where(missing, expected, seen)
        return _after(state, seen[..., None, :], acted[..., None, :])

    def forecast(self, state: LinearARXState, actions: Array) -> Array:
        """Return the forecast (H, d_o) or (B, H, d_o)."""
        forecast = self._roll_out(state, self.parts.action_scaling.apply(actions))
        return self.parts.observation_scaling.invert(forecast)

    def jacobian(self, state: LinearARXState, actions: Array) -> Array:
        """Return the derivatives (H, d_o, H, d_a), or (B, H, d_o, H, d_a), of the forecast.

        What was seen matters by how long it is only, which chooses the regressions.
        """
        shape = actions.shape[-2:]
        ticks, which = np.unique(np.minimum(state.ticks, self.past), return_inverse=True)
        plans = np.concatenate([np.zeros((1, *shape)), unit_plans(*shape)])
        found = []
        for seen in ticks:
            nothing = self.initial_state()._replace(ticks=np.asarray(seen))
            still, *moved = self._roll_out(nothing, plans)
            found.append(by_plan(np.array(moved) - still, *shape))
        jacobian = in_units(
            np.array(found), self.parts.observation_scaling, self.parts.action_scaling
        )[which.reshape(state.ticks.shape)]
        batch = np.broadcast_shapes(state.ticks.shape, actions.shape[:-2])
        return np.broadcast_to(jacobian, (*batch, *jacobian.shape[-4:])).copy()

    def _roll_out(self, state: LinearARXState, planned: Array) -> Array:
        """Return the forecast of any number of steps, all in standard units."""
        blocks, horizon = [], planned.shape[-2]
        for start in range(0, horizon, self.future):
            plan = planned[..., start : start + self.future, :]
            blocks.append(self._forecast(state, plan))
            if start + self.future < horizon:
                state = _after(state, blocks[-1], plan)
        return np.concatenate(blocks, axis=-2)

    def packing(self) -> LinearARXPacking:
        """Return how an ensemble takes this model together with others."""
        return LinearARXPacking(self.parts)

    def _forecast(self, state: LinearARXState, plan: Array) -> Array:
        """Return the forecast of at most ``future`` steps, all in standard units."""
        history = state.history.reshape(*state.history.shape[:-2], -1)
        chosen = self.parts.lengths.searchsorted(state.ticks, side="right") - 1
        if chosen.ndim == 0:
            return self._by_regression(int(chosen), history, plan)
        batch = np.broadcast_shapes(history.shape[:-1], plan.shape[:-2])
        forecast = np.empty((*batch, plan.shape[-2], self.parts.intercept.shape[-1]))
        for i in np.unique(chosen):
            from_i = self._by_regression(i, history, plan)
            np.copyto(forecast, from_i, where=(chosen == i)[..., None, None])
        return forecast

    def _by_regression(self, i: int, history: Array, plan: Array) -> Array:
        """Return the forecast of regression i from histories (..., past (d_o + d_a))."""
        steps, columns = plan.shape[-2], self.parts.intercept.shape[-1]
        inputs, outputs = steps * plan.shape[-1], steps * columns
        past = history @ self._from_history[i, :, :outputs]
        ahead = plan.reshape(*plan.shape[:-2], inputs) @ self._from_actions[i, :inputs, :outputs]
        forecast: Array = past + ahead
        return (
            forecast.reshape(*forecast.shape[:-1], steps, columns) + self.parts.intercept[i, :steps]
        )


def _after(state: LinearARXState, observations: Array, actions: Array) -> LinearARXState:
    """Return the state after more ticks, (n, d_o) and (n, d_a), in standard units."""
    newest = np.concatenate([observations, actions], axis=-1)
    history = append_rows(state.history, newest)
    return LinearARXState(history, state.ticks + newest.shape[-2], state.silent)
