"""The contract of every model: a state, its update by what happened, and forecasts from it.

Evaluation, command line and filter node know models by this contract only, so they serve a
baseline as they serve an RFF-PSR.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from rffpsr_ros.models.bands import Bands
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

StateT = TypeVar("StateT", bound=tuple[Any, ...])


@dataclass(frozen=True)
class Signature:
    """What a model was trained on, and so what it must be fed.

    ``channels`` is the channel configuration (plain dictionaries, JSON types) that turned messages
    into these columns; None for a model learned from arrays.
    """

    observation_names: tuple[str, ...]
    action_names: tuple[str, ...]
    period: float
    channels: Mapping[str, Any] | None = None
    observation_units: tuple[str, ...] = ()
    action_units: tuple[str, ...] = ()

    @classmethod
    def of(cls, trajectory: Trajectory) -> Signature:
        """Return the signature of a trajectory's columns."""
        return cls(trajectory.observation_names, trajectory.action_names, trajectory.period)


@dataclass(frozen=True)
class TrainingRecord:
    """What is worth knowing later of how a model came about; JSON types only.

    ``options`` are the options given and those the data decided, ``metrics`` hold errors by
    horizon (lists over horizons 1, 2, ...), ``notes`` the decisions in words.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class PredictiveModel(ABC, Generic[StateT]):
    """A fitted model of a controlled system; immutable, and pure in all its methods.

    A state is a NamedTuple of arrays. Every method takes an optional leading batch axis: states of
    a batch (see `stack_states`) go with actions and observations of the same leading size.
    """

    kind: ClassVar[str]
    """The name under which model files and the command line know this class."""

    signature: Signature
    record: TrainingRecord
    bands: Bands | None = None
    """How far off forecasts were on unseen data; None: nobody measured it."""

    @property
    def history_length(self) -> int:
        """Ticks after which `state_from_history` knows better than the initial state; 0: never."""
        return 0

    @abstractmethod
    def initial_state(self) -> StateT:
        """Return the state at an episode's start, before the first action."""

    @abstractmethod
    def update(self, state: StateT, action: Array, observation: Array) -> StateT:
        """Return the state after ``action`` (d_a,) acted and ``observation`` (d_o,) was seen.

        NaN in the observation means missing: what the model expected stands in for it.
        """

    @abstractmethod
    def predict(self, state: StateT, actions: Array) -> Array:
        """Return the forecast (H, d_o) given the next H actions (H, d_a).

        Row h - 1 depends on the first h actions only. With actions (B, H, d_a) the result is
        (B, H, d_o); the state is then one state, shared by all plans, or a batch of B.
        """

    def inference_model(self, compiled: bool = True) -> PredictiveModel[StateT]:
        """Return the model as it runs live: sooner, its forecasts equal to 1e-5.

        With ``compiled``, what there is a compiled form of is compiled now, if numba is installed.
        """
        return self

    @abstractmethod
    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what a model file holds of this model: a JSON header and named arrays."""

    @classmethod
    @abstractmethod
    def from_arrays(
        cls,
        signature: Signature,
        record: TrainingRecord,
        header: dict[str, Any],
        arrays: dict[str, Array],
    ) -> PredictiveModel[StateT]:
        """Rebuild a model from what `to_arrays` returned."""

    def state_from_history(self, observations: Array, actions: Array) -> StateT:
        """Return the state after a history (T, d_o), (T, d_a) that began in mid-recording.

        The default filters through the history from the initial state.
        """
        state = self.initial_state()
        for action, observation in zip(actions, observations, strict=True):
            state = self.update(state, action, observation)
        return state

    def save(self, path: str | Path) -> None:
        """Write the model file: npz with a JSON header, version and checksum; no pickle."""
        from rffpsr_ros.models.storage import save_model

        save_model(self, path)


class Learner(Protocol):
    """What learns a model from trajectories: options in the constructor, data in `fit`."""

    def fit(
        self,
        train: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
    ) -> PredictiveModel[Any]:
        """Return the model learned from ``train``; ``validation`` steers choices only."""
        ...


def stack_states(states: Sequence[StateT]) -> StateT:
    """Return a batch of states as one state whose arrays have a leading axis."""
    return _stacked(states)  # type: ignore[no-any-return]


def _stacked(parts: Sequence[Any]) -> Any:
    """Stack arrays; of tuples of arrays, their entries."""
    first = parts[0]
    if not isinstance(first, tuple):
        return np.stack(parts)
    entries = [_stacked(entry) for entry in zip(*parts, strict=True)]
    return first._make(entries) if hasattr(first, "_make") else tuple(entries)
