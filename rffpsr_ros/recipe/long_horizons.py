"""Who forecasts beyond the horizons that models were taught: judged by long runs on held-out parts.

What does best ten ticks ahead may drift away in a hundred. Where recordings are long enough,
output-error models, learned to run freely, join the models of the ensemble there, and all shares
are decided anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rffpsr_ros.data.folds import Fold
from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel, stack_states
from rffpsr_ros.models.ensemble.model import OutputLimits
from rffpsr_ros.models.output_error.learner import OutputError
from rffpsr_ros.models.output_error.model import OutputErrorModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.blend import Candidate, best_shares, score
from rffpsr_ros.recipe.held_out_errors import JUDGED_TICKS
from rffpsr_ros.recordings.trajectory import Trajectory

JUDGED_BLOCKS = 4
"""Blocks of a fold that long forecasts are judged on, at the most."""

ORIGINS = 8
"""Long forecasts of a block, about."""

WINDOWS = (2, 6)
"""Ticks of history in the windows of output-error models; both are tried."""

PATIENCE = 2
"""After so many looser ridges without a better score there is none."""

SEEDS = 3
"""Output-error models that are averaged, each with features of its own."""

MUCH = 0.25
"""With a smaller share than this a single one is enough."""


class LongHorizons(NamedTuple):
    """Output-error models, and everybody's share where they take part."""

    candidate: Candidate
    shares: Array  # (1, d_o, C + 1), theirs last
    scores: Mapping[str, float]


class LongRuns(NamedTuple):
    """Blocks by fold, and how they are judged: after ``past`` ticks, from ``beyond`` ticks on."""

    blocks: Sequence[Sequence[Trajectory]]
    past: int
    beyond: int

    def targets(self) -> list[Array]:
        """Return what is forecast, a group (n, 1, d_o) for each block."""
        return [
            self._far(_windows(block.observations, *self._origins(block)))
            for blocks in self.blocks
            for block in blocks
        ]

    def forecasts(self, by_fold: Sequence[PredictiveModel[Any]]) -> list[Array]:
        """Return the forecasts of models, one a fold, as `targets`."""
        groups = []
        for model, blocks in zip(by_fold, self.blocks, strict=True):
            for block in blocks:
                origins, horizon = self._origins(block)
                states, state = [], model.initial_state()
                for tick in range(origins[-1] + 1):
                    if tick in origins:
                        states.append(state)
                    state = model.update(state, block.actions[tick], block.observations[tick])
                plans = _windows(block.actions, origins, horizon)
                with np.errstate(over="ignore", invalid="ignore"):
                    groups.append(self._far(model.predict(stack_states(states), plans)))
        return groups

    def _origins(self, block: Trajectory) -> tuple[range, int]:
        """Return from where a block is forecast, and how far: over three quarters of it."""
        last = len(block) // 4
        start, horizon = min(self.past, last), len(block) - last
        return range(start, last + 1, max((last - start) // ORIGINS, 1)), horizon

    def _far(self, rows: Array) -> Array:
        """Return the far part of rows (n, H, d_o) as one horizon (m, 1, d_o)."""
        return rows[:, self.beyond :].reshape(-1, 1, rows.shape[2])


def long_horizons(
    candidates: Sequence[Candidate],
    limits: OutputLimits | None,
    parts: Sequence[Fold],
    judged: Sequence[Sequence[Trajectory]],
    trajectories: Sequence[Trajectory],
    past: int,
    horizon: int,
    seed: int,
) -> LongHorizons | None:
    """Return what forecasts beyond ``horizon``; None where nothing is long enough to tell.

    ``judged`` are blocks of what each fold holds out, on which the candidates' models are judged.
    """
    runs = LongRuns([_long(blocks) for blocks in judged], past, horizon)
    columns = len(trajectories[0].observation_names), len(trajectories[0].action_names)
    learners = [OutputError(window, seed=seed) for window in WINDOWS]
    learners = [learner for learner in learners if learner.directions(*columns) >= 1]
    if not all(runs.blocks) or not learners:
        return None
    came = runs.targets()
    deviation = np.nanstd(np.concatenate([t.observations for t in trajectories]), axis=0)
    made = [runs.forecasts(candidate.by_fold) for candidate in candidates]

    def errors(forecasts: Sequence[Array]) -> list[Array]:
        if limits is not None:
            instead = made[limits.fallback]
            forecasts = [limits(f, i) for f, i in zip(forecasts, instead, strict=True)]
        return [target - forecast for target, forecast in zip(came, forecasts, strict=True)]

    try:
        tried = [
            _best_ridge(learner, parts, lambda models: errors(runs.forecasts(models)), deviation)
            for learner in learners
        ]
    except InputError:
        return None
    best = min(tried, key=lambda one: one.score)
    every = [*(errors(forecasts) for forecasts in made), best.errors]
    shares = best_shares(every, deviation)
    members = []
    if shares[..., -1].any():
        count = SEEDS if shares[..., -1].mean() >= MUCH else 1
        members = [best.fit(trajectories, seed + number) for number in range(count)]
    names = [*(candidate.name for candidate in candidates), "output_error"]
    scores = {name: score(e, deviation) for name, e in zip(names, every, strict=True)}
    return LongHorizons(
        Candidate("output_error", members, best.models, best.errors), shares, scores
    )


class Tried(NamedTuple):
    """Output-error models of one kind, one a fold, and how they did."""

    score: float
    models: list[OutputErrorModel]
    errors: list[Array]

    def fit(self, trajectories: Sequence[Trajectory], seed: int) -> OutputErrorModel:
        """Return a model of the same kind that is learned from all recordings."""
        options = self.models[0].record.options
        ridge = options["ridge"] or float("inf")
        return OutputError(options["past"], options["features"], ridge, seed).fit(trajectories)


def _best_ridge(
    learner: OutputError,
    parts: Sequence[Fold],
    errors_of: Callable[[Sequence[OutputErrorModel]], list[Array]],
    deviation: Array,
) -> Tried:
    """Return the models, one a fold, of the ridge with which they do best.

    Raises
    ------
    InputError
        If a fold has no stretch that is long enough.
    """
    best, later = None, 0
    for by_fold in zip(*(learner.path(part.train) for part in parts), strict=True):
        errors = errors_of(by_fold)
        reached = score(errors, deviation)
        later += 1
        if best is None or reached < best.score:
            best, later = Tried(reached, list(by_fold), errors), 0
        if later == PATIENCE:
            break
    assert best is not None
    return best


def _long(blocks: Sequence[Trajectory]) -> list[Trajectory]:
    """Return a few of the blocks that are long enough, evenly spread."""
    enough = [block for block in blocks if len(block) >= JUDGED_TICKS]
    return evenly_spread(enough, JUDGED_BLOCKS)


def _windows(values: Array, origins: range, length: int) -> Array:
    """Return the values (n, length, d) of the ticks from each of n origins on."""
    windows = sliding_window_view(values, length, axis=0).swapaxes(1, 2)
    return np.asarray(windows[np.array(origins)])
