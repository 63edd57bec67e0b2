"""Models of actions and of their low-passed selves, behind the contract of a model of actions.

The inner model takes the means for actions; of a plan they follow, so users never see them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.input_gate import InputRange, TrainedRange
from rffpsr_ros.models.low_passed.filters import LowPassFilters, RunningMeans
from rffpsr_ros.models.rff_psr.filter_monitor import Events
from rffpsr_ros.models.usable import usable
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import sizes


class LowPassedState(NamedTuple):
    """What the inner model believes, and what its actions were over a long time."""

    inner: Any
    means: Array
    """(m,), see `LowPassFilters`."""


class LowPassedParts(NamedTuple):
    """A model of d_a + m actions, and the filters that make these m of the first d_a."""

    inner: Annotated[PredictiveModel[Any], sizes(d_o="d_o", d_a="d_a + m")]
    filters: LowPassFilters


class LowPassedModel(PredictiveModel[LowPassedState]):
    """A model whose actions stand beside running means of them."""

    kind: ClassVar[str] = "low_passed"
    parts_class = LowPassedParts
    parts: LowPassedParts

    def _prepare(self) -> None:
        self._means = RunningMeans(self.parts.filters)

    @property
    def history_length(self) -> int:
        """Ticks after which the inner model knows better than its initial state."""
        return self.parts.inner.history_length

    @property
    def trained_range(self) -> TrainedRange:
        """Return the inner model's, of observations and actions."""
        return self._without_means(self.parts.inner.trained_range)

    @property
    def known_range(self) -> TrainedRange:
        """Return the inner model's, of observations and actions."""
        return self._without_means(self.parts.inner.known_range)

    def _without_means(self, inner: TrainedRange) -> TrainedRange:
        observations, actions = inner
        acted = len(self.parts.filters.mean)
        own = actions and InputRange(actions.low[:acted], actions.high[:acted])
        return TrainedRange(observations, own)

    def sound_state(self, state: LowPassedState) -> LowPassedState:
        """Return the state, with what the inner model has for one that cannot be used."""
        inner = self.parts.inner.sound_state(state.inner)
        means = state.means if usable(state.means) else self.parts.filters.initial
        same = inner is state.inner and means is state.means
        return state if same else LowPassedState(inner, means)

    def initial_state(self) -> LowPassedState:
        """Return the inner model's initial state, after usual actions."""
        return LowPassedState(self.parts.inner.initial_state(), self.parts.filters.initial)

    def state_from_history(self, observations: Array, actions: Array) -> LowPassedState:
        """Return the inner model's state after a history (T, d_o), (T, d_a)."""
        filters = self.parts.filters
        widened = self._means.along(filters.initial, actions)
        inner = self.parts.inner.state_from_history(observations, widened)
        means = widened[-1, len(filters.mean) :] if len(widened) else filters.initial
        return LowPassedState(inner, means)

    def advance(self, state: LowPassedState, action: Array, observation: Array) -> LowPassedState:
        """Return the state after an action (d_a,) acted and an observation (d_o,) was seen."""
        means = self._means.after(state.means, action)
        widened = np.concatenate([action, means], axis=-1)
        return LowPassedState(self.parts.inner.advance(state.inner, widened, observation), means)

    def forecast(self, state: LowPassedState, actions: Array) -> Array:
        """Return the forecast (H, d_o), or (B, H, d_o), given the next H actions."""
        return self.parts.inner.forecast(state.inner, self._widened(state, actions))

    def jacobian(self, state: LowPassedState, actions: Array) -> Array:
        """Return the derivatives (H, d_o, H, d_a), or (B, H, d_o, H, d_a), of the forecast."""
        inner = self.parts.inner.jacobian(state.inner, self._widened(state, actions))
        return self._means.pulled_back(inner, actions[..., None, None, :, :])

    def predict_with_gradient(
        self, state: LowPassedState, actions: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Return the forecast, and the gradient (H, d_a) of its sum with weights (H, d_o)."""
        widened = self._widened(state, actions)
        forecast, gradient = self.parts.inner.predict_with_gradient(state.inner, widened, weights)
        return forecast, self._means.pulled_back(gradient, actions)

    def _widened(self, state: LowPassedState, actions: Array) -> Array:
        return self._means.along(state.means, actions)

    def inference_model(self, compiled: bool = True) -> LowPassedModel:
        """Return the filters before the inner model as it runs live."""
        parts = self.parts._replace(inner=self.parts.inner.inference_model(compiled))
        return self._varied(parts=parts)

    @property
    def compiled_form(self) -> str | None:
        """Return which compiled code the inner model runs by."""
        return self.parts.inner.compiled_form

    def events(self, state: LowPassedState) -> Events:
        """Return what happened to the inner model's beliefs, counted by kind."""
        count = getattr(self.parts.inner, "events", None)
        return Events.none() if count is None else count(state.inner)


def behind_filters(inner: PredictiveModel[Any], filters: LowPassFilters) -> LowPassedModel:
    """Return the model of actions alone that a model of actions and their means is."""
    signature = inner.signature
    names = signature.action_names[: len(filters.mean)]
    own = replace(signature, action_names=names)
    return LowPassedModel(own, inner.record, LowPassedParts(inner, filters), inner.bands)
