"""Windows of the newest ticks, and the models whose state is nothing but such a window.

While a sensor is silent, forecasts stand in for its observations, each built on the ones before.
What the forecast is off by at the first observation after g silent ticks, e, has built up since the
last one: so the stand-in of the j-th silent tick moves by e j / (g + 1). Without that an
observation among stand-ins reads as a jump, to a model that looks at differences between ticks as
an absurd speed, and from gap to gap this grows without bound.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple, Protocol

import numpy as np

from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.packing import Packing
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.packed_ensemble import WINDOW, PackedMember
from rffpsr_ros.psr.runtime.packed_parts import in_one_array


class TickWindow(NamedTuple):
    """The newest ``past`` ticks in standard units; before a first tick, what it showed."""

    observations: Array
    """(past, d_o)"""
    actions: Array
    """(past, d_a)"""
    seen: Array
    """Whether any tick was seen, ()."""
    silent: Array
    """(d_o,): for how many ticks nothing was seen of each observation."""

    @classmethod
    def of_start(cls, observation: Array, action: Array, past: int) -> TickWindow:
        """Return the window in which nothing was seen: one tick, (d_o,), (d_a,), stands for all."""
        return cls(
            np.tile(observation, (past, 1)),
            np.tile(action, (past, 1)),
            np.zeros((), dtype=bool),
            np.zeros(len(observation), dtype=np.int64),
        )

    def after(self, observations: Array, actions: Array) -> TickWindow:
        """Return the window after ticks (n, d_o), (n, d_a); the first fills all before it."""
        first = ~self.seen[..., None, None]
        seen = append_rows(
            np.where(first, observations[..., :1, :], self.observations), observations
        )
        acted = append_rows(np.where(first, actions[..., :1, :], self.actions), actions)
        return TickWindow(seen, acted, np.ones(seen.shape[:-2], dtype=bool), self.silent)

    def mended(self, errors: Array, missing: Array) -> TickWindow:
        """Return the window before a tick (d_o,), given how far it is from its forecast."""
        return self._replace(
            observations=mended(self.observations, errors, self.silent),
            silent=silent_after(self.silent, missing),
        )


def append_rows(history: Array, newest: Array) -> Array:
    """Return the history with rows added at its end and as many dropped at its start."""
    rows, columns = history.shape[-2:]
    if history.shape[:-2] != newest.shape[:-2]:
        batch = np.broadcast_shapes(history.shape[:-2], newest.shape[:-2])
        history = np.broadcast_to(history, (*batch, rows, columns))
        newest = np.broadcast_to(newest, (*batch, newest.shape[-2], columns))
    kept = history[..., newest.shape[-2] :, :]
    return np.concatenate([kept, newest[..., -rows:, :]], axis=-2)


def mended(earlier: Array, errors: Array, silent: Array) -> Array:
    """Return the observations (..., P, d_o) of earlier ticks, oldest first.

    ``errors`` (..., d_o) is the observation of the tick after them minus its forecast, NaN where it
    is missing, and ``silent`` (..., d_o) tells for how many ticks there had been none.
    """
    back = np.arange(earlier.shape[-2], 0, -1.0)[:, None]
    share = np.maximum(1.0 - back / (silent[..., None, :] + 1.0), 0.0)
    moved: Array = earlier + share * np.nan_to_num(errors)[..., None, :]
    return moved


def silent_after(silent: Array, missing: Array) -> Array:
    """Return for how many ticks nothing was seen of each observation, after one more tick."""
    return np.where(missing, silent + 1, 0)


class TickWindowParts(Protocol):
    """What the parts of such a model have in common."""

    @property
    def start(self) -> Array:
        """Return the tick (d_o + d_a,) that stands for the past before anything was seen."""
        ...

    @property
    def observation_scaling(self) -> Scaling:
        """Return what makes observations the standard ones of the window."""
        ...

    @property
    def action_scaling(self) -> Scaling:
        """Return what makes actions the standard ones of the window."""
        ...


class TickWindowModel(PredictiveModel[TickWindow]):
    """Follows what happens in a window of ticks; a subclass forecasts from it.

    Attributes
    ----------
    past
        Ticks in the window; `_prepare` of the subclass sets it.
    """

    parts: TickWindowParts
    past: int

    def initial_state(self) -> TickWindow:
        """Return the state in which nothing was seen."""
        start, columns = self.parts.start, len(self.parts.observation_scaling.mean)
        return TickWindow.of_start(start[:columns], start[columns:], self.past)

    def advance(self, state: TickWindow, action: Array, observation: Array) -> TickWindow:
        """Return the window with the new tick; the forecast stands in for missing entries."""
        seen = self.parts.observation_scaling.apply(observation)[..., None, :]
        acted = self.parts.action_scaling.apply(action)[..., None, :]
        missing = np.isnan(seen)
        if missing.any() or state.silent.any():
            expected = self._forecast(state, acted)
            state = state.mended((seen - expected)[..., 0, :], missing[..., 0, :])
            seen = np.where(missing, expected, seen)
        return state.after(seen, acted)

    @abstractmethod
    def _forecast(self, state: TickWindow, plan: Array) -> Array:
        """Return the forecast (..., H, d_o) of plans (..., H, d_a), all in standard units."""

    def packing(self) -> TickWindowPacking:
        """Return how an ensemble follows this model's window together with others' states."""
        return TickWindowPacking(self.parts, self.past)


class TickWindowPacking(Packing[TickWindow]):
    """A window followed by compiled code; forecasts are the model's own."""

    longest = 0

    def __init__(self, parts: TickWindowParts, past: int) -> None:
        seen, acted = parts.observation_scaling, parts.action_scaling
        scaling = [np.concatenate(pair) for pair in zip(acted[:2], seen[:2], strict=True)]
        nothing = np.zeros((0, 0))
        packed = in_one_array([], [nothing, nothing, nothing, np.stack(scaling)])
        observed, self._past = len(seen.mean), past
        self.member = PackedMember(WINDOW, packed, past * len(scaling[0]), silent=observed)

    def pack(self, state: TickWindow) -> Array | None:
        """Return a state's numbers, once it has seen a tick."""
        if state.observations.ndim != 2 or not state.seen or not len(state.observations):
            return None
        return np.concatenate([state.observations.ravel(), state.actions.ravel(), state.silent])

    def unpack(self, numbers: Array) -> TickWindow:
        """Return the state of numbers."""
        split = self._past * self.member.silent
        seen, acted, silent = np.split(numbers, [split, self.member.size])
        past = self._past, -1
        known = np.ones((), dtype=bool)
        return TickWindow(seen.reshape(past), acted.reshape(past), known, silent.astype(np.int64))
