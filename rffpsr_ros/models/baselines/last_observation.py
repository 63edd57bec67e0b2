"""The baseline that forecasts no change: whatever was seen last stays."""

from __future__ import annotations

from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel, TrainingRecord
from rffpsr_ros.models.derivatives import no_derivatives
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.training_set import observation_mean, training_signature
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.trajectory import Trajectory


class LastObservationState(NamedTuple):
    """What was seen last, (d_o,); the training mean before anything was seen."""

    observation: Array


class LastObservationParts(NamedTuple):
    """o_{t+h} = o_t."""

    mean: Annotated[Array, holds("d_o")]
    """Of the training observations, forecast before anything was seen."""


class LastObservationModel(PredictiveModel[LastObservationState]):
    """Forecast the last observation, per column, at every horizon."""

    kind: ClassVar[str] = "last_observation"

    parts_class = LastObservationParts
    parts: LastObservationParts

    def initial_state(self) -> LastObservationState:
        """Return the training mean as what was seen last."""
        return LastObservationState(self.parts.mean)

    def advance(
        self, state: LastObservationState, action: Array, observation: Array
    ) -> LastObservationState:
        """Return the observation as the state; a missing entry keeps its last value."""
        return LastObservationState(np.where(np.isnan(observation), state.observation, observation))

    def forecast(self, state: LastObservationState, actions: Array) -> Array:
        """Return the last observation H times, (H, d_o) or (B, H, d_o)."""
        last = state.observation[..., None, :]
        batch = np.broadcast_shapes(last.shape[:-2], actions.shape[:-2])
        return np.broadcast_to(last, (*batch, actions.shape[-2], last.shape[-1])).copy()

    def jacobian(self, state: LastObservationState, actions: Array) -> Array:
        """Return zeros (H, d_o, H, d_a), or (B, H, d_o, H, d_a): what was seen stays."""
        return no_derivatives(self.forecast(state, actions), actions)


class LastObservation(InMemoryLearner[LastObservationModel]):
    """Learner of `LastObservationModel`; it has no options."""

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> LastObservationModel:
        signature = training_signature(train, validation)
        return LastObservationModel(
            signature, TrainingRecord(), LastObservationParts(observation_mean(train))
        )
