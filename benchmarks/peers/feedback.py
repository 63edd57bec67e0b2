"""One-step models of a window of the past, whose predictions are fed back.

The next observation is a function of the last ``past`` observations, as many actions and the action
in force. So the forecast at horizon h depends on the first h actions only.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rffpsr_ros.data.scaling import Run, Scaling, fit_scaling
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import sizes
from rffpsr_ros.recordings.trajectory import Trajectory

MARGIN = 0.5
"""Predictions fed back stay within the training range widened by so many times its width on both
sides: a model that diverges shall be wrong, not infinite."""


class WindowState(NamedTuple):
    """The newest ticks in standard units, oldest first."""

    observations: Array
    """(past, d_o)"""
    actions: Array
    """(past, d_a)"""
    ticks: Array
    """Ticks seen so far, () integer."""


class Scalings(NamedTuple):
    """Mean, deviation and range of the training columns."""

    observation: Annotated[Scaling, sizes(d="d_o")]
    action: Annotated[Scaling, sizes(d="d_a")]

    @classmethod
    def of(cls, trajectories: Sequence[Trajectory]) -> Scalings:
        """Return the scalings of trajectories' columns."""
        return cls(
            fit_scaling([t.observations for t in trajectories]),
            fit_scaling([t.actions for t in trajectories]),
        )


class FeedbackParts(Protocol):
    """What the parts of such a model have in common."""

    @property
    def past(self) -> int:
        """Return the ticks of the window."""
        ...

    @property
    def scalings(self) -> Scalings:
        """Return the scalings of the columns."""
        ...


class FeedbackModel(PredictiveModel[WindowState]):
    """What all models of a window share; a subclass says what comes next."""

    parts: FeedbackParts

    def _prepare(self) -> None:
        scaling = self.parts.scalings.observation
        self._low, self._high = (scaling.apply(limit) for limit in scaling.limits(MARGIN))

    @abstractmethod
    def _next(self, observations: Array, actions: Array) -> Array:
        """Return the next observation (..., d_o), all in standard units.

        ``observations`` (..., past, d_o) and ``actions`` (..., past + 1, d_a), the action in force
        being the last.
        """

    def initial_state(self) -> WindowState:
        """Return the state in which nothing was seen: means of training."""
        return WindowState(
            np.zeros((self.parts.past, len(self.parts.scalings.observation.mean))),
            np.zeros((self.parts.past, len(self.parts.scalings.action.mean))),
            np.zeros((), dtype=np.int64),
        )

    def advance(self, state: WindowState, action: Array, observation: Array) -> WindowState:
        """Return the window with the new tick; the first one stands for all ticks before it."""
        act = self.parts.scalings.action.apply(action)
        seen = self.parts.scalings.observation.apply(observation)
        if np.isnan(seen).any():
            seen = np.where(np.isnan(seen), self._ahead(state, act), seen)
        begins = (state.ticks == 0)[..., None, None]
        return WindowState(
            np.where(begins, seen[..., None, :], _append(state.observations, seen)),
            np.where(begins, act[..., None, :], _append(state.actions, act)),
            state.ticks + 1,
        )

    def forecast(self, state: WindowState, actions: Array) -> Array:
        """Return the forecast (H, d_o) or (B, H, d_o)."""
        planned = self.parts.scalings.action.apply(actions)
        forecast = []
        for step in range(actions.shape[-2]):
            action = planned[..., step, :]
            forecast.append(self._ahead(state, action))
            state = WindowState(
                _append(state.observations, forecast[-1]),
                _append(state.actions, action),
                state.ticks,
            )
        return self.parts.scalings.observation.invert(np.stack(forecast, axis=-2))

    def _ahead(self, state: WindowState, action: Array) -> Array:
        batch = np.broadcast_shapes(state.actions.shape[:-2], action.shape[:-1])
        past = np.broadcast_to(state.actions, (*batch, *state.actions.shape[-2:]))
        now = np.broadcast_to(action, (*batch, action.shape[-1]))[..., None, :]
        predicted = self._next(state.observations, np.concatenate([past, now], axis=-2))
        return np.clip(predicted, self._low, self._high)


def windows(runs: Iterable[Run], past: int) -> tuple[Array, Array, Array]:
    """Return all observations (N, past, d_o), actions (N, past + 1, d_a) and targets (N, d_o).

    Ticks with missing values are left out.
    """
    parts: list[tuple[Array, Array, Array]] = []
    for observations, actions in runs:
        if len(actions) <= past:
            continue
        seen = sliding_window_view(observations[:-1], past, axis=0).swapaxes(1, 2)
        acted = sliding_window_view(actions, past + 1, axis=0).swapaxes(1, 2)
        targets = observations[past:]
        complete = np.isfinite(seen).all(axis=(1, 2)) & np.isfinite(targets).all(axis=1)
        parts.append((seen[complete], acted[complete], targets[complete]))
    seen, acted, targets = (np.concatenate(column) for column in zip(*parts, strict=True))
    return seen, acted, targets


def _append(window: Array, newest: Array) -> Array:
    """Return the window (..., n, d) one tick later, with ``newest`` (..., d) at its end."""
    batch = np.broadcast_shapes(window.shape[:-2], newest.shape[:-1])
    newest = np.broadcast_to(newest, (*batch, newest.shape[-1]))[..., None, :]
    older = np.broadcast_to(window[..., 1:, :], (*batch, *window[..., 1:, :].shape[-2:]))
    return np.concatenate([older, newest], axis=-2)
