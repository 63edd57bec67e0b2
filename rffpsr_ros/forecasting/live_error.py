"""How well a model predicts now, beside how well it did in training; the bands follow it."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from rffpsr_ros.forecasting.adaptive_bands import AdaptiveBands
from rffpsr_ros.forecasting.drift import DriftTest
from rffpsr_ros.forecasting.novelty import Novelty
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.usable import usable
from rffpsr_ros.numerics.arrays import Array

REMEMBERED = 100
"""Scored forecasts over which the live error is a mean."""

SETTLED = 20
"""Ticks after which a state has settled, unless its model names more: the first forecasts after a
start in mid-run are a hundred times worse than those that follow."""


class LiveError:
    """The live error of forecasts that knew the future actions, as in training.

    A forecast is made in hindsight, once its last target was seen and the actions on the way are
    known. One at a time: the next begins where the last one ended, so this costs one forecast in
    ``horizon`` ticks, whether or not anyone listens. The bands of ``coverage`` learn from all of
    them, as they are published around all; the live error is that of settled states.

    Attributes
    ----------
    drift
        Whether the errors are still those of training.
    novelty
        How much of what the forecasts met is new to the model.
    """

    def __init__(
        self,
        model: PredictiveModel[Any],
        horizon: int,
        coverage: float = 0.9,
        settled: int | None = None,
    ) -> None:
        self._model = model
        self._settled = max(model.history_length, SETTLED) if settled is None else settled
        self.reference = training_error(model)
        """Mean squared error (H, d_o) in training; None if the model file does not tell."""
        self.horizon = horizon if self.reference is None else min(horizon, len(self.reference))
        self._bands = model.bands and AdaptiveBands(model.bands, coverage, horizon)
        self.drift = DriftTest(model, self.horizon, self.reference)
        self.novelty = Novelty(model)
        self._ticks = self._began = 0
        self._first: Array = np.empty(0)
        self._scored: deque[Array] = deque(maxlen=REMEMBERED)
        self._origin: Any = None
        self._actions: list[Array] = []
        self._observations: list[Array] = []

    @property
    def count(self) -> int:
        """How many forecasts were scored lately."""
        return len(self._scored)

    @property
    def half_width(self) -> Array | None:
        """Half-widths (H, d_o) of the bands now; None for a model without bands."""
        return None if self._bands is None else self._bands.half_width

    @property
    def by_horizon(self) -> Array | None:
        """Live mean squared error (H, d_o), NaN where nothing was seen; None before the first."""
        if not self._scored:
            return None
        squares = np.stack(self._scored)
        seen = np.isfinite(squares)
        total = np.where(seen, squares, 0.0).sum(0)
        mean: Array = np.where(seen.any(0), total / np.maximum(seen.sum(0), 1), np.nan)
        return mean

    def step(self, state: Any, action: Array, observation: Array) -> None:
        """Take a tick, and the state after it."""
        self._ticks += 1
        if self._origin is not None:
            self._actions.append(action)
            self._observations.append(observation)
            if len(self._actions) < self.horizon:
                return
            actions = np.stack(self._actions)
            forecast = self._model.forecast(self._origin, actions)
            if usable(forecast):
                self._score(np.stack([self._first, *self._observations]), forecast, actions)
        self._origin, self._first, self._began = state, observation, self._ticks
        self._actions, self._observations = [], []

    def follow(self, model: PredictiveModel[Any]) -> None:
        """Go on with another form of the model, whose states are those of the one before."""
        self._model = model

    def interrupt(self) -> None:
        """Forget the forecast under way: its segment has ended."""
        self._origin = None
        self._ticks = 0

    def unsettle(self) -> None:
        """Conclude nothing from forecasts until the state has settled again."""
        self._ticks = self._began = 0

    def _score(self, observations: Array, forecast: Array, actions: Array) -> None:
        """Score a forecast of all observations but the first, that of its origin."""
        errors = observations[1:] - forecast
        if self._bands is not None:
            self._bands.score(errors)
        if self._began >= self._settled:
            with np.errstate(over="ignore"):
                self._scored.append(errors**2)
                self.drift.take(errors, observations)
            self.novelty.take(errors[0], observations, actions)


def training_error(model: PredictiveModel[Any]) -> Array | None:
    """Return the error (H, d_o) on held-out data that training noted; None if it noted none."""
    metrics = model.record.metrics
    noted = metrics.get("validation_mse_by_observation", metrics.get("training_mse_by_observation"))
    if not isinstance(noted, list):
        return None
    error = np.array(noted, dtype=np.float64)  # null becomes NaN
    fits = error.ndim == 2 and error.shape[1] == len(model.signature.observation_names)
    return error if fits and len(error) else None
