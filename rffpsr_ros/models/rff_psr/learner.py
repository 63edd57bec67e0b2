"""`SingleRFFPSR`: learns one predictive state representation with random Fourier features."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np

from rffpsr_ros.data.summary import summarise
from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.errors import check_known
from rffpsr_ros.models.contract import Signature, TrainingRecord
from rffpsr_ros.models.rff_psr.fit import complete, initialise, refine
from rffpsr_ros.models.rff_psr.memory import learning_memory
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.parts import RFFPSRParts
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.models.rff_psr.two_stage_fit import (
    TrainingData,
    TwoStageFit,
    fit_two_stages,
    with_validation,
)
from rffpsr_ros.models.training_set import listed, shared_signature
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.parallel.cluster import workers_of
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.psr.feature_set import FeatureOptions, FittedFeatures, fit_features
from rffpsr_ros.psr.two_stage import FitFeatures
from rffpsr_ros.recordings.trajectory import Trajectory


class SingleRFFPSR:
    """Learner of one `RFFPSRModel`, as the options say: nothing is chosen among candidates.

    Recordings are taken as they are: windows are as long as the options say, and gaps stay open.
    Options are those of `RFFPSROptions`.
    """

    model_class: ClassVar[type[RFFPSRModel]] = RFFPSRModel
    options_class: ClassVar[type[RFFPSROptions]] = RFFPSROptions

    def __init__(self, **options: Any) -> None:
        """Check the options.

        Raises
        ------
        InputError
            If an option is unknown (the nearest known one is named) or has a wrong value.
        """
        check_known(options, self.options_class.names(), "option")
        self.options = self.options_class(**options)

    def fit(
        self,
        train: Iterable[Trajectory],
        validation: Iterable[Trajectory] | None = None,
        *,
        progress: Progress | None = None,
        client: Any = None,
    ) -> RFFPSRModel:
        """Return one model learned from ``train``; ``validation`` judges refinement only.

        Without validation recordings whole trajectories, or the ends of a few, are held out.
        ``progress`` is called with each stage's name, the fraction of it that is done and the error
        by now. With the ``client`` of a Dask cluster the cluster does what grows with the data.

        Raises
        ------
        InputError
            If trajectories do not fit together, a column is constant, or there are too few
            windows; each with one sentence that says what would be right.
        """
        options, report, workers = self.options, progress or silent, workers_of(client)
        train, validation = listed(train, validation)
        shared_signature(train, validation)
        train, held_out, notes = with_validation(train, validation, options)
        report("looking over the recordings", 0.0)
        summary = summarise(train, options.past, options.future, workers)
        data = TrainingData(train, held_out, summary)
        options, limited = self._limited(options, summary.windows)
        data.check(options)
        settings, features = FitSettings(), self._fit_features
        fitted = fit_single(data, options, settings, features, report, workers, notes + limited)
        return self.model_class(*fitted)

    def _limited(
        self, options: RFFPSROptions, windows: int
    ) -> tuple[RFFPSROptions, tuple[str, ...]]:
        """Return options that so many windows allow, and a note of what was changed."""
        return options.following(windows), ()

    def _fit_features(
        self, source: WindowSource, options: FeatureOptions, generator: np.random.Generator
    ) -> FittedFeatures:
        return fit_features(source, options, generator)

    def memory(self, train: Sequence[Trajectory]) -> int:
        """Return the bytes that learning from these trajectories takes at the most."""
        return learning_memory(self.options, train)


def fit_single(
    data: TrainingData,
    options: RFFPSROptions,
    settings: FitSettings,
    features: FitFeatures = fit_features,
    progress: Progress = silent,
    workers: Workers = THIS_PROCESS,
    notes: tuple[str, ...] = (),
) -> tuple[Signature, TrainingRecord, RFFPSRParts]:
    """Return what a model of data that were checked consists of.

    ``notes`` say what was decided before.
    """
    with one_blas_thread():
        fitted = fit_two_stages(data, options, settings, features, progress, workers)
        return fit_from_two_stages(fitted, options, settings, progress, workers, notes)


def fit_from_two_stages(
    fitted: TwoStageFit,
    options: RFFPSROptions,
    settings: FitSettings,
    progress: Progress = silent,
    workers: Workers = THIS_PROCESS,
    notes: tuple[str, ...] = (),
) -> tuple[Signature, TrainingRecord, RFFPSRParts]:
    """Return what a model consists of, as `fit_single`, given what its two stages found."""
    with one_blas_thread():
        start = initialise(fitted, options, settings, progress)
        refined = refine(fitted, start, options, settings, progress, workers)
        parts, metrics = complete(fitted, refined, options, settings, progress)
    record = TrainingRecord(asdict(options), metrics, notes + fitted.notes)
    return fitted.signature, record, parts
