"""`RFFPSR`: learns a predictive state representation with random Fourier features.

The recipe, from top to bottom: recordings are prepared; candidates are learned on folds of them and
one configuration is selected; forecasts are blended by their errors on held-out parts; what the
blend misses there calibrates its bands; models of everything serve. Thresholds stand in
`RecipeSettings`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rffpsr_ros.errors import InputError, check_known
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.low_passed.model import behind_filters
from rffpsr_ros.models.rff_psr.learner import fit_from_two_stages
from rffpsr_ros.models.rff_psr.memory import learning_memory
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.two_stage_fit import TrainingData, TwoStageFit, fit_two_stages
from rffpsr_ros.models.training_set import listed
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.parallel.processes import PROCESSES, checked_processes, workers_for
from rffpsr_ros.parallel.workers import Workers
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.psr.feature_set import fit_features
from rffpsr_ros.recipe.blend import blend
from rffpsr_ros.recipe.calibrate import calibrate, of_fold
from rffpsr_ros.recipe.candidates import Candidate, baselines
from rffpsr_ros.recipe.everything import Everything, learn_from_everything, with_everything
from rffpsr_ros.recipe.free.changes_only import with_changes_only
from rffpsr_ros.recipe.free.observations import Judged, with_moving_origin
from rffpsr_ros.recipe.led_on import leading_on
from rffpsr_ros.recipe.long_horizons import blend_long_horizons
from rffpsr_ros.recipe.more.kept import Learned, keep
from rffpsr_ros.recipe.prepare import Preparation, prepare
from rffpsr_ros.recipe.select import select
from rffpsr_ros.recipe.setting import Setting, set_up
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.slow.actions import with_slow_actions
from rffpsr_ros.recipe.state_spaces.trials import StateSpaceTrials
from rffpsr_ros.recordings.trajectory import Trajectory


class RFFPSR:
    """Learner of `RFFPSRModel`, or of an ensemble of them; without options, the recommended recipe.

    The recipe adds to the paper's predictive state an ARX term and features of a short window,
    starts from two-stage regression and refines the error of rolled-out predictions.
    `RFFPSR.paper` gives the paper's settings. Options are those of `RFFPSROptions`; ``settings``
    are what the recipe decides by. Several models are learned by so many ``processes`` side by
    side, None: one for each core that this process may use; what they learn does not depend on it.

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

    configurable = (*RFFPSROptions.names(), PROCESSES)

    def __init__(
        self,
        *,
        settings: RecipeSettings | None = None,
        processes: int | None = None,
        **options: Any,
    ) -> None:
        """Check the options.

        Raises
        ------
        InputError
            If an option is unknown (the nearest known one is named) or has a wrong value.
        """
        check_known(options, self.configurable, "option")
        self.options = RFFPSROptions(**options)
        self.settings = settings or RecipeSettings()
        self.processes = checked_processes(processes)

    @classmethod
    def paper(cls, **options: Any) -> RFFPSR:
        """Return a learner with the paper's settings; ``options`` replace single ones.

        10000 features, rank 20, the median bandwidth, refinement of the window error by gradient
        descent, and forecasts from the one-shot window head: neither ARX nor NARX term.
        """
        of_paper: dict[str, Any] = {
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
            "margin": 0.1,
            "moving_origin": "off",
        }
        return cls(**(of_paper | options))

    @classmethod
    def from_mapping(cls, learning: Mapping[str, Any]) -> RFFPSR:
        """Return a learner with the options that stand under ``learning`` in a configuration."""
        check_known(learning, cls.configurable, group="learning.")
        return cls(**learning)

    def fit(
        self,
        train: Iterable[Trajectory],
        validation: Iterable[Trajectory] | None = None,
        *,
        progress: Progress | None = None,
        client: Any = None,
    ) -> PredictiveModel[Any]:
        """Return the model learned from ``train`` and ``validation``.

        With more than one fold all recordings are held out in turn, the validation ones too, and
        the result is an ensemble. With one fold, and of recordings too few or too short for more,
        it is a single model; ``validation``, or recordings held out, only tell when to stop.
        ``progress`` is called with each stage's name and the fraction of it that is done and the
        error by now. With the ``client`` of a Dask cluster the cluster does what grows with the
        data.

        Raises
        ------
        InputError
            If trajectories do not fit together, a column is constant, or there are too few
            windows; each with one sentence that says what would be right.
        """
        return self._fitted(*listed(train, validation), progress or silent, client).model

    def fit_and_keep(
        self,
        train: Iterable[Trajectory],
        validation: Iterable[Trajectory] | None = None,
        *,
        progress: Progress | None = None,
        client: Any = None,
    ) -> Learned:
        """Return the model that `fit` returns, and what `learn_more` needs to go on from it.

        Raises
        ------
        InputError
            As `fit`; or if recordings are weighted by a known policy, or refinement is the paper's.
        """
        train, validation = listed(train, validation)
        check_can_be_kept([*train, *(validation or ())], self.options)
        report = progress or silent
        fitted = self._fitted(train, validation, report, client)
        report("keeping what was learned", 0.0)
        with one_blas_thread():
            every = fitted.everything
            whole = None if every is None else (every.fitted, every.data)
            kept = keep(fitted.by_fold, fitted.two_stages, fitted.folds, whole)
        return Learned(fitted.model, kept)

    def _fitted(
        self,
        train: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None,
        progress: Progress,
        client: Any,
    ) -> _Fitted:
        few = self.settings.are_few(sum(map(len, [*train, *(validation or ())])))
        settings = self.settings.following(few, self.options.rollout_horizon)
        with one_blas_thread(), workers_for(client, self.processes) as workers:
            prepared = prepare(train, validation, self.options, settings, progress, workers)
            if len(prepared.folds) == 1:
                return _fit_single(prepared, settings, progress, workers)
            if not few:
                settings = settings.leading_on()
            setting = set_up(prepared, settings, progress, workers)
            if not few:
                setting, settings = with_changes_only(
                    prepared, setting, self.options, settings, progress, workers
                )
            if self.options.slow_actions == "auto":
                setting = with_slow_actions(setting, self.options, settings, progress, workers)
            return _fit_ensemble(setting, settings, few, progress, workers)

    def memory(self, train: Sequence[Trajectory]) -> int:
        """Return the bytes that learning from these trajectories takes at the most."""
        return learning_memory(self.options, train)


class _Fitted(NamedTuple):
    """A model, and what it was made of."""

    model: PredictiveModel[Any]
    by_fold: PredictiveModel[Any]
    """The same with all models on folds, which judge."""
    two_stages: Sequence[TwoStageFit]
    folds: Sequence[TrainingData]
    everything: Everything | None


def check_can_be_kept(recordings: Sequence[Trajectory], options: RFFPSROptions) -> None:
    """Refuse recordings and options from which learning cannot go on later.

    Raises
    ------
    InputError
        If recordings are weighted by a known policy, or refinement is the paper's.
    """
    if any(run.likelihood_ratios is not None for run in recordings):
        raise InputError(
            "learning cannot go on later where recordings are weighted by a known policy"
            " (dataset.policy); learn without keeping"
        )
    if options.refinement == "window":
        raise InputError(
            "learning cannot go on later from the paper's refinement (learning.refinement: window);"
            " learn without keeping"
        )


def _fit_single(
    prepared: Preparation, settings: RecipeSettings, progress: Progress, workers: Workers
) -> _Fitted:
    """Return a single model: there is nothing to choose by."""
    (data,) = prepared.folds
    options, fit = prepared.options, settings.fit
    stages = fit_two_stages(data, options, fit, fit_features, progress, workers)
    made = fit_from_two_stages(stages, options, fit, progress, workers, prepared.notes)
    model = RFFPSRModel(*made)
    return _Fitted(model, model, [stages], prepared.folds, None)


def _fit_ensemble(
    setting: Setting,
    settings: RecipeSettings,
    few: bool,
    progress: Progress,
    workers: Workers,
) -> _Fitted:
    """Return the ensemble of models learned on folds and of what competes with them.

    Some of the former have judged only, and models of everything serve in their place; ``few``: the
    data are.
    """
    prepared = setting.prepared
    coming = baselines(prepared, settings, workers)
    trials = StateSpaceTrials(prepared, settings, workers, setting.given_actions)
    selections = select(setting.learners, setting.offered, settings, few)
    progress("baselines", 0.0)
    own = [Candidate(one.family, one.models, one.models) for one in selections]
    systems = trials.best(own)
    if systems is not None:
        own.append(systems)
    learned = [pending.result() for pending in coming]
    candidates = [*own, *(one for one in learned if one is not None)]
    blended = blend(candidates, len(own), prepared, settings)
    progress("long horizons", 0.0)
    beyond = blend_long_horizons(
        candidates, blended.weights, blended.limits, prepared, settings, workers
    )
    by_fold = calibrate(prepared, selections, candidates, blended, beyond)
    stages = [one.fitted for one in setting.learners]
    served, everything = _serving(by_fold, prepared, settings, progress, workers)
    judged = [
        Judged(of_fold(prepared, candidates, blended, place), fold.held_out)
        for place, fold in enumerate(prepared.folds)
    ]
    model: PredictiveModel[Any] = with_moving_origin(
        served, judged, prepared.recordings, prepared.options, settings
    )
    if setting.filters is not None:
        model = behind_filters(model, setting.filters)
    return _Fitted(model, by_fold, stages, prepared.folds, everything)


def _serving(
    by_fold: EnsembleModel,
    prepared: Preparation,
    settings: RecipeSettings,
    progress: Progress,
    workers: Workers,
) -> tuple[EnsembleModel, Everything | None]:
    """Return the ensemble whose RFF-PSR models have learned from all recordings."""
    recordings, count = prepared.recordings, len(prepared.folds)
    coming = leading_on(by_fold, recordings, count, settings, progress, workers)
    everything = learn_from_everything(by_fold, recordings, count, settings.fit, progress, workers)
    serving = {number: [one.result() for one in pending] for number, pending in coming.items()}
    if everything is not None:
        serving |= {number: [model] for number, model in everything.models.items()}
    return with_everything(by_fold, count, serving), everything
