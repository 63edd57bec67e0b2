"""The nonlinear state space model: it follows a robot by its innovations, and simulates on."""

from __future__ import annotations

from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.derivatives import in_units
from rffpsr_ros.models.state_space.dynamics import (
    StateSpace,
    SystemState,
    advance,
    corrected,
    feature_slopes,
    placed,
    step_jacobians,
)
from rffpsr_ros.models.state_space.packing import StateSpacePacking
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import sizes
from rffpsr_ros.psr.runtime.derivative_chain import TickDerivatives, backwards, forwards


class StateSpaceParts(NamedTuple):
    """A nonlinear system in innovation form, in standard units.

    x_{t+1} = X [x, a, 1, s(W [x, a, 1])] + K e_t,   o_t = Y [x, a, 1, s(W [x, a, 1])] + e_t
    """

    system: StateSpace
    """X, Y, W, K, features, the state at an episode's start, which states are integrators, and
    bounds of predictions."""
    observation_scaling: Annotated[Scaling, sizes(d="d_o")]
    """What makes o (d_o,) standard."""
    action_scaling: Annotated[Scaling, sizes(d="d_a")]
    """What makes a (d_a,) standard."""


class StateSpaceModel(PredictiveModel[SystemState]):
    """Follows a state by what was seen, and forecasts without; see `NonlinearStateSpace`."""

    kind: ClassVar[str] = "state_space"
    parts_class = StateSpaceParts
    parts: StateSpaceParts

    @property
    def history_length(self) -> int:
        """Ticks after which what was seen determines the state: as many as it has numbers."""
        return self.parts.system.states

    def initial_state(self) -> SystemState:
        """Return the state at an episode's start."""
        columns = len(self.parts.observation_scaling.mean)
        return SystemState(self.parts.system.start.copy(), np.zeros(columns, bool))

    def advance(self, state: SystemState, action: Array, observation: Array) -> SystemState:
        """Return the state after an action (d_a,) acted and an observation (d_o,) was seen."""
        acted = self.parts.action_scaling.apply(action)
        seen = self.parts.observation_scaling.apply(observation)
        position = placed(self.parts.system, state.position, seen, state.seen)
        ahead = advance(self.parts.system, position, acted)
        known = state.seen | np.isfinite(seen)
        return SystemState(corrected(self.parts.system, ahead, seen), known)

    def packing(self) -> StateSpacePacking:
        """Return how an ensemble follows this system together with others."""
        return StateSpacePacking(self.parts)

    def forecast(self, state: SystemState, actions: Array) -> Array:
        """Return the forecast (H, d_o), or (B, H, d_o), given the next H actions."""
        return self.parts.observation_scaling.invert(self._simulated(state, actions)[0])

    def jacobian(self, state: SystemState, actions: Array) -> Array:
        """Return the derivatives (H, d_o, H, d_a), or (B, H, d_o, H, d_a), of the forecast."""
        forecast, slopes = self._simulated(state, actions)
        found = forwards(self._derivatives(forecast, slopes, actions.shape[-1]))
        moved = found.rows[:, :, actions.shape[-1] :]
        jacobian = moved.reshape(*forecast.shape, *actions.shape[-2:])
        return in_units(jacobian, self.parts.observation_scaling, self.parts.action_scaling)

    def predict_with_gradient(
        self, state: SystemState, actions: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Return the forecast, and the gradient (H, d_a) of its sum with weights (H, d_o)."""
        forecast, slopes = self._simulated(state, actions)
        ticks = self._derivatives(forecast, slopes, actions.shape[-1])
        scaled = np.broadcast_to(weights, forecast.shape) * self.parts.observation_scaling.deviation
        gradient = backwards(ticks, scaled.reshape(-1, *forecast.shape[-2:]))
        gradient = gradient.reshape(*forecast.shape[:-1], actions.shape[-1])
        return (
            self.parts.observation_scaling.invert(forecast),
            gradient / self.parts.action_scaling.deviation,
        )

    def _simulated(self, state: SystemState, actions: Array) -> tuple[Array, Array]:
        """Return forecast (..., H, d_o) and slopes (..., H, f), in standard units."""
        system, plan = self.parts.system, self.parts.action_scaling.apply(actions)
        batch = np.broadcast_shapes(state.position.shape[:-1], plan.shape[:-2])
        position = np.broadcast_to(state.position, (*batch, system.states))
        plan = np.broadcast_to(plan, (*batch, *plan.shape[-2:]))
        forecast = np.empty((*plan.shape[:-1], len(system.output)))
        seen, features = np.empty((2, *plan.shape[:-1], len(system.powers)))
        for h in range(plan.shape[-2]):
            ahead = advance(system, position, plan[..., h, :])
            forecast[..., h, :] = ahead.expected
            seen[..., h, :], features[..., h, :] = ahead.seen, ahead.features
            position = ahead.following
        return system.bounds(forecast), feature_slopes(system, seen, features)

    def _derivatives(self, forecast: Array, slopes: Array, acted: int) -> TickDerivatives:
        """Return every tick's derivatives of forecasts in standard units, batches flattened."""
        system, (horizon, observed) = self.parts.system, forecast.shape[-2:]
        states = system.states
        by_input = step_jacobians(system, slopes.reshape(-1, horizon, slopes.shape[-1]))[1]
        count = len(by_input)
        following, seen = by_input[:, :-1, :states], by_input[:, :, states:]
        inside = system.bounds.strictly_inside(forecast).reshape(count, horizon, observed)
        return TickDerivatives(
            seen[..., :states],
            np.zeros((count, horizon, observed, 0)),
            seen[..., states:],
            inside,
            following[..., :states],
            following[..., states : states + acted],
            np.zeros((count, horizon - 1, states, observed)),
        )
