"""An ensemble: several models of one system, whose forecasts are added up with weights."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, TypeAlias

import numpy as np

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.ensemble.reach import Reach, held_back
from rffpsr_ros.models.ensemble.state import EnsembleState, PackedState, State
from rffpsr_ros.models.ensemble.weights import WeightsByLength
from rffpsr_ros.models.input_gate import TrainedRange
from rffpsr_ros.models.rff_psr.filter_monitor import Events
from rffpsr_ros.models.usable import usable_state
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds, sizes
from rffpsr_ros.psr.runtime.packed_ensemble import RFF_PSR

if TYPE_CHECKING:
    from rffpsr_ros.models.ensemble.compiled_ensemble import CompiledEnsemble


class OutputLimits(NamedTuple):
    """The range of accepted forecasts, and the member that replaces those beyond it."""

    low: Annotated[Array, holds("d_o", infinite=True)]
    high: Annotated[Array, holds("d_o", infinite=True)]
    fallback: Annotated[int, holds(least=0, most="M-1")]
    """Place of a member that may forecast anything: a linear one."""

    def __call__(self, forecast: Array, fallback: Array) -> Array:
        """Return the forecast (..., d_o), or the fallback's where it is beyond the limits."""
        believed = np.minimum(np.maximum(forecast, self.low), self.high) == forecast
        return forecast if believed.all() else np.where(believed, forecast, fallback)


Member: TypeAlias = Annotated[PredictiveModel[Any], sizes(d_o="d_o", d_a="d_a")]


class EnsembleParts(NamedTuple):
    """What an ensemble of M members consists of: o_h = sum over m of w_hm o_h^(m)."""

    members: Annotated[tuple[Member, ...], holds("M")]
    """Models with the same observations and actions."""
    weights: Annotated[Array, holds("H", "d_o", "M")]
    """w, not negative, adding up to 1 over members."""
    limits: OutputLimits | None = None
    """A nonlinear model that is fed its own forecasts can run away where it has never been; then a
    linear one replaces it. None: no limits."""
    bounds: Bounds | None = None
    """Between what forecasts are held, where recordings show such bounds."""
    reach: Reach | None = None
    """How far members' forecasts may lie outside those of the others. None: as far as they like."""


class EnsembleModel(PredictiveModel[State]):
    """A weighted sum of the members' forecasts, by horizon and observation.

    Every member follows what happens by itself. Beyond the horizons for which there are weights
    those of the last one hold.
    """

    kind: ClassVar[str] = "ensemble"
    parts_class = EnsembleParts
    parts: EnsembleParts

    def _prepare(self) -> None:
        limits = self.parts.limits
        always = () if limits is None else (limits.fallback,)
        self._weights = WeightsByLength(self.parts.weights, always, self.parts.reach)
        self._compiled: CompiledEnsemble | None = None

    @property
    def history_length(self) -> int:
        """Ticks after which any member knows better than its initial state."""
        return max(member.history_length for member in self.parts.members)

    @property
    def trained_range(self) -> TrainedRange:
        """Return the range that holds those of all members."""
        known = TrainedRange()
        for member in self.parts.members:
            known = known.joined(member.trained_range)
        return known

    def sound_state(self, state: State) -> State:
        """Return the state, in which members that need it begin anew; itself if none does."""
        if isinstance(state, PackedState) and usable_state(state):
            return state
        members = tuple(
            member.sound_state(of_member)
            for member, of_member in zip(self.parts.members, state.members, strict=True)
        )
        same = all(a is b for a, b in zip(members, state.members, strict=True))
        return state if same else EnsembleState(members)

    def initial_state(self) -> EnsembleState:
        """Return the members' initial states."""
        return EnsembleState(tuple(member.initial_state() for member in self.parts.members))

    def state_from_history(self, observations: Array, actions: Array) -> EnsembleState:
        """Return the members' states after a history (T, d_o), (T, d_a)."""
        return EnsembleState(
            tuple(member.state_from_history(observations, actions) for member in self.parts.members)
        )

    def advance(self, state: State, action: Array, observation: Array) -> State:
        """Return the members' states after an action (d_a,) and an observation (d_o,)."""
        if self._compiled is not None and observation.ndim == 1:
            return self._compiled.update(state, action, observation)
        return EnsembleState(
            tuple(
                member.advance(of_member, action, observation)
                for member, of_member in zip(self.parts.members, state.members, strict=True)
            )
        )

    def forecast(self, state: State, actions: Array) -> Array:
        """Return the forecast (H, d_o), or (B, H, d_o), given the next H actions."""
        if self._compiled is not None and isinstance(state, PackedState):
            return self._compiled.predict(state, actions)
        members, _, limits, bounds, _ = self.parts
        places, weights, distance = self._weights.of(actions.shape[-2])
        forecasts: Array = np.array(
            [members[place].forecast(state.members[place], actions) for place in places]
        )
        if limits is not None:
            forecasts = limits(forecasts, forecasts[places.index(limits.fallback)])
        batch = actions.ndim > 2 or forecasts.ndim > 3
        if batch:
            weights = weights[:, None]
        if distance is not None:
            distance = distance[:, None] if batch else distance
            forecasts = held_back(forecasts, weights, distance).forecasts
        blended: Array = (weights * forecasts).sum(axis=0)
        return blended if bounds is None else bounds(blended)

    def jacobian(self, state: State, actions: Array) -> Array:
        """Return the derivatives (H, d_o, H, d_a), or (B, H, d_o, H, d_a), of the forecast.

        Where a member's forecast is replaced or held back, its part has those of the member that
        does so.
        """
        total, states = np.zeros(()), state.members
        for place, share, forecast in self._shares(state, actions):
            own = self._differentiated[place].jacobian_along(states[place], actions, forecast)
            part = share[..., None, None]
            total = total + np.where(part > 0, part * own, 0.0)
        return total

    def predict_with_gradient(
        self, state: State, actions: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Return the forecast, and the gradient (H, d_a) of its sum with weights (H, d_o)."""
        if actions.ndim == 2:
            return super().predict_with_gradient(state, actions, weights)
        total, states = np.zeros(actions.shape), state.members
        for place, share, _ in self._shares(state, actions):
            member, of_member = self.parts.members[place], states[place]
            total = total + member.predict_with_gradient(of_member, actions, weights * share)[1]
        return self.forecast(state, actions), total

    @cached_property
    def _differentiated(self) -> tuple[PredictiveModel[Any], ...]:
        """Return the members one by one: compiled, where one compiled call serves them all.

        Made when derivatives are first asked for.
        """
        members = self.parts.members
        if self._compiled is None:
            return members
        return tuple(member.inference_model() for member in members)

    def _shares(self, state: State, actions: Array) -> list[tuple[int, Array, Array]]:
        """Return the places of members, their parts (..., H, d_o) in the forecast, and forecasts.

        Members without any part in the forecast, as it is, are left out.
        """
        (_, _, limits, bounds, _), states = self.parts, state.members
        members = self._differentiated
        places, weights, distance = self._weights.of(actions.shape[-2])
        forecasts = np.array([members[place].forecast(states[place], actions) for place in places])
        own = forecasts
        if forecasts.ndim > 3:
            weights = weights[:, None]
            distance = None if distance is None else distance[:, None]
        rows = np.arange(len(places)).reshape(-1, *(1,) * (forecasts.ndim - 1))
        follows = np.broadcast_to(rows, forecasts.shape)
        if limits is not None:
            instead = places.index(limits.fallback)
            believed = (forecasts >= limits.low) & (forecasts <= limits.high)
            forecasts = np.where(believed, forecasts, forecasts[instead])
            follows = np.where(believed, rows, instead)
        if distance is not None:
            forecasts, after = held_back(forecasts, weights, distance)
            follows = np.take_along_axis(follows, after, axis=0)
        shares = np.array([np.where(follows == row, weights, 0.0).sum(axis=0) for row in rows])
        if bounds is not None:
            blended = (weights * forecasts).sum(axis=0)
            shares *= bounds.strictly_inside(blended)
        return [one for one in zip(places, shares, own, strict=True) if one[1].any()]

    def inference_model(self, compiled: bool = True) -> EnsembleModel:
        """Return the ensemble of the members as they run live.

        With ``compiled`` all members run in one call of compiled code, where there is some; those
        whose state it does not follow for the moment run by numpy.
        """
        live = self._of(compiled=False)
        together = live._compile() if compiled else None
        if together is not None:
            return live._varied(_compiled=together)
        return self._of(compiled=True) if compiled else live

    @property
    def compiled_form(self) -> str | None:
        """Return which compiled code this model runs by; None: linear models alone need none."""
        packings = [member.packing() for member in self.parts.members]
        worthwhile = any(one is not None and one.member.kind == RFF_PSR for one in packings)
        return "ensemble" if worthwhile else None

    def _of(self, compiled: bool) -> EnsembleModel:
        """Return the ensemble of the members as each of them runs live."""
        members = tuple(member.inference_model(compiled) for member in self.parts.members)
        parts = self.parts._replace(members=members)
        return EnsembleModel(self.signature, self.record, parts, self.bands)

    def _compile(self) -> CompiledEnsemble | None:
        """Return what takes all members together, if numba is there and there is a use of it."""
        try:
            from rffpsr_ros.models.ensemble.compiled_ensemble import CompiledEnsemble
        except ImportError:
            return None
        members, _, limits, bounds, _ = self.parts
        columns = len(self.signature.observation_names), len(self.signature.action_names)
        if self.compiled_form is None:
            return None
        try:
            return CompiledEnsemble(members, self._weights, limits, bounds, columns)
        except OSError:  # no room to keep what was compiled
            return None

    @property
    def compiled(self) -> bool:
        """Whether usual ticks and forecasts run in one call of compiled code."""
        return self._compiled is not None

    def events(self, state: State) -> Events:
        """Return what happened to the beliefs, counted by kind: of the member with the most."""
        counts = [
            member.events(of_member)
            for member, of_member in zip(self.parts.members, state.members, strict=True)
            if hasattr(member, "events")
        ]
        if not counts:
            return Events.none()
        return Events(*(np.max(kind, axis=0) for kind in zip(*counts, strict=True)))
