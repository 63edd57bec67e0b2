"""Output-error models for long horizons: which window, and how far from a linear recurrence."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.output_error.learner import OutputError
from rffpsr_ros.models.output_error.model import OutputErrorModel
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
    prepared: Preparation,
    judge: SimulationJudge,
    others: Sequence[Sequence[Array]],
    settings: RecipeSettings,
    workers: Workers,
) -> OutputErrorTrial | None:
    """Return the best of all ridges, of the window that does best on the first fold.

    None where a judged block is short, where there are so many columns that windows leave no room
    for features, where a fold has no stretch that is long enough, or where they are far behind on
    the first fold, given the errors of ``others``.
    """
    if any(
        len(block) < settings.block_ticks for block in itertools.chain(*judge.simulations.blocks)
    ):
        return None
    first, *further_folds = prepared.folds
    of_first, patience = judge.of_first_fold(), settings.simulation_patience
    learners = _learners(prepared, settings)
    raced = [_Path(learner, first.train, of_first, patience) for learner in learners]
    try:
        paths = _done(raced, workers)
        if not paths:
            return None
        window = min(range(len(paths)), key=lambda place: paths[place].score)
        rival = min(of_first.score(errors[: len(of_first.targets)]) for errors in others)
        if paths[window].score > settings.simulation_behind * rival:
            return None
        ridges = len(paths[window].models)
        further = [_Path(learners[window], fold.train, ridges=ridges) for fold in further_folds]
        by_fold = [paths[window], *_done(further, workers)]
    except InputError:
        return None
    by_ridge = zip(*(one.models for one in by_fold), strict=True)
    trials = [OutputErrorTrial(models, judge.made_by(models)) for models in by_ridge]
    return min(trials, key=lambda one: judge.score(one.errors))


def _done(paths: Sequence[_Path], workers: Workers) -> list[_Models]:
    coming = [workers.submit(path, silent) for path in paths]
    return [pending.result() for pending in coming]


def _learners(prepared: Preparation, settings: RecipeSettings) -> list[OutputError]:
    """Return a learner for each window that leaves room for features."""
    like, seed = prepared.recordings[0], prepared.options.seed
    columns = len(like.observation_names), len(like.action_names)
    learners = [OutputError(past, seed=seed) for past in settings.simulation_windows]
    return [one for one in learners if one.directions(*columns) >= 1]


def _wanted(weights: Array, settings: RecipeSettings) -> int:
    """Return how many output-error models are worth keeping, with such weights (R, d_o)."""
    if not weights.any():
        return 0
    largest = weights.mean(axis=1).max()
    return settings.simulation_models if largest >= settings.large_weight else 1


@dataclass(frozen=True)
class _Member:
    """The task of an output-error model of all recordings."""

    learner: OutputError
    recordings: Sequence[Trajectory]

    def __call__(self, progress: Progress) -> OutputErrorModel:
        del progress
        return self.learner.fit(self.recordings)


class _Models(NamedTuple):
    """Models of ever looser ridges, and the score of the best, if they were judged."""

    models: Sequence[OutputErrorModel]
    score: float


@dataclass(frozen=True)
class _Path:
    """The task of learning models of ever looser ridges from a fold.

    With a ``judge`` until so many in a row are no better than the best; else as many as ``ridges``.
    It raises `InputError` if there is no stretch that is long enough.
    """

    learner: OutputError
    train: Sequence[Trajectory]
    judge: SimulationJudge | None = None
    patience: int = 0
    ridges: int | None = None

    def __call__(self, progress: Progress) -> _Models:
        del progress
        models: list[OutputErrorModel] = []
        best, later = float("inf"), 0
        for model in itertools.islice(self.learner.path(self.train), self.ridges):
            models.append(model)
            if self.judge is None:
                continue
            score = self.judge.score(self.judge.made_by([model]))
            best, later = min(best, score), 0 if score < best else later + 1
            if later == self.patience:
                break
        return _Models(models, best)
