"""The contract of every model: a state, its update by what happened, and forecasts from it.

Evaluation, command line and filter node know models by this contract only, so they serve a
baseline as they serve an RFF-PSR.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Generic, Protocol, TypeVar

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.bands import Bands
from rffpsr_ros.models.codec import encode
from rffpsr_ros.models.input_gate import InputRange, TrainedRange
from rffpsr_ros.models.packing import Packing
from rffpsr_ros.models.registry import check_savable
from rffpsr_ros.models.storage import write_model_file
from rffpsr_ros.models.usable import usable_state
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds, sizes
from rffpsr_ros.numerics.given_arrays import given_plan, given_tick
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.trajectory import Trajectory

StateT = TypeVar("StateT", bound=tuple[Any, ...])
ModelT = TypeVar("ModelT", bound="PredictiveModel[Any]")

SHORTEST_PERIOD, LONGEST_PERIOD = 1e-6, 1e5
"""Seconds per tick that a model may have."""

_KEPT: Any = object()
"""Stands for an argument that was not given."""

_FINISHED = "_finished"
"""The attribute that a model has once it is made; none can be set then."""


@dataclass(frozen=True)
class Signature:
    """What a model was trained on, and so what it must be fed.

    ``channels`` is the channel configuration (plain dictionaries, JSON types) that turned messages
    into these columns; None for a model learned from arrays.
    """

    observation_names: Annotated[tuple[str, ...], holds("d_o")]
    action_names: Annotated[tuple[str, ...], holds("d_a")]
    period: Annotated[float, holds(least=SHORTEST_PERIOD, most=LONGEST_PERIOD)]
    channels: Mapping[str, Any] | None = None
    observation_units: Annotated[tuple[str, ...], holds("0 | d_o")] = ()
    action_units: Annotated[tuple[str, ...], holds("0 | d_a")] = ()

    @classmethod
    def of(cls, trajectory: Trajectory) -> Signature:
        """Return the signature of a trajectory's columns."""
        return cls(trajectory.observation_names, trajectory.action_names, trajectory.period)


@dataclass(frozen=True)
class TrainingRecord:
    """How a model was trained, to be read later; JSON types only.

    ``options`` are the options given and those the data decided, ``metrics`` hold errors by
    horizon (lists over horizons 1, 2, ...), ``notes`` the decisions in words.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class PredictiveModel(ABC, Generic[StateT]):
    """A fitted model of a controlled system; immutable, and pure in all its methods.

    A kind of model is its parts, a NamedTuple, and the methods that are abstract here. What it
    computes from its parts once, it keeps in attributes that `_prepare` sets; from then on no
    attribute can be set. `replaced` returns another model.

    A state is a NamedTuple of arrays. Every method takes an optional leading batch axis: states of
    a batch (see `stack_states`) go with actions and observations of the same leading size.

    Parameters
    ----------
    signature
        What the model must be fed.
    record
        How it was trained.
    parts
        All that was fitted: a `parts_class`. Its arrays are kept in C order and read-only.
    bands
        How far off forecasts were on unseen data; None: nobody measured it.
    """

    kind: ClassVar[str]
    """The name under which model files and the command line know this class."""
    parts_class: ClassVar[type[tuple[Any, ...]]]
    """The NamedTuple of the parts; its type hints say what a model file holds."""

    signature: Final[Signature]
    record: Final[TrainingRecord]
    parts: Any
    bands: Final[Bands | None]

    def __init__(
        self, signature: Signature, record: TrainingRecord, parts: Any, bands: Bands | None = None
    ) -> None:
        if not isinstance(parts, self.parts_class):
            raise TypeError(f"parts are a {type(parts).__name__}, not {self.parts_class.__name__}")
        self.signature = signature
        self.record = record
        self.parts = _laid_out(parts)
        self.bands = bands
        self._prepare()
        vars(self)[_FINISHED] = True

    if not TYPE_CHECKING:  # which would take any name for an attribute

        def __setattr__(self, name: str, value: Any) -> None:
            self._refuse_change(name)
            super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            self._refuse_change(name)
            super().__delattr__(name)

    def _refuse_change(self, name: str) -> None:
        if _FINISHED in vars(self):
            raise AttributeError(
                f"'{name}' of a finished {type(self).__name__} cannot be changed;"
                " `replaced` returns another model"
            )

    def _prepare(self) -> None:
        """Set what is computed from the parts once."""

    def replaced(
        self: ModelT,
        *,
        signature: Signature = _KEPT,
        record: TrainingRecord = _KEPT,
        bands: Bands | None = _KEPT,
    ) -> ModelT:
        """Return a model of the same parts with another signature, record or bands."""
        given = {"signature": signature, "record": record, "bands": bands}
        return self._varied(**{name: new for name, new in given.items() if new is not _KEPT})

    def _varied(self: ModelT, **attributes: Any) -> ModelT:
        """Return a copy that differs in some attributes."""
        copied = copy.copy(self)
        vars(copied).update(attributes)
        return copied

    @property
    def history_length(self) -> int:
        """Ticks after which `state_from_history` knows better than the initial state; 0: never."""
        return 0

    @property
    def trained_range(self) -> TrainedRange:
        """Return the range of the training data, as far as the model knows it.

        The default reads the parts ``observation_scaling`` and ``action_scaling``.
        """
        scalings = (
            getattr(self.parts, f"{what}_scaling", None) for what in ("observation", "action")
        )
        return TrainedRange(*(one and InputRange(one.low, one.high) for one in scalings))

    @property
    def known_range(self) -> TrainedRange:
        """Return where inputs are nothing new: without bounds where size does not matter."""
        return self.trained_range

    def sound_state(self, state: StateT) -> StateT:
        """Return the state itself, or the initial one if its numbers can no longer be used.

        A model of several parts with a state each replaces those that need it.
        """
        return state if usable_state(state) else self.initial_state()

    @abstractmethod
    def initial_state(self) -> StateT:
        """Return the state at an episode's start, before the first action."""

    def update(self, state: StateT, action: Array, observation: Array) -> StateT:
        """Return the state after ``action`` (d_a,) acted and ``observation`` (d_o,) was seen.

        NaN in the observation means missing: what the model expected stands in for it.

        Raises
        ------
        InputError
            If they do not fit the model's columns, or the action is not finite.
        """
        names = self.signature.action_names, self.signature.observation_names
        return self.advance(state, *given_tick(action, observation, *names))

    def predict(self, state: StateT, actions: Array) -> Array:
        """Return the forecast (H, d_o) given the next H actions (H, d_a).

        Row h - 1 depends on the first h actions only. With actions (B, H, d_a) the result is
        (B, H, d_o); the state is then one state, shared by all plans, or a batch of B.

        Raises
        ------
        InputError
            If the actions are none, do not fit the model's columns, or are not finite.
        """
        return self.forecast(state, given_plan(actions, self.signature.action_names))

    @abstractmethod
    def advance(self, state: StateT, action: Array, observation: Array) -> StateT:
        """Return what `update` does, of arrays that fit for sure."""

    @abstractmethod
    def forecast(self, state: StateT, actions: Array) -> Array:
        """Return what `predict` does, of arrays that fit for sure."""

    def jacobian(self, state: StateT, actions: Array) -> Array:
        """Return the derivatives (H, d_o, H, d_a) of the forecast by the actions (H, d_a).

        They are exact, in the units of both, and zero for actions after a row's own step, and where
        what is forecast, or seen by features, is held. With actions (B, H, d_a) the result is
        (B, H, d_o, H, d_a).

        Raises
        ------
        InputError
            If forecasts of this model are no smooth function of the actions.
        """
        raise InputError(
            f"forecasts of '{self.kind}' models have no derivatives by the actions: they go from"
            " value to value in steps; compare the forecasts of several plans instead"
        )

    def jacobian_along(self, state: StateT, actions: Array, forecast: Array) -> Array:
        """Return what `jacobian` does; the model's forecast of the actions was made already."""
        return self.jacobian(state, actions)

    def predict_with_gradient(
        self, state: StateT, actions: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Return the forecast, and the gradient (H, d_a) of its sum with weights (H, d_o).

        With actions (B, H, d_a) there is a gradient for each plan; weights may be those of all.

        Raises
        ------
        InputError
            As `jacobian` does.
        """
        jacobian = self.jacobian(state, actions)
        gradient = np.einsum("...ho,...hoka->...ka", weights, jacobian)
        return self.forecast(state, actions), gradient

    def inference_model(self, compiled: bool = True) -> PredictiveModel[StateT]:
        """Return the model as it runs live: sooner, its forecasts equal to 1e-5.

        With ``compiled``, what there is a compiled form of is compiled now, if numba is installed.
        """
        return self

    @property
    def compiled_form(self) -> str | None:
        """Return which compiled code this model runs by, see `compiled_code`; None: there is none.

        It does not depend on whether numba is installed.
        """
        return None

    def packing(self) -> Packing[StateT] | None:
        """Return how an ensemble's compiled call takes this model; None: it does not."""
        return None

    def state_from_history(self, observations: Array, actions: Array) -> StateT:
        """Return the state after a history (T, d_o), (T, d_a) that began in mid-recording.

        The default filters through the history from the initial state.
        """
        state = self.initial_state()
        for action, observation in zip(actions, observations, strict=True):
            state = self.update(state, action, observation)
        return state

    def save(self, path: str | Path) -> None:
        """Write the model file: npz with a JSON header, version and checksum; no pickle.

        The file appears complete or not at all.

        Raises
        ------
        InputError
            If it cannot be written there, or models of this kind cannot be loaded.
        """
        write_model_file(path, *encode(PredictiveModel, self, check_savable))

    @classmethod
    def stored_fields(cls) -> dict[str, Any]:
        """Return the types of what a model file holds: the arguments of the constructor."""
        return {
            "signature": Signature,
            "record": TrainingRecord,
            "parts": cls.parts_class,
            "bands": Annotated[Bands | None, sizes(d_o="d_o")],
        }


def _laid_out(parts: Any) -> Any:
    """Return parts whose arrays are in C order, as a model file's are, and read-only.

    Products of matrices round differently by memory order; so a model computes the same bits
    before it was saved and after it was loaded.
    """
    if isinstance(parts, np.ndarray):
        array = np.asarray(parts, order="C").view()
        array.setflags(write=False)
        return array
    if isinstance(parts, tuple):
        entries = [_laid_out(part) for part in parts]
        return parts._make(entries) if hasattr(parts, "_make") else tuple(entries)
    return parts


class Learner(Protocol):
    """What learns a model from trajectories: options in the constructor, data in `fit`."""

    def fit(
        self,
        train: Iterable[Trajectory],
        validation: Iterable[Trajectory] | None = None,
        *,
        progress: Progress | None = None,
        client: Any = None,
    ) -> PredictiveModel[Any]:
        """Return the model learned from ``train``; ``validation`` only helps to choose.

        Trajectories may lie on disk. ``progress`` is called at least once. With
        the ``client`` of a Dask cluster, who can make use of one hands over what grows with the
        data.
        """
        ...
