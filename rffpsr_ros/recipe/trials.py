"""Trials: one candidate configuration on one fold. All that comes before refinement is shared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import NamedTuple

from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.rff_psr.fit import Initialisation, complete, initialise, refine
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.two_stage_fit import TrainingData, TwoStageFit, fit_two_stages
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.feature_set import fit_features
from rffpsr_ros.recipe.settings import RecipeSettings


class Trial(NamedTuple):
    """The result of one configuration on one fold."""

    score: float
    """On the part held out; NaN where nothing was refined by it."""
    finalise: Callable[[], RFFPSRModel]
    """Returns the model; it costs some time, so only those that are wanted are finished."""


class FoldLearner:
    """Learns from one fold in any number of configurations.

    These differ in refinement and in ARX and NARX term only.
    """

    def __init__(
        self,
        fold: TrainingData,
        number: int,
        settings: RecipeSettings,
        progress: Progress,
        workers: Workers = THIS_PROCESS,
    ) -> None:
        """Take the recordings; nothing is learned yet. Each ``number`` has a seed of its own.

        The ``workers`` share the minibatches of refinement.
        """
        self._fold = fold
        self._number = number
        self._settings = settings
        self._progress = progress
        self._workers = workers
        self._two_stage_fit: TwoStageFit | None = None
        self._initialisations: dict[RFFPSROptions, Initialisation] = {}
        self._best = float("inf")

    def start_score(self, options: RFFPSROptions) -> float:
        """Return the score of the best start of refinement."""
        return self._initialised(self._own(options))[1].starts.score

    def trial(self, options: RFFPSROptions) -> Trial:
        """Return the result of ``options``; given up if far behind that of others."""
        options = self._own(options)
        fitted, initialisation = self._initialised(options)
        usual = self._settings.fit
        refinement = replace(usual.refinement, tries=self._settings.tries, rival=self._best)
        settings = replace(usual, refinement=refinement)
        with one_blas_thread():
            refined = refine(
                fitted, initialisation, options, settings, self._progress, self._workers
            )

        def finalise() -> RFFPSRModel:
            with one_blas_thread():
                parts, metrics = complete(fitted, refined, options, settings, self._progress)
            return RFFPSRModel(
                fitted.signature, TrainingRecord(asdict(options), metrics, fitted.notes), parts
            )

        score = refined.notes.get("score_after", float("nan"))
        self._best = min(self._best, score)
        return Trial(score, finalise)

    def _own(self, options: RFFPSROptions) -> RFFPSROptions:
        return replace(options, seed=options.seed + self._number)

    def _initialised(self, options: RFFPSROptions) -> tuple[TwoStageFit, Initialisation]:
        """Return what comes before refinement, computed once."""
        settings, progress = self._settings.fit, self._progress
        with one_blas_thread():
            if self._two_stage_fit is None:
                self._two_stage_fit = fit_two_stages(
                    self._fold, options, settings, fit_features, progress
                )
            start = replace(options, refine_from="both")
            if start not in self._initialisations:
                self._initialisations[start] = initialise(
                    self._two_stage_fit, options, settings, progress
                )
        return self._two_stage_fit, self._initialisations[start]


def fold_learners(
    folds: Sequence[TrainingData], settings: RecipeSettings, progress: Progress, workers: Workers
) -> list[FoldLearner]:
    """Return a learner for each fold; progress tells which of them is at work."""

    def reports_of(number: int) -> Progress:
        def of_fold(stage: str, fraction: float, error: float | None = None) -> None:
            progress(f"model {number + 1} of {len(folds)}, {stage}", fraction, error)

        return of_fold

    return [
        FoldLearner(fold, number, settings, reports_of(number), workers)
        for number, fold in enumerate(folds)
    ]
