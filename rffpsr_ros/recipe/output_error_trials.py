"""Output-error models for long horizons: which window, and how far from a linear recurrence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.output_error.learner import OutputError
from rffpsr_ros.models.output_error.model import OutputErrorModel
from rffpsr_ros.models.rff_psr.two_stage_fit import TrainingData
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.workers import Workers
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recipe.candidates import Candidate
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.simulations import SimulationJudge
from rffpsr_ros.recordings.trajectory import Trajectory

NAME = "output_error"


class OutputErrorTrial(NamedTuple):
    """How output-error models of one kind simulate, one a fold."""

    by_fold: Sequence[OutputErrorModel]
    errors: list[Array]

    def candidate(
        self, prepared: Preparation, weights: Array, settings: RecipeSettings, workers: Workers
    ) -> Candidate:
        """Return the candidate; its members have a seed, and so features, of their own."""
        options = self.by_fold[0].record.options
        ridge = options["ridge"] or float("inf")
        first = prepared.options.seed
        seeds = range(first, first + _wanted(weights, settings))
        learners = [
            OutputError(options["past"], options["features"], ridge, seed) for seed in seeds
        ]
        tasks = [_Member(learner, prepared.recordings) for learner in learners]
        coming = [workers.submit(task, silent) for task in tasks]
        return Candidate(NAME, [pending.result() for pending in coming], self.by_fold)


def output_error_trial(
    prepared: Preparation, judge: SimulationJudge, settings: RecipeSettings, workers: Workers
) -> OutputErrorTrial | None:
    """Return the best of all windows and ridges.

    None where there are so many columns that windows leave no room for features, or where a fold
    has no stretch that is long enough.
    """
    patience = settings.simulation_patience
    tasks = [
        _BestRidge(learner, prepared.folds, judge, patience)
        for learner in _learners(prepared, settings)
    ]
    coming = [workers.submit(task, silent) for task in tasks]
    try:
        trials = [pending.result() for pending in coming]
    except InputError:
        return None
    return min(trials, key=lambda one: judge.score(one.errors), default=None)


def _learners(prepared: Preparation, settings: RecipeSettings) -> list[OutputError]:
    """Return a learner for each window that leaves room for features."""
    like, seed = prepared.recordings[0], prepared.options.seed
    columns = len(like.observation_names), len(like.action_names)
    learners = [OutputError(past, seed=seed) for past in settings.simulation_windows]
    return [one for one in learners if one.directions(*columns) >= 1]


def _wanted(weights: Array, settings: RecipeSettings) -> int:
    """Return how many output-error models are worth keeping, with such weights (1, d_o)."""
    if not weights.any():
        return 0
    return settings.simulation_models if weights.mean() >= settings.large_weight else 1


@dataclass(frozen=True)
class _Member:
    """The task of an output-error model of all recordings."""

    learner: OutputError
    recordings: Sequence[Trajectory]

    def __call__(self, progress: Progress) -> OutputErrorModel:
        del progress
        return self.learner.fit(self.recordings)


@dataclass(frozen=True)
class _BestRidge:
    """The task of finding the models of the ridge with which they do best, ever looser ones.

    It raises `InputError` if a fold has no stretch that is long enough.
    """

    learner: OutputError
    folds: Sequence[TrainingData]
    judge: SimulationJudge
    patience: int

    def __call__(self, progress: Progress) -> OutputErrorTrial:
        del progress
        best, best_score, later = None, float("inf"), 0
        paths = (self.learner.path(fold.train) for fold in self.folds)
        for by_fold in zip(*paths, strict=True):
            trial = OutputErrorTrial(by_fold, self.judge.made_by(by_fold))
            score = self.judge.score(trial.errors)
            later += 1
            if best is None or score < best_score:
                best, best_score, later = trial, score, 0
            if later == self.patience:
                break
        assert best is not None
        return best
