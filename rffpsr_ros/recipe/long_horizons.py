"""Blending beyond the horizon that models were trained for, by the error of long simulations.

What does best ten ticks ahead may drift away in a hundred. Where recordings are long enough,
output-error models, which learn from the error of whole simulations, join the candidates there, and
ensemble weights are decided anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.ensemble.model import OutputLimits
from rffpsr_ros.models.output_error.learner import OutputError
from rffpsr_ros.models.rff_psr.two_stage_fit import TrainingData
from rffpsr_ros.models.state_batches import stack_states
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recipe.blend import ensemble_weights, judged_blocks, observation_deviation, score
from rffpsr_ros.recipe.candidates import (
    Candidate,
    OutputErrorCandidate,
    output_error_learners,
    output_error_path,
)
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory

OUTPUT_ERROR = "output_error"


class LongHorizons(NamedTuple):
    """Output-error models, and the weights with which all candidates forecast beyond."""

    candidate: Candidate
    weights: Array  # (1, d_o, C + 1), the output-error models' last
    scores: Mapping[str, float]
    """Of all candidates, by simulation error."""


class Simulations(NamedTuple):
    """Simulations on blocks of each fold, judged from ``beyond`` ticks on."""

    blocks: Sequence[Sequence[Trajectory]]
    past: int
    beyond: int
    origins: int
    settling: float

    def targets(self) -> list[Array]:
        """Return what is forecast, a group (n, 1, d_o) for each block."""
        return [
            self._beyond(_windows(block.observations, *self._origins(block)))
            for of_fold in self.blocks
            for block in of_fold
        ]

    def forecasts(self, by_fold: Sequence[PredictiveModel[Any]]) -> list[Array]:
        """Return the forecasts of models, one a fold, as `targets`."""
        return [
            self._beyond(self._simulated(model, block))
            for model, of_fold in zip(by_fold, self.blocks, strict=True)
            for block in of_fold
        ]

    def _simulated(self, model: PredictiveModel[Any], block: Trajectory) -> Array:
        """Return forecasts (n, H, d_o) from all origins of a block."""
        origins, horizon = self._origins(block)
        states, state = [], model.initial_state()
        for tick in range(origins[-1] + 1):
            if tick in origins:
                states.append(state)
            state = model.update(state, block.actions[tick], block.observations[tick])
        plans = _windows(block.actions, origins, horizon)
        with np.errstate(over="ignore", invalid="ignore"):
            return model.predict(stack_states(states), plans)

    def _origins(self, block: Trajectory) -> tuple[range, int]:
        """Return from where a block is forecast, and how far: to its end from the last of them."""
        last = int(self.settling * len(block))
        start, horizon = min(self.past, last), len(block) - last
        return range(start, last + 1, max((last - start) // self.origins, 1)), horizon

    def _beyond(self, rows: Array) -> Array:
        """Return what of rows (n, H, d_o) lies beyond as one horizon (m, 1, d_o)."""
        return rows[:, self.beyond :].reshape(-1, 1, rows.shape[2])


class SimulationJudge(NamedTuple):
    """Judges simulations by their errors, with limits as they are blended."""

    simulations: Simulations
    targets: Sequence[Array]
    limits: OutputLimits | None
    fallback: Sequence[Array] | None
    """Forecasts of the candidate that limits fall back on."""
    deviation: Array

    def errors(self, made: Sequence[Array]) -> list[Array]:
        """Return the errors of forecasts, a group each."""
        if self.limits is not None:
            assert self.fallback is not None
            made = [self.limits(one, other) for one, other in zip(made, self.fallback, strict=True)]
        return [target - forecast for target, forecast in zip(self.targets, made, strict=True)]

    def trial(self, candidate: OutputErrorCandidate) -> SimulationTrial:
        """Return how models simulate."""
        errors = self.errors(self.simulations.forecasts(candidate.by_fold))
        return SimulationTrial(score(errors, self.deviation), candidate, errors)


def blend_long_horizons(
    candidates: Sequence[Candidate],
    limits: OutputLimits | None,
    prepared: Preparation,
    settings: RecipeSettings,
    workers: Workers = THIS_PROCESS,
) -> LongHorizons | None:
    """Return what forecasts beyond the horizon; None where nothing is long enough to tell.

    Nor where the model itself is to have no ARX or no NARX term.
    """
    options = prepared.options
    if not (options.arx_past and options.narx_features):
        return None
    blocks = [_long(of_fold, settings) for of_fold in judged_blocks(prepared, settings)]
    learners = output_error_learners(prepared, settings)
    if not all(blocks) or not learners:
        return None
    simulations = Simulations(
        blocks,
        options.past,
        options.rollout_horizon,
        settings.long_origins,
        settings.settling,
    )
    targets, deviation = simulations.targets(), observation_deviation(prepared)
    forecasts = [simulations.forecasts(candidate.by_fold) for candidate in candidates]
    fallback = None if limits is None else forecasts[limits.fallback]
    judge = SimulationJudge(simulations, targets, limits, fallback, deviation)
    patience = settings.simulation_patience
    tasks = [_BestRidge(learner, prepared.folds, judge, patience) for learner in learners]
    coming = [workers.submit(task, silent) for task in tasks]
    try:
        trials = [pending.result() for pending in coming]
    except InputError:
        return None
    best = min(trials, key=lambda one: one.score)
    errors = [*map(judge.errors, forecasts), best.errors]
    weights = ensemble_weights(errors, deviation, settings)
    wanted = _wanted(weights[..., -1], settings)
    members = best.candidate.members(prepared, wanted, workers)
    names = [*(candidate.name for candidate in candidates), OUTPUT_ERROR]
    scores = {name: score(one, deviation) for name, one in zip(names, errors, strict=True)}
    return LongHorizons(Candidate(OUTPUT_ERROR, members, best.candidate.by_fold), weights, scores)


def _wanted(weights: Array, settings: RecipeSettings) -> int:
    """Return how many output-error models are worth keeping, with such weights (1, d_o)."""
    if not weights.any():
        return 0
    return settings.simulation_models if weights.mean() >= settings.large_weight else 1


class SimulationTrial(NamedTuple):
    """The result of output-error models of one ridge."""

    score: float
    candidate: OutputErrorCandidate
    errors: list[Array]


@dataclass(frozen=True)
class _BestRidge:
    """The task of finding the models of the ridge with which they do best.

    It raises `InputError` if a fold has no stretch that is long enough.
    """

    learner: OutputError
    folds: Sequence[TrainingData]
    judge: SimulationJudge
    patience: int

    def __call__(self, progress: Progress) -> SimulationTrial:
        del progress
        best, later = None, 0
        for candidate in output_error_path(self.learner, self.folds):
            trial = self.judge.trial(candidate)
            later += 1
            if best is None or trial.score < best.score:
                best, later = trial, 0
            if later == self.patience:
                break
        assert best is not None
        return best


def _long(blocks: Sequence[Trajectory], settings: RecipeSettings) -> list[Trajectory]:
    """Return a few of the blocks that are long enough, evenly spread."""
    enough = [block for block in blocks if len(block) >= settings.block_ticks]
    return evenly_spread(enough, settings.long_blocks)


def _windows(values: Array, origins: range, length: int) -> Array:
    """Return the values (n, length, d) of the ticks from each of n origins on."""
    windows = sliding_window_view(values, length, axis=0).swapaxes(1, 2)
    return np.asarray(windows[np.array(origins)])
