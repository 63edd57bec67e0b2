"""`SingleRFFPSR`: learns one predictive state representation with random Fourier features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np

from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.option_checks import check_names
from rffpsr_ros.models.rff_psr.fit import complete, initialise, refine
from rffpsr_ros.models.rff_psr.memory import learning_memory
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.two_stage_fit import fit_two_stages, two_stage_options
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.parallel.cluster import workers_of
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.psr.feature_set import FeatureOptions, Fitted, fit_features
from rffpsr_ros.recordings.trajectory import Trajectory


class SingleRFFPSR:
    """Learner of one `RFFPSRModel`, as the options say: nothing is chosen among candidates.

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
        check_names(options, self.options_class.names(), "option")
        self.options = self.options_class(**options)

    def fit(
        self,
        train: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
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
        return self.fit_with(self.options, train, validation, progress, client)

    def fit_with(
        self,
        options: RFFPSROptions,
        train: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        progress: Progress | None = None,
        client: Any = None,
        notes: tuple[str, ...] = (),
    ) -> RFFPSRModel:
        """Return what `fit` does with other ``options``; ``notes`` say what was decided before."""
        with one_blas_thread():
            report, workers = progress or silent, workers_of(client)
            features = self._fit_features
            fitted = fit_two_stages(train, validation, options, features, report, workers)
            start = initialise(fitted, options, report)
            learned = refine(fitted, start, options, report, workers=workers)
            parts, metrics = complete(fitted, learned, options, report)
        record = TrainingRecord(asdict(options), metrics, notes + fitted.notes)
        return self.model_class(fitted.signature, record, parts)

    def _fit_features(
        self, source: WindowSource, options: FeatureOptions, generator: np.random.Generator
    ) -> Fitted:
        return fit_features(source, options, generator)

    def memory(self, train: Sequence[Trajectory]) -> int:
        """Return the bytes that learning from these trajectories takes at the most."""
        columns = len(train[0].observation_names), len(train[0].action_names)
        sizes = two_stage_options(columns, self.options)
        return learning_memory(sizes, sum(columns), sum(map(len, train)))
