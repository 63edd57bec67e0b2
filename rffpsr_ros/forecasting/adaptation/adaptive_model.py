"""A model that corrects its forecasts by its errors lately; the model file stays as it is.

What it learns is part of its state: an outcome of what it was fed and of nothing else, so replays
and evaluations correct as the live filter did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.adaptation.correction import Correction, CorrectionLearner
from rffpsr_ros.forecasting.adaptation.regressors import LAG, CorrectionRegressors
from rffpsr_ros.forecasting.live_error import SETTLED, training_error
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.input_gate import ColumnGate, TrainedRange
from rffpsr_ros.models.state_batches import CompactState
from rffpsr_ros.models.usable import usable
from rffpsr_ros.numerics.arrays import Array

LONGEST = 50
"""Ticks up to which corrections are learned; beyond, the last one's holds."""

MARGIN = 0.25
"""Widths of the trained range by which an input may leave it and be learned from."""

MISSING = 3
"""Ticks of which nothing was seen, one after the other, that a belief has to recover from."""

USUAL = 0.7
"""The coverage of the bands that tell a model's usual error."""

UNKNOWN_ERROR = 0.02
"""The usual error where the model file tells none, in half widths of the trained range."""


class PastTick(NamedTuple):
    """A tick, and what was believed, known and seen before it."""

    belief: Any
    correction: Correction
    before: tuple[Array, ...]
    action: Array
    observation: Array


@dataclass(frozen=True, eq=False)
class AdaptationMemory:
    """What was learned of the robot by now, and the newest ticks.

    Attributes
    ----------
    recent
        The newest ticks, as many as corrections look ahead.
    seen
        The newest observations, the last one last; what is missing stands as before.
    ticks
        Since the belief began.
    strange
        Which of these last had an input far outside the trained range, or none for some time.
    """

    correction: Correction
    recent: tuple[PastTick, ...] = ()
    seen: tuple[Array, ...] = ()
    ticks: int = 0
    strange: int = -1_000_000_000


class AdaptiveState(NamedTuple):
    """The model's own state, and what was learned beside it."""

    belief: Any
    memory: Any
    """An `AdaptationMemory`; of a batch of states, an array of them."""

    @property
    def plain(self) -> AdaptiveState:
        """The same state, the model's own as all of its methods know it."""
        belief = self.belief
        return self._replace(belief=belief.plain if isinstance(belief, CompactState) else belief)


class AdaptiveParts(NamedTuple):
    """What is corrected."""

    model: PredictiveModel[Any]
    horizon: int


class AdaptiveModel(PredictiveModel[AdaptiveState]):
    """A model whose forecasts are corrected; it runs, and is never stored.

    It is updated with one state at a time; forecasts are made of batches, too.

    Parameters
    ----------
    model
        Whose forecasts these are.
    horizon
        Ticks that forecasts usually look ahead.

    Raises
    ------
    InputError
        If the model does not know the range it was trained on.
    """

    kind: ClassVar[str] = "adaptive"
    parts_class = AdaptiveParts
    parts: AdaptiveParts

    def __init__(self, model: PredictiveModel[Any], horizon: int) -> None:
        parts = AdaptiveParts(model, min(horizon, LONGEST))
        super().__init__(model.signature, model.record, parts, model.bands)

    def _prepare(self) -> None:
        model, horizon = self.parts
        if reason := cannot_adapt(model):
            raise InputError(reason)
        observations, actions = model.trained_range
        assert observations is not None
        assert actions is not None
        self._regressors = CorrectionRegressors(observations, actions, horizon)
        usual = _usual_error(model, horizon, UNKNOWN_ERROR * self._regressors.half_width)
        period = model.signature.period
        self._learner = CorrectionLearner(self._regressors, observations, usual, period)
        self._gates = [
            ColumnGate(known, np.full(len(known.low), MARGIN)) for known in (observations, actions)
        ]
        self._settled = max(model.history_length, SETTLED)

    @property
    def history_length(self) -> int:
        """Ticks after which the model knows better than its initial state."""
        return self.parts.model.history_length

    @property
    def trained_range(self) -> TrainedRange:
        """Return the range of the training data."""
        return self.parts.model.trained_range

    @property
    def known_range(self) -> TrainedRange:
        """Return the range in which inputs are nothing new."""
        return self.parts.model.known_range

    @property
    def events(self) -> Callable[[AdaptiveState], Any] | None:
        """What counts events of a state; None if the model has nothing that does."""
        count = getattr(self.parts.model, "events", None)
        return None if count is None else lambda state: count(state.belief)

    def inference_model(self, compiled: bool = True) -> AdaptiveModel:
        """Return the same with the model as it runs live."""
        return AdaptiveModel(self.parts.model.inference_model(compiled), self.parts.horizon)

    def initial_state(self) -> AdaptiveState:
        """Return the state of an episode's start, nothing learned."""
        return self.adaptive(self.parts.model.initial_state())

    def state_from_history(self, observations: Array, actions: Array) -> AdaptiveState:
        """Return the state after a history (T, d_o), (T, d_a), nothing learned."""
        return self.adaptive(self.parts.model.state_from_history(observations, actions))

    def adaptive(self, belief: Any, before: Any = None) -> AdaptiveState:
        """Return the state of a belief that begins, with what the state ``before`` had learned.

        Nothing, if that was a state of a model that did not adapt, or looked less far ahead.
        """
        learned = self._learner.nothing_learned()
        if isinstance(before, AdaptiveState):
            known: Correction = before.memory.correction
            learned = known if known.gain.shape == learned.gain.shape else learned
        return AdaptiveState(belief, AdaptationMemory(learned))

    def sound_state(self, state: AdaptiveState) -> AdaptiveState:
        """Return the state itself, or one whose belief begins anew."""
        belief = self.parts.model.sound_state(state.belief)
        return state if belief is state.belief else self.adaptive(belief, state)

    def advance(self, state: AdaptiveState, action: Array, observation: Array) -> AdaptiveState:
        """Return the state after ``action`` (d_a,) acted and ``observation`` (d_o,) was seen."""
        belief, memory = state
        tick = PastTick(belief, memory.correction, memory.seen, action, observation)
        recent = (*memory.recent, tick)[-self.parts.horizon :]
        seen = (*memory.seen, _filled(observation, memory.seen))[-LAG - 1 :]
        ticks, strange = memory.ticks + 1, memory.strange
        if self._is_strange(observation, action, recent):
            strange = ticks
        memory = AdaptationMemory(memory.correction, recent, seen, ticks, strange)
        if ticks % self._learner.stride == 0 and len(recent) == self.parts.horizon:
            memory = replace(memory, correction=self._learned(memory))
        return AdaptiveState(self.parts.model.advance(belief, action, observation), memory)

    def _is_strange(self, observation: Array, action: Array, recent: Sequence[PastTick]) -> bool:
        """Tell whether inputs are far outside the trained range, or missing for some time."""
        observed, acted = self._gates
        if observed.outside(observation) is not None or acted.outside(action) is not None:
            return True
        lately = recent[-MISSING:]
        return bool(np.isnan(observation).all()) and all(
            np.isnan(tick.observation).all() for tick in lately
        )

    def forecast(self, state: AdaptiveState, actions: Array) -> Array:
        """Return the forecast (H, d_o), or (B, H, d_o), as corrected, given the next H actions."""
        forecast = self.parts.model.forecast(state.belief, actions)
        if isinstance(state.memory, AdaptationMemory):
            return self._corrected(state.memory, forecast, actions)
        plans = np.broadcast_to(actions, (len(forecast), *actions.shape[-2:]))
        each = zip(state.memory, forecast, plans, strict=True)
        return np.stack([self._corrected(memory, one, plan) for memory, one, plan in each])

    def jacobian(self, state: AdaptiveState, actions: Array) -> Array:
        """Return the derivatives (H, d_o, H, d_a) of the forecast by the actions (H, d_a).

        Of a batch of plans (B, H, d_a) they are (B, H, d_o, H, d_a).

        Raises
        ------
        InputError
            If forecasts of the model are no smooth function of the actions.
        """
        plain = self.parts.model.jacobian(state.belief, actions)
        forecast = self.parts.model.forecast(state.belief, actions)
        if isinstance(state.memory, AdaptationMemory):
            return self._derived(state.memory, forecast, actions, plain)
        plans = np.broadcast_to(actions, (len(forecast), *actions.shape[-2:]))
        each = zip(state.memory, forecast, plans, plain, strict=True)
        return np.stack([self._derived(*one) for one in each])

    def _derived(
        self, memory: AdaptationMemory, forecast: Array, actions: Array, plain: Array
    ) -> Array:
        seen = self._looked_at(memory.seen)
        return self._learner.jacobian(memory.correction, forecast, actions, seen, plain)

    def _corrected(self, memory: AdaptationMemory, forecast: Array, actions: Array) -> Array:
        seen = self._looked_at(memory.seen)
        return self._learner.corrected(memory.correction, forecast, actions, seen)

    def _looked_at(self, seen: tuple[Array, ...]) -> Array:
        """Return the newest observation and that some ticks before it (2, d_o); NaN if unknown."""
        if not seen:
            return np.full((2, len(self.signature.observation_names)), np.nan)
        return np.stack([seen[-1], seen[0]])

    def _learned(self, memory: AdaptationMemory) -> Correction:
        """Return what is known once the oldest of the recent ticks' forecast has turned out."""
        first, now = memory.recent[0], memory.correction
        origin = memory.ticks - self.parts.horizon
        if origin < self._settled:
            return now
        if origin - memory.strange < SETTLED:
            return self._learner.rejected(now)
        actions = np.stack([seen.action for seen in memory.recent])
        forecast = self.parts.model.forecast(first.belief, actions)
        if not usable(forecast):
            return self._learner.rejected(now)
        regressors = self._regressors(forecast, actions, self._looked_at(first.before))
        observations = np.stack([seen.observation for seen in memory.recent])
        return self._learner.learned(now, first.correction, forecast, regressors, observations)


def correction_in(state: Any) -> Correction | None:
    """Return what a state has learned of errors; None if it is not one of an adaptive model."""
    return state.memory.correction if isinstance(state, AdaptiveState) else None


def taken_over(model: PredictiveModel[Any], state: Any, before: Any) -> Any:
    """Return a state as one of ``model``, with what the state ``before`` had learned.

    The state is one of the same model, whether it adapts or not; None stays None.
    """
    if state is None:
        return None
    belief = state.belief if isinstance(state, AdaptiveState) else state
    return model.adaptive(belief, before) if isinstance(model, AdaptiveModel) else belief


def _filled(observation: Array, before: tuple[Array, ...]) -> Array:
    """Return an observation (d_o,), the one before in place of what is missing."""
    missing = np.isnan(observation)
    return np.where(missing, before[-1], observation) if before and missing.any() else observation


def cannot_adapt(model: PredictiveModel[Any]) -> str:
    """Return why a model cannot correct itself; empty if it can."""
    if None not in model.trained_range:
        return ""
    return "adapt needs a model that knows the range it was trained on, and this one does not"


def _usual_error(model: PredictiveModel[Any], horizon: int, unknown: Array) -> Array:
    """Return usual errors (horizon, d_o) in training, by bands or mean squares, else a guess."""
    usual = np.full((horizon, len(unknown)), np.nan)
    squares = training_error(model)
    if model.bands is not None:
        usual = model.bands.half_width(USUAL, horizon)
    elif squares is not None:
        usual[: len(squares)] = np.sqrt(squares[:horizon])
    # Beyond the horizons known, the error is at least the last one's.
    for row in range(1, horizon):
        usual[row] = np.where(np.isnan(usual[row]), usual[row - 1], usual[row])
    return np.where(usual > 0, usual, unknown)
