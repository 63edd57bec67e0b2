"""The baseline that knows nothing of the present: the mean of what training saw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel, Signature, TrainingRecord
from rffpsr_ros.models.training_set import observation_mean, training_signature
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory


class MeanState(NamedTuple):
    """Nothing: the forecast depends on nothing that was seen."""


class MeanModel(PredictiveModel[MeanState]):
    """Forecast the mean of the training observations at every horizon."""

    kind: ClassVar[str] = "mean"

    def __init__(self, signature: Signature, record: TrainingRecord, mean: Array) -> None:
        """Take the training ``mean`` (d_o,)."""
        self.signature = signature
        self.record = record
        self.mean = mean

    def initial_state(self) -> MeanState:
        """Return the empty state."""
        return MeanState()

    def update(self, state: MeanState, action: Array, observation: Array) -> MeanState:
        """Return the empty state."""
        return state

    def predict(self, state: MeanState, actions: Array) -> Array:
        """Return the mean H times, (H, d_o) or (B, H, d_o)."""
        return np.broadcast_to(self.mean, (*actions.shape[:-1], len(self.mean))).copy()

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the training mean."""
        return {}, {"mean": self.mean}

    @classmethod
    def from_arrays(
        cls,
        signature: Signature,
        record: TrainingRecord,
        header: dict[str, Any],
        arrays: dict[str, Array],
    ) -> MeanModel:
        """Rebuild a model from what `to_arrays` returned."""
        return cls(signature, record, arrays["mean"])


class Mean:
    """Learner of `MeanModel`; it has no options."""

    def fit(
        self, train: Sequence[Trajectory], validation: Sequence[Trajectory] | None = None
    ) -> MeanModel:
        """Return the baseline for trajectories like ``train``."""
        signature = training_signature(train, validation)
        return MeanModel(signature, TrainingRecord(), observation_mean(train))
