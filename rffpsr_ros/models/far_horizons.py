"""Who forecasts beyond the horizons that models were taught: judged by long runs on held-out parts.

What does best ten ticks ahead may drift away in a hundred. Where recordings are long enough,
output-error models, learned to run freely, join the models of the mixture there, and all shares
are decided anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rffpsr_ros.episodes.trajectory import Array, Trajectory
from rffpsr_ros.errors import InputError
from rffpsr_ros.learning.windows.folds import Fold
from rffpsr_ros.models.candidates import Candidate, best_shares, score
from rffpsr_ros.models.held_out_errors import JUDGED_TICKS
from rffpsr_ros.models.mixture import Trust
from rffpsr_ros.models.output_error import OutputError
from rffpsr_ros.models.output_error_model import OutputErrorModel
from rffpsr_ros.models.predictive_model import PredictiveModel, stack_states

JUDGED_BLOCKS = 4
"""Blocks of a fold that long forecasts are judged on, at the most."""

ORIGINS = 8
"""Long forecasts of a block, about."""

PATIENCE = 2
"""After so many looser ridges without a better score there is none."""

SEEDS = 3
"""Output-error models that are averaged, each with features of its own."""

MUCH = 0.25
"""With a smaller share than this a single one is enough."""


class FarHorizons(NamedTuple):
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


def far_horizons(
    candidates: Sequence[Candidate],
    trust: Trust | None,
    parts: Sequence[Fold],
    judged: Sequence[Sequence[Trajectory]],
    trajectories: Sequence[Trajectory],
    past: int,
    horizon: int,
    learner: OutputError,
) -> FarHorizons | None:
    """Return what forecasts beyond ``horizon``; None where nothing is long enough to tell.

    ``judged`` are blocks of what each fold holds out, on which the candidates' models are judged.
    """
    runs = LongRuns([_long(blocks) for blocks in judged], past, horizon)
    columns = len(trajectories[0].observation_names), len(trajectories[0].action_names)
    if not all(runs.blocks) or learner.directions(*columns) < 1:
        return None
    came = runs.targets()
    deviation = np.nanstd(np.concatenate([t.observations for t in trajectories]), axis=0)
    made = [runs.forecasts(candidate.by_fold) for candidate in candidates]

    def errors(forecasts: Sequence[Array]) -> list[Array]:
        if trust is not None:
            instead = made[trust.fallback]
            forecasts = [trust(f, i) for f, i in zip(forecasts, instead, strict=True)]
        return [target - forecast for target, forecast in zip(came, forecasts, strict=True)]

    try:
        ridge, by_fold, own = _chosen(
            learner, parts, lambda models: errors(runs.forecasts(models)), deviation
        )
    except InputError:
        return None
    every = [*(errors(forecasts) for forecasts in made), own]
    shares = best_shares(every, deviation)
    members = []
    if shares[..., -1].any():
        count = SEEDS if shares[..., -1].mean() >= MUCH else 1
        seeds = range(learner.seed, learner.seed + count)
        members = [
            OutputError(learner.past, learner.features, ridge, seed).fit(trajectories)
            for seed in seeds
        ]
    names = [*(candidate.name for candidate in candidates), "output_error"]
    scores = {name: score(e, deviation) for name, e in zip(names, every, strict=True)}
    return FarHorizons(Candidate("output_error", members, by_fold, own), shares, scores)


def _chosen(
    learner: OutputError,
    parts: Sequence[Fold],
    errors_of: Callable[[Sequence[OutputErrorModel]], list[Array]],
    deviation: Array,
) -> tuple[float, list[OutputErrorModel], list[Array]]:
    """Return the ridge whose models, one a fold, do best, these models, and their errors.

    Raises
    ------
    InputError
        If a fold has no stretch that is long enough.
    """
    lowest, chosen, later = float("inf"), None, 0
    for by_fold in zip(*(learner.path(part.train) for part in parts), strict=True):
        errors = errors_of(by_fold)
        reached = score(errors, deviation)
        later += 1
        if chosen is None or reached < lowest:
            lowest, chosen, later = reached, (list(by_fold), errors), 0
        if later == PATIENCE:
            break
    assert chosen is not None
    models, missed = chosen
    return float(models[0].record.options["ridge"] or np.inf), models, missed


def _long(blocks: Sequence[Trajectory]) -> list[Trajectory]:
    """Return a few of the blocks that are long enough, evenly spread."""
    enough = [block for block in blocks if len(block) >= JUDGED_TICKS]
    if len(enough) <= JUDGED_BLOCKS:
        return enough
    chosen = np.linspace(0, len(enough) - 1, JUDGED_BLOCKS).round().astype(int)
    return [enough[index] for index in chosen]


def _windows(values: Array, origins: range, length: int) -> Array:
    """Return the values (n, length, d) of the ticks from each of n origins on."""
    windows = sliding_window_view(values, length, axis=0).swapaxes(1, 2)
    return np.asarray(windows[np.array(origins)])
