"""Which observations are free: the robot moves by the same law however large they are.

Of a position on a plane that is so, of the angle of a pendulum it is not. Recordings tell: windows
of them are moved by as much as they lie apart, and a model forecasts from each as it was and from
each as if it were where another one is. If it errs no more there, the law is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.data.saturation import learned_bounds
from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.moving_origin.learner import about_moving_origin
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.state_batches import stack_states
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory

FEWEST = 100
"""Of fewer windows nothing is concluded."""

SETTLED = 20
"""Ticks of a window, at the least; twice the history that tells of a state, if that is more."""

FEW, LOOSE = 20, 3.0
"""So few windows of each model tell first, by thresholds so many times as loose."""

_TINY = 1e-300
"""What a squared error counts at the least where logarithms of it are taken."""


class Judged(NamedTuple):
    """A model, and recordings that it has not learned from."""

    model: PredictiveModel[Any]
    held_out: Sequence[Trajectory]


def with_moving_origin(
    model: PredictiveModel[Any],
    judged: Sequence[Judged],
    recordings: Sequence[Trajectory],
    options: RFFPSROptions,
    settings: RecipeSettings,
) -> PredictiveModel[Any]:
    """Return the model about an origin that moves where observations are free; itself if none is.

    ``judged`` are such models as it is made of, ``recordings`` all of its data.
    """
    if options.moving_origin == "off":
        return model
    free = free_observations(judged, recordings, options, settings)
    if not free:
        return model
    names = ", ".join(model.signature.observation_names[one] for one in free)
    told = (
        f"the robot moves by the same law wherever {names} {'are' if len(free) > 1 else 'is'}, as"
        " moved recordings are forecast as well; beyond the range recorded it is forecast as within"
    )
    record = replace(model.record, notes=(*model.record.notes, told))
    return about_moving_origin(model.replaced(record=record), free, recordings)


class _Windows(NamedTuple):
    """Stretches of recordings, and what followed."""

    observations: Array  # (n, P, d_o)
    actions: Array  # (n, P, d_a)
    plans: Array  # (n, H, d_a)
    targets: Array  # (n, H, d_o)


def free_observations(
    judged: Sequence[Judged],
    recordings: Sequence[Trajectory],
    options: RFFPSROptions,
    settings: RecipeSettings,
) -> list[int]:
    """Return the columns of free observations, which may be moved together.

    A few windows tell of most columns that they are not.
    """
    every = [_windows(one, options.rollout_horizon, settings) for one in judged]
    windows = [(one.model, found) for one, found in zip(judged, every, strict=True) if found]
    if sum(len(found.plans) for _, found in windows) < FEWEST:
        return []
    rows = np.concatenate([one.observations for one in recordings])
    places = rows[np.isfinite(rows).all(axis=1)]
    draw = np.random.default_rng(options.seed)
    trials = [
        _Trial(
            model,
            found,
            places[draw.integers(len(places), size=len(found.plans))] - found.observations[:, -1],
        )
        for model, found in windows
    ]
    remains, within = settings.free_remains, settings.free_within
    quick = _Search([one.thinned(FEW) for one in trials], LOOSE * remains, LOOSE * within)
    promising = quick.among(_unbounded(recordings))
    return _Search(trials, remains, within).among(promising) if promising else []


class _Trial(NamedTuple):
    """A model, windows that it has not learned from, and by how much they are moved."""

    model: PredictiveModel[Any]
    windows: _Windows
    moves: Array  # (n, d_o)

    def thinned(self, most: int) -> _Trial:
        """Return the trial of a few of the windows, evenly spread."""
        some = evenly_spread(range(len(self.moves)), most)
        return _Trial(
            self.model, _Windows(*(part[some] for part in self.windows)), self.moves[some]
        )

    def forecasts(self, moved: Sequence[int]) -> Array:
        """Return forecasts (n, H, d_o) of windows of which some columns are moved, moved back."""
        model, (observations, actions, plans, _), moves = self
        moves = moves * np.isin(np.arange(moves.shape[1]), moved)
        state = stack_states([model.initial_state()] * len(moves))
        with np.errstate(over="ignore", invalid="ignore"):
            for tick in range(actions.shape[1]):
                state = model.advance(state, actions[:, tick], observations[:, tick] + moves)
            return np.asarray(model.forecast(state, plans) - moves[:, None])


class _Search:
    """Which columns are free, by trials; ``remains`` and ``within`` as in `RecipeSettings`."""

    def __init__(self, trials: Sequence[_Trial], remains: float, within: float) -> None:
        self._trials, self._remains, self._within = trials, remains, within
        self._targets = np.concatenate([one.windows.targets for one in trials])
        self._sizes = np.mean(np.concatenate([one.moves for one in trials]) ** 2, axis=0)

    def among(self, columns: Sequence[int]) -> list[int]:
        """Return those that are, each beside the ones before it."""
        plain, free = self._forecasts([]), list[int]()
        for column in columns:
            moved = self._forecasts([*free, column])
            remains = self._remains * self._sizes[column]
            if moved.go_along(plain, column, remains) and moved.no_worse(plain, self._within):
                free.append(column)
        return free

    def _forecasts(self, moved: Sequence[int]) -> _Forecasts:
        made = [one.forecasts(moved) for one in self._trials]
        return _Forecasts(np.concatenate(made), self._targets)


def _unbounded(recordings: Sequence[Trajectory]) -> list[int]:
    """Return the columns for which recordings show no bounds."""
    bounds = learned_bounds([one.observations for one in recordings])
    columns = range(recordings[0].observations.shape[1])
    if bounds is None:
        return list(columns)
    return [one for one in columns if np.isinf([bounds.low[one], bounds.high[one]]).all()]


def _windows(judged: Judged, horizon: int, settings: RecipeSettings) -> _Windows | None:
    """Return windows evenly spread over recordings, all of them seen; None if there are none."""
    past = max(2 * judged.model.history_length, SETTLED)
    places = [
        (run, tick)
        for run in judged.held_out
        for tick in range(past, len(run) - horizon + 1)
        if np.isfinite(run.observations[tick - past : tick + horizon]).all()
    ]
    if judged.model.trained_range.observations is None or not places:
        return None
    parts = [
        (
            run.observations[tick - past : tick],
            run.actions[tick - past : tick],
            run.actions[tick : tick + horizon],
            run.observations[tick : tick + horizon],
        )
        for run, tick in evenly_spread(places, settings.free_windows)
    ]
    return _Windows(*(np.stack(part) for part in zip(*parts, strict=True)))


class _Forecasts(NamedTuple):
    """Forecasts (n, H, d_o) of windows, and what followed."""

    values: Array
    targets: Array

    def go_along(self, plain: _Forecasts, column: int, remains: float) -> bool:
        """Tell whether a column's forecasts moved as its observations did, up to mean squares.

        What returns to its usual value does not, however noise hides that in errors.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            left = np.mean((self.values - plain.values)[..., column] ** 2, axis=0)
        return bool((left <= remains).all())

    def no_worse(self, plain: _Forecasts, within: float) -> bool:
        """Tell whether errors are as small as those of windows as they were.

        In the mean, which the largest decide, and in the mean of logarithms, which all do.
        """
        moved, usual = self.squared_errors, plain.squared_errors
        means = moved.mean(axis=0) <= within * usual.mean(axis=0)
        typical = np.log((moved + _TINY) / (usual + _TINY)).mean(axis=0) <= np.log(within)
        return bool((means & typical).all())

    @property
    def squared_errors(self) -> Array:
        """Return the mean over the horizon, (n, d_o); infinite where a forecast ran away."""
        with np.errstate(over="ignore", invalid="ignore"):
            squared = ((self.values - self.targets) ** 2).mean(axis=1)
        return np.where(np.isfinite(squared), squared, np.inf)
