"""Forecasts that were made elsewhere, such as by a running filter, as a model to be measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel, Signature, TrainingRecord
from rffpsr_ros.numerics.arrays import Array


class Seen(NamedTuple):
    """How many ticks were seen: an array (1,), or (B, 1) for a batch."""

    ticks: Array


class RecordedParts(NamedTuple):
    """What was told along one run."""

    ticks: Array
    """(N,) how many ticks were seen before each forecast."""
    forecasts: tuple[Array, ...]
    """N forecasts (H, d_o) of the ticks that followed."""


class RecordedForecasts(PredictiveModel[Seen]):
    """Tells, at every tick of one run, what was told then; it learns nothing from what it is fed.

    Where there was no forecast, or a longer one is asked for, NaN stands in. These are results: no
    model file holds them.
    """

    kind: ClassVar[str] = "recorded_forecasts"
    parts_class = RecordedParts
    parts: RecordedParts

    @classmethod
    def of(cls, signature: Signature, forecasts: Mapping[int, Array]) -> RecordedForecasts:
        """Return what was told along a run, by the number of ticks seen before."""
        parts = RecordedParts(np.array([*forecasts], dtype=int), tuple(forecasts.values()))
        return cls(signature, TrainingRecord(), parts)

    def _prepare(self) -> None:
        self._told = dict(zip(self.parts.ticks.tolist(), self.parts.forecasts, strict=True))

    def initial_state(self) -> Seen:
        """Return the state before the run."""
        return Seen(np.zeros(1))

    def advance(self, state: Seen, action: Array, observation: Array) -> Seen:
        """Count the tick."""
        return Seen(state.ticks + 1)

    def forecast(self, state: Seen, actions: Array) -> Array:
        """Return what was told for the next H ticks; the actions are those assumed then."""
        horizon, columns = actions.shape[-2], len(self.signature.observation_names)
        ticks = np.broadcast_to(state.ticks[..., 0], actions.shape[:-2])
        result = np.full((*ticks.shape, horizon, columns), np.nan)
        for place in np.ndindex(ticks.shape):
            told = self._told.get(int(ticks[place]))
            if told is not None:
                result[place][: len(told)] = told[:horizon]
        return result
