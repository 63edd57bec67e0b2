"""`RFFPSR`: learns a predictive state representation with random Fourier features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import methodcaller
from typing import Any

from rffpsr_ros.data.gaps import without_gaps
from rffpsr_ros.data.summary import summarise
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.option_checks import check_names
from rffpsr_ros.models.rff_psr.learner import SingleRFFPSR, fit_single
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.models.rff_psr.two_stage_fit import TrainingData, with_validation
from rffpsr_ros.models.training_set import shared_signature
from rffpsr_ros.parallel.cluster import workers_of
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recipe.ensemble_fit import cross_validation_folds, fit_ensemble
from rffpsr_ros.recipe.window_lengths import supported_windows
from rffpsr_ros.recordings.trajectory import Trajectory


class RFFPSR(SingleRFFPSR):
    """Learner of `RFFPSRModel`; without options, the recommended recipe.

    The recipe adds to the paper's predictive state an ARX term and features of a short window,
    starts from two-stage regression and refines the error of rolled-out predictions.
    `RFFPSR.paper` gives the paper's settings. Options are those of `RFFPSROptions`.

    Examples
    --------
    >>> import numpy as np
    >>> from rffpsr_ros import RFFPSR, Trajectory
    >>> draw = np.random.default_rng(0)
    >>> def run(ticks=200):
    ...     actions = draw.uniform(-1, 1, ticks)
    ...     position = np.cumsum(np.cumsum(actions) * 0.01 - 0.005)
    ...     return Trajectory(np.sin(position), actions, period=0.05)
    >>> model = RFFPSR(iterations=20).fit([run(), run(), run()])
    >>> model.predict(model.initial_state(), np.zeros((5, 1))).shape
    (5, 1)
    """

    @classmethod
    def paper(cls, **options: Any) -> RFFPSR:
        """Return a learner with the paper's settings; ``options`` replace single ones.

        10000 features, rank 20, the median bandwidth, refinement of the window error by gradient
        descent, and forecasts from the one-shot window head: neither ARX nor NARX term.
        """
        settings: dict[str, Any] = {
            "past": 20,
            "future": 10,
            "features": 10_000,
            "rank": 20,
            "observation_rank": 20,
            "action_rank": 20,
            "state_rank": 20,
            "bandwidth": 1.0,
            "ridge": 1e-6,
            "refinement": "window",
            "forecast": "window",
            "arx_past": 0,
            "narx_past": 0,
            "narx_features": 0,
        }
        return cls(**(settings | options))

    @classmethod
    def from_mapping(cls, learning: Mapping[str, Any]) -> RFFPSR:
        """Return a learner with the options that stand under ``learning`` in a configuration."""
        known = tuple(f"learning.{name}" for name in RFFPSROptions.names())
        check_names({f"learning.{name}": value for name, value in learning.items()}, known, "key")
        return cls(**learning)

    def fit(  # type: ignore[override]  # a recipe may give an ensemble
        self,
        train: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        progress: Progress | None = None,
        client: Any = None,
    ) -> PredictiveModel[Any]:
        """Return the model learned from ``train`` and ``validation``.

        With more than one fold all recordings are held out in turn, the validation ones too, and
        the result is an ensemble; recordings too few or too short for that give a single model, as
        `fit_one` does. ``progress`` is called with each stage's name and the fraction of it that
        is done and the error by now. With the ``client`` of a Dask cluster the cluster does what
        grows with the data.

        Raises
        ------
        InputError
            If trajectories do not fit together, a column is constant, or there are too few
            windows; each with one sentence that says what would be right.
        """
        together = [*train, *(validation or ())]
        if self.options.models(sum(map(len, together))) > 1:
            shared_signature(train, validation)
            workers = workers_of(client)
            together = list(workers.map(methodcaller("loaded"), together))
            options, notes = supported_windows(self.options, together)
            together, filled = without_gaps(together, options.past, options.future)
            parts = cross_validation_folds(together, options)
            if parts:
                report, notes = progress or silent, notes + filled
                return fit_ensemble(together, parts, options, report, notes, workers)
        return self.fit_one(train, validation, progress=progress, client=client)

    def fit_one(
        self,
        train: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        progress: Progress | None = None,
        client: Any = None,
    ) -> RFFPSRModel:
        """Return one model learned from ``train``; ``validation`` judges refinement only.

        Without validation recordings whole trajectories, or the ends of a few, are held out.

        Raises
        ------
        InputError
            As `fit`.
        """
        report, workers = progress or silent, workers_of(client)
        shared_signature(train, validation)
        options, notes = supported_windows(self.options, train)
        train, held_out, held = with_validation(train, validation, options)
        report("looking over the recordings", 0.0)
        summary = summarise(train, options.past, options.future, workers)
        data = TrainingData(train, held_out, summary)
        data.check(options)
        features = self._fit_features
        return RFFPSRModel(
            *fit_single(data, options, FitSettings(), features, report, workers, notes + held)
        )
