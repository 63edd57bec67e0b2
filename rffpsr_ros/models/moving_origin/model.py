"""Models of robots that move by the same law wherever they are, about an origin that moves along.

A vehicle that leaves the place where it was recorded drives on as it did there. What it is told by
is where it is: a nonlinear model knows the positions it has seen, and no others. So once a position
leaves these, the origin moves such that the robot is again in their midst, and what was seen lately
is followed anew from there. Forecasts are moved back. Within the positions seen nothing changes.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.input_gate import REJECTION_THRESHOLD, InputRange, TrainedRange
from rffpsr_ros.models.rff_psr.filter_monitor import Events
from rffpsr_ros.models.state_batches import state_at, with_state
from rffpsr_ros.models.tick_window import append_rows
from rffpsr_ros.models.usable import usable
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds, sizes

HISTORIES = 2
"""So many times as many ticks are followed anew as a history must have to tell of a state."""

_MOST = 1e100
"""Of absurd values no more is kept: their squares must not overflow."""

LEAST_TICKS = 20
"""So many at the least: some models follow what happens and have no such history."""


class MovingOriginState(NamedTuple):
    """What the inner model believes, about which origin, and what it came from."""

    inner: Any
    origin: Array
    """(d_o,), in the observations' units; 0 where the law is not the same everywhere."""
    ticks: Array
    """(P, d_a + 2 d_o + 1): the newest, the last one last, each an action, an observation, ones
    where this was missing, and a one; zeros before a first."""


class MovingOriginParts(NamedTuple):
    """A model, and which observations may be moved together with their forecasts."""

    inner: Annotated[PredictiveModel[Any], sizes(d_o="d_o", d_a="d_a")]
    free: Annotated[Array, holds("d_o", least=0, most=1, whole=True)]
    """1 where the law does not depend on how large an observation is."""
    centre: Annotated[Array, holds("d_o")]
    """Where the origin puts the robot: amid what it was trained on."""


class MovingOriginModel(PredictiveModel[MovingOriginState]):
    """A model whose free observations are followed relative to an origin."""

    kind: ClassVar[str] = "moving_origin"
    parts_class = MovingOriginParts
    parts: MovingOriginParts

    def _prepare(self) -> None:
        inner, free, _ = self.parts
        self._observed, self._acted = len(free), len(self.signature.action_names)
        self._low, self._high = np.full((2, self._observed), np.inf)
        self._low *= -1
        if (known := inner.trained_range.observations) is not None:
            self._low = np.where(free, known.low, self._low)
            self._high = np.where(free, known.high, self._high)
        watched = np.flatnonzero(np.isfinite(self._low) & np.isfinite(self._high)).tolist()
        self._watched = [(one, float(self._low[one]), float(self._high[one])) for one in watched]
        self._past = max(HISTORIES * inner.history_length, LEAST_TICKS)

    @property
    def history_length(self) -> int:
        """Ticks after which the inner model knows better than its initial state."""
        return self.parts.inner.history_length

    @property
    def trained_range(self) -> TrainedRange:
        """Return the inner model's."""
        return self.parts.inner.trained_range

    @property
    def known_range(self) -> TrainedRange:
        """Return the inner model's, without bounds for what may be moved."""
        observations, actions = self.parts.inner.known_range
        if observations is None:
            return TrainedRange(None, actions)
        free, (low, high) = self.parts.free.astype(bool), observations
        everywhere = InputRange(np.where(free, -np.inf, low), np.where(free, np.inf, high))
        return TrainedRange(everywhere, actions)

    def sound_state(self, state: MovingOriginState) -> MovingOriginState:
        """Return the state, with what the inner model has for one that cannot be used."""
        if not (usable(state.origin) and usable(state.ticks)):
            return self.initial_state()
        inner = self.parts.inner.sound_state(state.inner)
        return state if inner is state.inner else state._replace(inner=inner)

    def initial_state(self) -> MovingOriginState:
        """Return the inner model's initial state, about the origin of the recordings."""
        ticks = np.zeros((self._past, self._acted + 2 * self._observed + 1))
        return MovingOriginState(self.parts.inner.initial_state(), np.zeros(self._observed), ticks)

    def state_from_history(self, observations: Array, actions: Array) -> MovingOriginState:
        """Return the inner model's state after a history (T, d_o), (T, d_a), about its end."""
        start = self.initial_state()
        if not len(observations):
            return start
        origin = self._moved(start.origin, _last_seen(observations))
        inner = self.parts.inner.state_from_history(observations - origin, actions)
        ticks = append_rows(start.ticks, _as_ticks(actions, observations))
        return MovingOriginState(inner, origin, ticks)

    def advance(
        self, state: MovingOriginState, action: Array, observation: Array
    ) -> MovingOriginState:
        """Return the state after an action (d_a,) acted and an observation (d_o,) was seen."""
        near = observation - state.origin
        if observation.ndim == 1:
            if self._leaves(near):
                return self._beyond(state, action, observation)
            return self._within(state, action, observation, near)
        beyond = np.array([self._leaves(row) for row in near])
        after = self._within(state, action, observation, np.where(beyond[:, None], 0.0, near))
        after = after._replace(origin=np.broadcast_to(state.origin, observation.shape))
        for one in np.flatnonzero(beyond).tolist():
            moved = self._beyond(state_at(state, one), action[one], observation[one])
            after = with_state(after, one, moved)
        return after

    def forecast(self, state: MovingOriginState, actions: Array) -> Array:
        """Return the forecast (H, d_o), or (B, H, d_o), given the next H actions."""
        inner = self.parts.inner.forecast(state.inner, actions)
        return np.asarray(inner + state.origin[..., None, :])

    def jacobian(self, state: MovingOriginState, actions: Array) -> Array:
        """Return the derivatives (H, d_o, H, d_a), or (B, H, d_o, H, d_a), of the forecast."""
        return self.parts.inner.jacobian(state.inner, actions)

    def jacobian_along(self, state: MovingOriginState, actions: Array, forecast: Array) -> Array:
        """Return what `jacobian` does; the model's forecast of the actions was made already."""
        near = forecast - state.origin[..., None, :]
        return self.parts.inner.jacobian_along(state.inner, actions, near)

    def predict_with_gradient(
        self, state: MovingOriginState, actions: Array, weights: Array
    ) -> tuple[Array, Array]:
        """Return the forecast, and the gradient (H, d_a) of its sum with weights (H, d_o)."""
        near, gradient = self.parts.inner.predict_with_gradient(state.inner, actions, weights)
        return near + state.origin[..., None, :], gradient

    def inference_model(self, compiled: bool = True) -> MovingOriginModel:
        """Return the moving origin before the inner model as it runs live."""
        parts = self.parts._replace(inner=self.parts.inner.inference_model(compiled))
        return self._varied(parts=parts)

    @property
    def compiled_form(self) -> str | None:
        """Return which compiled code the inner model runs by."""
        return self.parts.inner.compiled_form

    def events(self, state: MovingOriginState) -> Events:
        """Return what happened to the inner model's beliefs, counted by kind."""
        count = getattr(self.parts.inner, "events", None)
        return Events.none() if count is None else count(state.inner)

    def _leaves(self, near: Array) -> bool:
        """Tell whether an observation (d_o,) relative to the origin has left what was seen."""
        return any(near[place] < low or near[place] > high for place, low, high in self._watched)

    def _moved(self, origin: Array, observation: Array) -> Array:
        """Return the origin that puts in the midst what has left what was seen."""
        near = observation - origin
        left = (near < self._low) | (near > self._high)
        return np.where(left, observation - self.parts.centre, origin)

    def _within(
        self, state: MovingOriginState, action: Array, observation: Array, near: Array
    ) -> MovingOriginState:
        """Return the state after a tick, which is ``near`` (d_o,) the origin: that stays."""
        ticks = append_rows(state.ticks, _as_ticks(action, observation)[..., None, :])
        inner = self.parts.inner.advance(state.inner, action, near)
        return MovingOriginState(inner, state.origin, ticks)

    def _beyond(
        self, state: MovingOriginState, action: Array, observation: Array
    ) -> MovingOriginState:
        """Return the state after a tick that has left what was seen, about another origin.

        An absurd value counts as missing, as of other models, unless the next one confirms it.
        """
        width, before = self._high - self._low, state.ticks[-1]
        far = REJECTION_THRESHOLD * width
        near = observation - state.origin
        absurd = (near < self._low - far) | (near > self._high + far)
        confirmed = np.abs(observation - self._told(before)) <= width
        if before[-1] and (absurd & ~confirmed).any():
            seen = np.where(absurd, np.nan, observation)
            struck = self._within(state, action, seen, seen - state.origin)
            kept = np.where(
                absurd, np.clip(observation, -_MOST, _MOST), self._told(struck.ticks[-1])
            )
            struck.ticks[-1, self._acted : self._acted + self._observed] = kept
            return struck
        ticks = append_rows(state.ticks, _as_ticks(action, observation)[None])
        step = np.abs(observation - self._seen(before))
        if absurd.any() or (step > width).any():  # it was put elsewhere: nothing moves like that
            ticks[:-1] = 0.0
        return self._followed_anew(ticks, self._moved(state.origin, observation))

    def _followed_anew(self, ticks: Array, origin: Array) -> MovingOriginState:
        """Return the state after ticks (P, ...), about an origin."""
        inner = self.parts.inner.initial_state()
        for tick in ticks[ticks[:, -1] > 0]:
            near = self._seen(tick) - origin
            inner = self.parts.inner.advance(inner, tick[: self._acted], near)
        return MovingOriginState(inner, origin, ticks)

    def _told(self, tick: Array) -> Array:
        """Return what a row of ticks keeps of its observation (d_o,): absurd values, too."""
        return tick[self._acted : self._acted + self._observed]

    def _seen(self, tick: Array) -> Array:
        """Return the observation (d_o,) of a row of ticks, NaN where it was missing."""
        seen, missing = np.split(tick[self._acted : -1], 2)
        return np.where(missing, np.nan, seen)


def _as_ticks(actions: Array, observations: Array) -> Array:
    """Return rows of `MovingOriginState.ticks`, (..., d_a + 2 d_o + 1)."""
    missing = np.isnan(observations)
    seen = np.where(missing, 0.0, observations)
    return np.concatenate([actions, seen, missing, np.ones((*missing.shape[:-1], 1))], axis=-1)


def _last_seen(observations: Array) -> Array:
    """Return the newest value (d_o,) of each column of (T, d_o) that is there; NaN: none is."""
    found = np.full(observations.shape[1], np.nan)
    for row in observations[::-1]:
        found = np.where(np.isnan(found), row, found)
        if not np.isnan(found).any():
            break
    return found
