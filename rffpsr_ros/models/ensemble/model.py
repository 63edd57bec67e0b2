"""An ensemble: several models of one system, whose forecasts are added up with weights."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.models.contract import PredictiveModel, Signature, TrainingRecord
from rffpsr_ros.models.rff_psr.filter_monitor import Events
from rffpsr_ros.numerics.arrays import Array


class EnsembleState(NamedTuple):
    """The members' states, in their order."""

    members: tuple[Any, ...]


class OutputLimits(NamedTuple):
    """Where forecasts are believed, and which member speaks for those that are beyond."""

    low: Array
    """(d_o,)"""
    high: Array
    """(d_o,)"""
    fallback: int
    """Place of a member that may forecast anything: a linear one."""

    def __call__(self, forecast: Array, fallback: Array) -> Array:
        """Return the forecast (..., d_o), or the fallback's where it is beyond the limits."""
        believed = np.minimum(np.maximum(forecast, self.low), self.high) == forecast
        return forecast if believed.all() else np.where(believed, forecast, fallback)


class EnsembleModel(PredictiveModel[EnsembleState]):
    """A weighted sum of the members' forecasts, by horizon and observation.

    Every member follows what happens by itself. Beyond the horizons for which there are weights
    those of the last one hold.

    Attributes
    ----------
    members
        Models with the same signature.
    weights
        (H, d_o, members), not negative, adding up to 1 over members.
    limits
        A nonlinear model that is fed its own forecasts can run away where it has never been;
        then a linear one replaces it. None: no limits.
    bounds
        Between what forecasts are held, where recordings show such bounds.
    """

    kind: ClassVar[str] = "ensemble"

    def __init__(
        self,
        signature: Signature,
        record: TrainingRecord,
        members: Sequence[PredictiveModel[Any]],
        weights: Array,
        limits: OutputLimits | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        """Take the members and their weights."""
        self.signature = signature
        self.record = record
        self.members = tuple(members)
        self.weights = weights
        self.limits = limits
        self.bounds = bounds
        self._blends: dict[int, tuple[list[int], Array]] = {}

    @property
    def history_length(self) -> int:
        """Ticks after which any member knows better than its initial state."""
        return max(member.history_length for member in self.members)

    def initial_state(self) -> EnsembleState:
        """Return the members' initial states."""
        return EnsembleState(tuple(member.initial_state() for member in self.members))

    def state_from_history(self, observations: Array, actions: Array) -> EnsembleState:
        """Return the members' states after a history (T, d_o), (T, d_a)."""
        return EnsembleState(
            tuple(member.state_from_history(observations, actions) for member in self.members)
        )

    def update(self, state: EnsembleState, action: Array, observation: Array) -> EnsembleState:
        """Return the members' states after an action (d_a,) and an observation (d_o,)."""
        return EnsembleState(
            tuple(
                member.update(of_member, action, observation)
                for member, of_member in zip(self.members, state.members, strict=True)
            )
        )

    def predict(self, state: EnsembleState, actions: Array) -> Array:
        """Return the forecast (H, d_o), or (B, H, d_o), given the next H actions."""
        places, weights = self._blend_of(actions.shape[-2])
        forecasts: Array = np.array(
            [self.members[place].predict(state.members[place], actions) for place in places]
        )
        if self.limits is not None:
            forecasts = self.limits(forecasts, forecasts[places.index(self.limits.fallback)])
        if actions.ndim > 2 or forecasts.ndim > 3:
            weights = weights[:, None]
        blended: Array = (weights * forecasts).sum(axis=0)
        return blended if self.bounds is None else self.bounds(blended)

    def _blend_of(self, horizon: int) -> tuple[list[int], Array]:
        """Return the places of the members that are needed, and their weights (n, H, d_o)."""
        if horizon not in self._blends:
            last = np.minimum(np.arange(horizon), len(self.weights) - 1)
            weights = np.moveaxis(self.weights[last], -1, 0)
            needed: Array = np.array(weights.any(axis=(1, 2)))
            if self.limits is not None:
                needed[self.limits.fallback] = True
            places = np.flatnonzero(needed)
            self._blends[horizon] = places.tolist(), weights[places]
        return self._blends[horizon]

    def inference_model(self, compiled: bool = True) -> EnsembleModel:
        """Return the ensemble of the members as they run live."""
        inference = copy.copy(self)
        inference.members = tuple(member.inference_model(compiled) for member in self.members)
        return inference

    def events(self, state: EnsembleState) -> Events:
        """Return what happened to the beliefs, counted by kind: of the member with the most."""
        counts = [
            member.events(of_member)
            for member, of_member in zip(self.members, state.members, strict=True)
            if hasattr(member, "events")
        ]
        if not counts:
            return Events.none()
        return Events(*(np.max(kind, axis=0) for kind in zip(*counts, strict=True)))

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the weights, and the members under names of their own."""
        headers: list[dict[str, Any]] = []
        arrays = {"weights": self.weights}
        fallback = None
        if self.limits is not None:
            arrays |= {"limits_low": self.limits.low, "limits_high": self.limits.high}
            fallback = self.limits.fallback
        if self.bounds is not None:
            arrays |= {"bounds_low": self.bounds.low, "bounds_high": self.bounds.high}
        for place, member in enumerate(self.members):
            header, own = member.to_arrays()
            headers.append({"kind": member.kind, "model": header})
            arrays |= {f"{_prefix(place)}{name}": array for name, array in own.items()}
        return {"members": headers, "fallback": fallback}, arrays

    @classmethod
    def from_arrays(
        cls,
        signature: Signature,
        record: TrainingRecord,
        header: dict[str, Any],
        arrays: dict[str, Array],
    ) -> EnsembleModel:
        """Rebuild a model from what `to_arrays` returned."""
        from rffpsr_ros.models.storage import model_class

        members = []
        for place, member in enumerate(header["members"]):
            prefix = _prefix(place)
            own = {
                name.removeprefix(prefix): array
                for name, array in arrays.items()
                if name.startswith(prefix)
            }
            kind = model_class(member["kind"])
            members.append(kind.from_arrays(signature, record, member["model"], own))
        limits = None
        if header["fallback"] is not None:
            limits = OutputLimits(
                arrays["limits_low"], arrays["limits_high"], int(header["fallback"])
            )
        bounds = None
        if "bounds_low" in arrays:
            bounds = Bounds(arrays["bounds_low"], arrays["bounds_high"])
        return cls(signature, record, members, arrays["weights"], limits, bounds)


def _prefix(place: int) -> str:
    return f"member_{place}_"
