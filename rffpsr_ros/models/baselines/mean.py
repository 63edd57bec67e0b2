"""The baseline that knows nothing of the present: the mean of what training saw."""

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


class MeanState(NamedTuple):
    """Nothing: the forecast depends on nothing that was seen."""


class MeanParts(NamedTuple):
    """o_{t+h} = mean."""

    mean: Annotated[Array, holds("d_o")]
    """Of the training observations."""


class MeanModel(PredictiveModel[MeanState]):
    """Forecast the mean of the training observations at every horizon."""

    kind: ClassVar[str] = "mean"

    parts_class = MeanParts
    parts: MeanParts

    def initial_state(self) -> MeanState:
        """Return the empty state."""
        return MeanState()

    def advance(self, state: MeanState, action: Array, observation: Array) -> MeanState:
        """Return the empty state."""
        return state

    def forecast(self, state: MeanState, actions: Array) -> Array:
        """Return the mean H times, (H, d_o) or (B, H, d_o)."""
        return np.broadcast_to(self.parts.mean, (*actions.shape[:-1], len(self.parts.mean))).copy()

    def jacobian(self, state: MeanState, actions: Array) -> Array:
        """Return zeros (H, d_o, H, d_a), or (B, H, d_o, H, d_a): the mean is the mean."""
        return no_derivatives(self.forecast(state, actions), actions)


class Mean(InMemoryLearner[MeanModel]):
    """Learner of `MeanModel`; it has no options."""

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> MeanModel:
        signature = training_signature(train, validation)
        return MeanModel(signature, TrainingRecord(), MeanParts(observation_mean(train)))
