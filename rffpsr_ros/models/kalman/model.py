"""The linear model: a Kalman filter with inputs, in innovation form."""

from __future__ import annotations

from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.derivatives import by_plan, in_units, unit_plans
from rffpsr_ros.models.kalman.linear_system import (
    LinearState,
    LinearSystem,
    SteadyStateFilter,
    kalman_step,
    lift,
    lifted_forecast,
)
from rffpsr_ros.models.kalman.packing import KalmanPacking
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import sizes

LIFTED_STEPS = 10
"""Steps that a forecast takes at once."""

MOST_RESPONSES = 2**18
"""Responses of observations to actions beyond which it takes one step at a time: several steps have
the square of their number as many."""


class KalmanParts(NamedTuple):
    """A linear system in innovation form, in standard units.

    x_{t+1} = A x_t + B a_t + K e_t,   o_t = C x_t + D a_t + e_t
    """

    system: LinearSystem
    """A, B, C, D, K, the covariance R of e, and mean and covariance of x at an episode's start."""
    observation_scaling: Annotated[Scaling, sizes(d="d_o")]
    """What makes o (d_o,) standard."""
    action_scaling: Annotated[Scaling, sizes(d="d_a")]
    """What makes a (d_a,) standard."""


class KalmanModel(PredictiveModel[LinearState]):
    """A linear system in innovation form, in standard units of the data.

    The state holds mean and covariance of the system's state, so that missing observations, whole
    or single channels, count for what they are: with everything missing an update is the Kalman
    filter's prediction step.
    """

    kind: ClassVar[str] = "kalman"

    parts_class = KalmanParts
    parts: KalmanParts

    def _prepare(self) -> None:
        few = self.parts.system.feedthrough.size <= MOST_RESPONSES
        self._lift = lift(self.parts.system, LIFTED_STEPS if few else 1)
        self._steady = SteadyStateFilter(self.parts.system)

    @property
    def history_length(self) -> int:
        """Ticks after which what was seen determines the state: as many as it has numbers."""
        return len(self.parts.system.start)

    def initial_state(self) -> LinearState:
        """Return mean and covariance of the state at an episode's start."""
        return LinearState(
            self.parts.system.start.copy(), self.parts.system.start_covariance.copy()
        )

    def advance(self, state: LinearState, action: Array, observation: Array) -> LinearState:
        """Return the state after an action (d_a,) acted and an observation (d_o,) was seen."""
        acted = self.parts.action_scaling.apply(action)
        seen = self.parts.observation_scaling.apply(observation)
        settled = self._steady.step(state, acted, seen)
        if settled is not None:
            return settled
        if state.mean.ndim == 2:
            return kalman_step(self.parts.system, state, acted, seen)
        batch = LinearState(state.mean[None], state.covariance[None])
        following = kalman_step(self.parts.system, batch, acted[None], seen[None])
        return LinearState(*(part[0] for part in following))

    def forecast(self, state: LinearState, actions: Array) -> Array:
        """Return the forecast (H, d_o), or (B, H, d_o), given the next H actions."""
        forecast = lifted_forecast(self._lift, state.mean, self.parts.action_scaling.apply(actions))
        return self.parts.observation_scaling.invert(forecast)

    def jacobian(self, state: LinearState, actions: Array) -> Array:
        """Return the derivatives (H, d_o, H, d_a), or (B, H, d_o, H, d_a), of the forecast.

        They are the system's responses to impulses, whatever the state.
        """
        plans = unit_plans(*actions.shape[-2:])
        nothing = np.zeros(len(self.parts.system.start))
        responses = by_plan(lifted_forecast(self._lift, nothing, plans), *actions.shape[-2:])
        found = in_units(responses, self.parts.observation_scaling, self.parts.action_scaling)
        batch = np.broadcast_shapes(state.mean.shape[:-1], actions.shape[:-2])
        return np.broadcast_to(found, (*batch, *found.shape)).copy()

    def packing(self) -> KalmanPacking:
        """Return how an ensemble takes this model together with others."""
        return KalmanPacking(self.parts, self._lift, self._steady)
