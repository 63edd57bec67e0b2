"""Models of many observations (images, scans) through a few principal components.

A compressed model is any model of the components, with the projection in front of it: `update`
projects what is seen, `predict` returns forecasts in the original units. The inner model alone
forecasts components.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.data.principal_directions import principal_directions
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import Learner, PredictiveModel, Signature, TrainingRecord
from rffpsr_ros.models.training_set import training_signature
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

CHUNK = 1024
"""Rows of observations that are looked at side by side."""


class Projection(NamedTuple):
    """c = U^T (o - mean), and back: o = mean + U c."""

    mean: Array  # (d_o,)
    directions: Array  # U (d_o, components), orthonormal

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


def fit_projection(trajectories: Sequence[Trajectory], components: int, seed: int) -> Projection:
    """Return the leading principal components of all complete rows of observations.

    Raises
    ------
    InputError
        If there are more components than observations, or no complete row.
    """
    size = trajectories[0].observations.shape[1]
    if not 1 <= components <= size:
        raise InputError(
            f"option 'observation_components' is {components}; with {size} observations it must"
            f" be from 1 to {size}"
        )
    rows = [t.observations[~np.isnan(t.observations).any(axis=1)] for t in trajectories]
    count = sum(map(len, rows))
    if not count:
        raise InputError("no tick has all observations; components need complete ticks")
    mean = sum(part.sum(axis=0) for part in rows) / count

    def centred() -> Any:
        for part in rows:
            for start in range(0, len(part), CHUNK):
                yield part[start : start + CHUNK] - mean

    generator = np.random.default_rng(seed)
    return Projection(
        np.asarray(mean), principal_directions(centred, size, components, 0.0, generator)
    )


class CompressedModel(PredictiveModel[Any]):
    """A model of components behind the contract of a model of observations.

    Attributes
    ----------
    inner
        The model of the components; its states are this model's states.
    projection
        From observations to components and back.
    """

    kind: ClassVar[str] = "compressed"

    def __init__(
        self, signature: Signature, inner: PredictiveModel[Any], projection: Projection
    ) -> None:
        """Put the projection in front of the inner model."""
        self.signature = signature
        self.record = inner.record
        self.inner = inner
        self.projection = projection

    def initial_state(self) -> Any:
        """Return the inner model's initial state."""
        return self.inner.initial_state()

    def state_from_history(self, observations: Array, actions: Array) -> Any:
        """Return the inner model's state after a history."""
        return self.inner.state_from_history(self.projection.compress(observations), actions)

    def update(self, state: Any, action: Array, observation: Array) -> Any:
        """Return the state after an action (d_a,) acted and an observation (d_o,) was seen."""
        return self.inner.update(state, action, self.projection.compress(observation))

    def predict(self, state: Any, actions: Array) -> Array:
        """Return the forecast (H, d_o), or (B, H, d_o), in the observations' units."""
        return self.projection.expand(self.inner.predict(state, actions))

    def inference_model(self, compiled: bool = True) -> CompressedModel:
        """Return the projection before the inner model as it runs live."""
        inference = copy.copy(self)
        inference.inner = self.inner.inference_model(compiled)
        return inference

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the projection, and the inner model under names of its own."""
        header, arrays = self.inner.to_arrays()
        inner = {f"inner_{name}": array for name, array in arrays.items()}
        return {"kind": self.inner.kind, "model": header}, {**inner, **self.projection._asdict()}

    @classmethod
    def from_arrays(
        cls,
        signature: Signature,
        record: TrainingRecord,
        header: dict[str, Any],
        arrays: dict[str, Array],
    ) -> CompressedModel:
        """Rebuild a model from what `to_arrays` returned."""
        from rffpsr_ros.models.storage import model_class

        projection = Projection(arrays["mean"], arrays["directions"])
        inner_arrays = {
            name.removeprefix("inner_"): array
            for name, array in arrays.items()
            if name.startswith("inner_")
        }
        inner = model_class(header["kind"]).from_arrays(
            _inner_signature(signature, projection), record, header["model"], inner_arrays
        )
        return cls(signature, inner, projection)


class Compressed:
    """Learner of a `CompressedModel`: any learner, taught the observations' components."""

    def __init__(self, inner: Learner, components: int, seed: int = 0) -> None:
        """Take the learner of the components, their number, and the seed of the projection.

        Raises
        ------
        InputError
            If the number of components is not a whole number of at least 1.
        """
        if isinstance(components, bool) or not isinstance(components, int) or components < 1:
            raise InputError(
                f"option 'observation_components' is {components!r}; it must be a whole number of"
                " at least 1"
            )
        self.inner, self.components, self.seed = inner, components, seed

    def fit(
        self,
        train: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        **progress: Any,
    ) -> CompressedModel:
        """Return the model learned; what follows ``validation`` is handed to the inner learner."""
        signature = training_signature(train, validation)
        projection = fit_projection(train, self.components, self.seed)
        inner = self.inner.fit(
            [projection.trajectory(t) for t in train],
            [projection.trajectory(t) for t in validation] if validation else None,
            **progress,
        )
        return CompressedModel(signature, inner, projection)


def _inner_signature(signature: Signature, projection: Projection) -> Signature:
    names = component_names(projection.directions.shape[1])
    return replace(signature, observation_names=names, observation_units=(), channels=None)
