"""Trials: one candidate configuration on one fold. All that comes before refinement is shared.

Workers compute them side by side, with the same bits as one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.rff_psr.fit import (
    Initialisation,
    RefinedPredictor,
    complete,
    initialise,
    refine,
)
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.models.rff_psr.two_stage_fit import TrainingData, TwoStageFit, fit_two_stages
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.parallel.workers import THIS_PROCESS, Pending, Workers
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.feature_set import fit_features
from rffpsr_ros.recipe.settings import RecipeSettings


class Trial(NamedTuple):
    """The result of one configuration on one fold."""

    score: float
    """On the part held out; NaN where nothing was refined by it."""
    left: float
    """So much of the score that learned features began with is left; 1 where none are learned."""
    finalise: Callable[[], Pending[RFFPSRModel]]
    """Has the model made; it costs some time, so only those that are wanted are finished."""


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

        The ``workers`` compute trials side by side; where the options ask for several minibatches,
        those of a cluster share these instead.
        """
        self._fold = fold
        self._number = number
        self._settings = settings
        self._progress = progress
        self._workers = workers
        self._leading: RFFPSROptions | None = None
        self._beginnings: dict[RFFPSROptions, Pending[_Begun]] = {}
        self._begun = _Begun(None, {})
        self._expected: dict[RFFPSROptions, Pending[_Tried]] = {}
        self._trials: dict[RFFPSROptions, Trial] = {}
        self._best: dict[str, float] = {}

    @property
    def ahead(self) -> bool:
        """Whether trials are computed beforehand: not where that would save no time."""
        return self._workers.together

    @property
    def fitted(self) -> TwoStageFit:
        """What the two stages found; a trial comes before."""
        assert self._begun.fitted is not None
        return self._begun.fitted

    def begin(self, configurations: Iterable[RFFPSROptions], urgency: int = 0) -> None:
        """Have what comes before the refinement of configurations computed beforehand.

        The first of them decides what all share.
        """
        wanted = [self._own(options) for options in configurations]
        self._leading = self._leading or wanted[0]
        if not self.ahead:
            return
        expected = set(map(_start, self._expected))  # whose trials begin with the same
        starts = [one for one in dict.fromkeys(map(_start, wanted)) if one not in expected]
        if len(starts) > 1 and self._begun.fitted is None:
            self._begun = self._workers.submit(self._task([]), self._progress).result()
        urgency = max(urgency, 0 if len(starts) > 1 else 1)
        for start in starts:
            if start not in self._beginnings and (task := self._task([start])).missing:
                self._beginnings[start] = self._workers.submit(task, self._progress, urgency)

    def expect(self, options: RFFPSROptions, urgency: int = 0) -> None:
        """Have a trial computed beforehand, unless it was made already."""
        if not self.ahead:
            return
        options = self._own(options)
        if options in self._expected:
            self._expected[options].hasten(urgency)
        elif options not in self._trials:
            self._expected[options] = self._tried(options, urgency)

    def give_up(self, options: RFFPSROptions) -> None:
        """Have a trial not computed that was expected, unless it is asked for after all."""
        if (expected := self._expected.pop(self._own(options), None)) is not None:
            expected.cancel()

    def start_score(self, options: RFFPSROptions) -> float:
        """Return the score of the best start of refinement."""
        return self._initialised(self._own(options)).starts.score

    def trial(self, options: RFFPSROptions) -> Trial:
        """Return the result of ``options``, computed once; given up if far behind that of others.

        The others are those whose features are drawn, or learned, as these are.
        """
        options = self._own(options)
        if options not in self._trials:
            self._trials[options] = self._trial(options)
        return self._trials[options]

    def _trial(self, options: RFFPSROptions) -> Trial:
        expected = self._expected.pop(options, None) or self._tried(options)
        tried = expected.result()
        hopeless, withstood = self._settings.fit.refinement.hopeless, tried.refined.withstood
        if hopeless * tried.rival >= withstood > hopeless * self._rival(options):
            # The rival was not known when this was begun; with it, it would have been given up.
            self._begun = self._begun.together_with(tried.begun)
            tried = self._tried(options).result()
        self._begun = self._begun.together_with(tried.begun)
        fitted, refined = self._begun.fitted, tried.refined
        assert fitted is not None
        score = refined.notes.get("score_after", float("nan"))
        self._best[options.narx_learning] = min(self._rival(options), score)

        def finalise() -> Pending[RFFPSRModel]:
            task = _Completion(fitted, refined, options, self._settings.fit)
            return self._workers.submit(task, self._progress)

        return Trial(score, _left(refined), finalise)

    def _rival(self, options: RFFPSROptions) -> float:
        """Return the best score by now of those whose features are drawn, or learned, likewise."""
        return self._best.get(options.narx_learning, float("inf"))

    def _own(self, options: RFFPSROptions) -> RFFPSROptions:
        return replace(options, seed=options.seed + self._number)

    def _initialised(self, options: RFFPSROptions) -> Initialisation:
        """Return where refinement starts, computed once."""
        self._take_beginning(options)
        if _start(options) not in self._begun.initialisations:
            pending = self._workers.submit(self._task([options]), self._progress)
            self._begun = self._begun.together_with(pending.result())
        return self._begun.initialisations[_start(options)]

    def _task(self, configurations: Sequence[RFFPSROptions]) -> _Beginning:
        known = self._begun
        wanted = tuple(dict.fromkeys(map(_start, configurations)))
        shared = self._leading or configurations[0]
        of_these = {
            one: known.initialisations[one] for one in wanted if one in known.initialisations
        }
        return _Beginning(
            self._fold if known.fitted is None else None,
            shared,
            _Begun(known.fitted, of_these),
            wanted,
            self._settings.fit,
        )

    def _take_beginning(self, options: RFFPSROptions) -> None:
        """Take what was computed beforehand for options, or at least what all share."""
        wanted = self._beginnings.pop(_start(options), None)
        if wanted is None and self._begun.fitted is None and self._beginnings:
            wanted = self._beginnings.pop(next(iter(self._beginnings)))
        if wanted is not None:
            self._begun = self._begun.together_with(wanted.result())

    def _tried(self, options: RFFPSROptions, urgency: int = 0) -> Pending[_Tried]:
        """Have a trial computed, by one of the workers or with their help."""
        self._take_beginning(options)
        usual = self._settings.fit
        refinement = replace(
            usual.refinement, tries=self._settings.tries, rival=self._rival(options)
        )
        settings = replace(usual, refinement=refinement)
        beginning = self._task([options])
        if options.minibatches == 1:
            task = _Refinement(beginning, options, settings)
            return self._workers.submit(task, self._progress, urgency)
        task = _Refinement(beginning, options, settings, self._workers)
        return THIS_PROCESS.submit(task, self._progress)


def _left(refined: RefinedPredictor) -> float:
    """Return what share of their starting score learned features have left; 1 of all others."""
    before = refined.notes.get("feature_score_before", 0.0)
    return float(refined.notes["feature_score_after"] / before) if before else 1.0


class _Begun(NamedTuple):
    """What comes before refinement, as far as it was computed."""

    fitted: TwoStageFit | None
    initialisations: dict[RFFPSROptions, Initialisation]

    def together_with(self, other: _Begun) -> _Begun:
        return _Begun(self.fitted or other.fitted, self.initialisations | other.initialisations)


def _start(options: RFFPSROptions) -> RFFPSROptions:
    """Return what the initialisation of options is known by."""
    if options.narx_learning == "off":  # then steps of refinement are none of it
        options = replace(options, iterations=RFFPSROptions.iterations)
    return replace(options, refine_from="both")


class _Tried(NamedTuple):
    """A refined predictor, the score it had to keep up with, and what came before."""

    refined: RefinedPredictor
    rival: float
    begun: _Begun


@dataclass(frozen=True)
class _Beginning:
    """The task of what comes before refinement; returned is what was not ``known``."""

    fold: TrainingData | None
    shared: RFFPSROptions
    known: _Begun
    starts: tuple[RFFPSROptions, ...]
    settings: FitSettings

    @property
    def missing(self) -> bool:
        """Whether there is anything to be done."""
        return not set(self.starts) <= set(self.known.initialisations)

    def __call__(self, progress: Progress) -> _Begun:
        fitted, found = self.known.fitted, {}
        with one_blas_thread():
            if fitted is None:
                assert self.fold is not None
                fitted = fit_two_stages(
                    self.fold, self.shared, self.settings, fit_features, progress
                )
            for start in self.starts:
                if start not in self.known.initialisations:
                    found[start] = initialise(fitted, start, self.settings, progress)
        return _Begun(fitted if self.known.fitted is None else None, found)


@dataclass(frozen=True)
class _Refinement:
    """The task of a trial; the ``workers`` share the minibatches of refinement."""

    beginning: _Beginning
    options: RFFPSROptions
    settings: FitSettings
    workers: Workers = THIS_PROCESS

    def __call__(self, progress: Progress) -> _Tried:
        found = self.beginning(progress)
        begun = self.beginning.known.together_with(found)
        assert begun.fitted is not None
        initialisation = begun.initialisations[_start(self.options)]
        with one_blas_thread():
            refined = refine(
                begun.fitted, initialisation, self.options, self.settings, progress, self.workers
            )
        return _Tried(refined, self.settings.refinement.rival, found)


@dataclass(frozen=True)
class _Completion:
    """The task of what follows refinement."""

    fitted: TwoStageFit
    refined: RefinedPredictor
    options: RFFPSROptions
    settings: FitSettings

    def __call__(self, progress: Progress) -> RFFPSRModel:
        with one_blas_thread():
            parts, metrics = complete(
                self.fitted, self.refined, self.options, self.settings, progress
            )
        record = TrainingRecord(asdict(self.options), metrics, self.fitted.notes)
        return RFFPSRModel(self.fitted.signature, record, parts)


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
