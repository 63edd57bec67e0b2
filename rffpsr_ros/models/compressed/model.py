"""Models of many observations (images, scans) through a few principal components.

A compressed model is any model of the components, with the projection in front of it: `update`
projects what is seen, `predict` returns forecasts in the original units. The inner model alone
forecasts components.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.input_gate import InputRange, TrainedRange
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds, sizes
from rffpsr_ros.recordings.trajectory import Trajectory


class Projection(NamedTuple):
    """c = U^T (o - mean), and back: o = mean + U c."""

    mean: Annotated[Array, holds("d_o")]
    directions: Annotated[Array, holds("d_o", "c")]  # U, orthonormal

    def compress(self, observations: Array) -> Array:
        """Return components (..., c); all of them missing where any observation is."""
        missing = np.isnan(observations).any(axis=-1, keepdims=True)
        components = np.where(missing, 0.0, observations - self.mean) @ self.directions
        return np.where(missing, np.nan, components)

    def expand(self, components: Array) -> Array:
        """Return observations (..., d_o)."""
        return np.asarray(components @ self.directions.T + self.mean)

    def trajectory(self, trajectory: Trajectory) -> Trajectory:
        """Return a trajectory whose observations are the components."""
        return Trajectory(
            self.compress(trajectory.observations),
            trajectory.actions,
            trajectory.period,
            component_names(self.directions.shape[1]),
            trajectory.action_names,
            trajectory.label,
            trajectory.likelihood_ratios,
        )


def component_names(count: int) -> tuple[str, ...]:
    """Return the names of components."""
    return tuple(f"component[{index}]" for index in range(count))


class CompressedParts(NamedTuple):
    """A model of components c = U^T (o - mean): forecasts are mean + U c."""

    inner: Annotated[PredictiveModel[Any], sizes(d_o="c", d_a="d_a")]
    """The model of c; its states are the compressed model's states."""
    projection: Projection
    """U (d_o, c) and the mean (d_o,)."""


class CompressedModel(PredictiveModel[Any]):
    """A model of components behind the contract of a model of observations."""

    kind: ClassVar[str] = "compressed"
    parts_class = CompressedParts
    parts: CompressedParts

    @property
    def trained_range(self) -> TrainedRange:
        """Return the inner model's, of its components carried over to the observations.

        All observations count as varying by as much as the one that does most: what components
        leave out of the others is not known.
        """
        components, actions = self.parts.inner.trained_range
        if components is None:
            return TrainedRange(None, actions)
        mean, directions = self.parts.projection
        reach = np.maximum(np.abs(components.low), np.abs(components.high))
        widest = np.max(np.abs(directions) @ reach, initial=0.0)
        return TrainedRange(InputRange(mean - widest, mean + widest), actions)

    def sound_state(self, state: Any) -> Any:
        """Return the state, or what the inner model has for one that cannot be used."""
        return self.parts.inner.sound_state(state)

    def initial_state(self) -> Any:
        """Return the inner model's initial state."""
        return self.parts.inner.initial_state()

    def state_from_history(self, observations: Array, actions: Array) -> Any:
        """Return the inner model's state after a history."""
        return self.parts.inner.state_from_history(
            self.parts.projection.compress(observations), actions
        )

    def advance(self, state: Any, action: Array, observation: Array) -> Any:
        """Return the state after an action (d_a,) acted and an observation (d_o,) was seen."""
        return self.parts.inner.advance(state, action, self.parts.projection.compress(observation))

    def forecast(self, state: Any, actions: Array) -> Array:
        """Return the forecast (H, d_o), or (B, H, d_o), in the observations' units."""
        return self.parts.projection.expand(self.parts.inner.forecast(state, actions))

    def jacobian(self, state: Any, actions: Array) -> Array:
        """Return the derivatives (H, d_o, H, d_a), or (B, H, d_o, H, d_a), of the forecast."""
        inner = self.parts.inner.jacobian(state, actions)
        directions = self.parts.projection.directions
        return np.asarray(np.einsum("oc,...hcka->...hoka", directions, inner, optimize=True))

    def predict_with_gradient(
        self, state: Any, actions: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Return the forecast, and the gradient (H, d_a) of its sum with weights (H, d_o)."""
        inner, projection = self.parts.inner, self.parts.projection
        found = inner.predict_with_gradient(state, actions, weights @ projection.directions)
        return projection.expand(found[0]), found[1]

    def inference_model(self, compiled: bool = True) -> CompressedModel:
        """Return the projection before the inner model as it runs live."""
        parts = self.parts._replace(inner=self.parts.inner.inference_model(compiled))
        return CompressedModel(self.signature, self.record, parts, self.bands)

    @property
    def compiled_form(self) -> str | None:
        """Return which compiled code the inner model runs by."""
        return self.parts.inner.compiled_form
