"""One fold's models: learned in several ways, which share all that comes before refinement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from typing import NamedTuple

from rffpsr_ros.learning.features.feature_set import fit_features
from rffpsr_ros.learning.windows.blas_threads import one_blas_thread
from rffpsr_ros.learning.windows.folds import Fold
from rffpsr_ros.learning.windows.progress import Progress
from rffpsr_ros.models.predictive_model import TrainingRecord
from rffpsr_ros.models.rff_psr import RFFPSRModel
from rffpsr_ros.models.rff_psr_fit import Beginning, begin, complete, refine
from rffpsr_ros.models.rff_psr_groundwork import Groundwork, lay_groundwork
from rffpsr_ros.models.rff_psr_options import RFFPSROptions


class Attempt(NamedTuple):
    """What came of one way."""

    score: float
    """On the part held out; NaN where nothing was refined by it."""
    finish: Callable[[], RFFPSRModel]
    """Returns the model; it costs some time, so only those that are wanted are finished."""


class FoldLearner:
    """Learns from one fold in any number of ways."""

    def __init__(self, part: Fold, progress: Progress) -> None:
        """Take the recordings; nothing is learned yet."""
        self._part = part
        self._progress = progress
        self._groundwork: Groundwork | None = None
        self._beginnings: dict[RFFPSROptions, Beginning] = {}

    def attempt(self, options: RFFPSROptions) -> Attempt:
        """Return what comes of ``options``; calls may differ in windows and refinement only."""
        with one_blas_thread():
            if self._groundwork is None:
                self._groundwork = lay_groundwork(
                    *self._part, options, fit_features, self._progress
                )
            laid = self._groundwork
            start = replace(options, refine_from="both")
            if start not in self._beginnings:
                self._beginnings[start] = begin(laid, options, self._progress)
            # Other ways take the place of more careful tries of the same one.
            learned = refine(laid, self._beginnings[start], options, self._progress, tries=1)

        def finish() -> RFFPSRModel:
            with one_blas_thread():
                parts, metrics = complete(laid, learned, options, self._progress)
            return RFFPSRModel(
                laid.signature, TrainingRecord(asdict(options), metrics, laid.notes), parts
            )

        return Attempt(learned.refinement.get("score_after", float("nan")), finish)
