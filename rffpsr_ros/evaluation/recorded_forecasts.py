"""Forecasts that were made elsewhere, such as by a running filter, as a model to be measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel, Signature, TrainingRecord
from rffpsr_ros.numerics.arrays import Array


class Seen(NamedTuple):
    """How many ticks were seen: an array (1,), or (B, 1) for a batch."""

    ticks: Array


class RecordedForecasts(PredictiveModel[Seen]):
    """Tells, at every tick of one run, what was told then; it learns nothing from what it is fed.

    Parameters
    ----------
    signature
        Of the run.
    forecasts
        By the number of ticks seen before: the forecast (H, d_o) of the ticks that followed.
        Where there is none, or a longer one is asked for, NaN stands in.
    """

    kind: ClassVar[str] = "recorded_forecasts"

    def __init__(self, signature: Signature, forecasts: Mapping[int, Array]) -> None:
        self.signature = signature
        self.record = TrainingRecord()
        self._forecasts = dict(forecasts)

    def initial_state(self) -> Seen:
        """Return the state before the run."""
        return Seen(np.zeros(1))

    def update(self, state: Seen, action: Array, observation: Array) -> Seen:
        """Count the tick."""
        return Seen(state.ticks + 1)

    def predict(self, state: Seen, actions: Array) -> Array:
        """Return what was told for the next H ticks; the actions are those assumed then."""
        horizon, columns = actions.shape[-2], len(self.signature.observation_names)
        ticks = np.broadcast_to(state.ticks[..., 0], actions.shape[:-2])
        result = np.full((*ticks.shape, horizon, columns), np.nan)
        for place in np.ndindex(ticks.shape):
            told = self._forecasts.get(int(ticks[place]))
            if told is not None:
                result[place][: len(told)] = told[:horizon]
        return result

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Refuse: these are results, not a model to be kept."""
        raise NotImplementedError("recorded forecasts are no model to be saved")

    @classmethod
    def from_arrays(
        cls,
        signature: Signature,
        record: TrainingRecord,
        header: dict[str, Any],
        arrays: dict[str, Array],
    ) -> RecordedForecasts:
        """Refuse: they are never saved."""
        raise NotImplementedError("recorded forecasts are no model to be loaded")
