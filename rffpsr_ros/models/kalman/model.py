"""The linear model: a Kalman filter with inputs, in innovation form."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.contract import PredictiveModel, Signature, TrainingRecord
from rffpsr_ros.models.kalman.linear_system import (
    LinearState,
    LinearSystem,
    SettledFilter,
    kalman_step,
    lift,
    lifted_forecast,
)
from rffpsr_ros.numerics.arrays import Array

LIFTED_STEPS = 10
"""Steps that a forecast takes at once."""


class KalmanModel(PredictiveModel[LinearState]):
    """A linear system in innovation form, in standard units of the data.

    The state holds mean and covariance of the system's state, so that missing observations, whole
    or single channels, count for what they are: with everything missing an update is the Kalman
    filter's prediction step.
    """

    kind: ClassVar[str] = "kalman"

    def __init__(
        self,
        signature: Signature,
        record: TrainingRecord,
        system: LinearSystem,
        observation_scaling: Scaling,
        action_scaling: Scaling,
    ) -> None:
        """Take the system in the units that the scalings make of the data."""
        self.signature = signature
        self.record = record
        self.system = LinearSystem(*map(np.ascontiguousarray, system))
        self.observation_scaling = observation_scaling
        self.action_scaling = action_scaling
        self._lift = lift(self.system, LIFTED_STEPS)
        self._settled = SettledFilter(self.system)

    @property
    def history_length(self) -> int:
        """Ticks after which what was seen determines the state: as many as it has numbers."""
        return len(self.system.start)

    def initial_state(self) -> LinearState:
        """Return mean and covariance of the state at an episode's start."""
        return LinearState(self.system.start.copy(), self.system.start_covariance.copy())

    def update(self, state: LinearState, action: Array, observation: Array) -> LinearState:
        """Return the state after an action (d_a,) acted and an observation (d_o,) was seen."""
        acted = self.action_scaling.apply(action)
        seen = self.observation_scaling.apply(observation)
        settled = self._settled.step(state, acted, seen)
        if settled is not None:
            return settled
        if state.mean.ndim == 2:
            return kalman_step(self.system, state, acted, seen)
        batch = LinearState(state.mean[None], state.covariance[None])
        following = kalman_step(self.system, batch, acted[None], seen[None])
        return LinearState(*(part[0] for part in following))

    def predict(self, state: LinearState, actions: Array) -> Array:
        """Return the forecast (H, d_o), or (B, H, d_o), given the next H actions."""
        forecast = lifted_forecast(self._lift, state.mean, self.action_scaling.apply(actions))
        return self.observation_scaling.invert(forecast)

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return matrices and scalings."""
        return {}, {
            **self.system._asdict(),
            "observation_scaling": np.stack(self.observation_scaling),
            "action_scaling": np.stack(self.action_scaling),
        }

    @classmethod
    def from_arrays(
        cls,
        signature: Signature,
        record: TrainingRecord,
        header: dict[str, Any],
        arrays: dict[str, Array],
    ) -> KalmanModel:
        """Rebuild a model from what `to_arrays` returned."""
        return cls(
            signature,
            record,
            LinearSystem(*(arrays[name] for name in LinearSystem._fields)),
            Scaling(*arrays["observation_scaling"]),
            Scaling(*arrays["action_scaling"]),
        )
