"""Learned features led on: the models of a family go on learning, from all recordings.

Each model of a fold lacks what that fold holds out, and ended where it did best there. That told
the family's weight; for serving, some more steps from where it ended take in the rest. Forecasts of
ten systems then err .71 times as much (.36 to 1.03). They stay several, as what each has learned by
heart differs: the best one alone errs as much as all did before. The state takes no part in these
steps, which otherwise take seven times as long and lead no further, nor in forecasts from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rffpsr_ros.data.arx_term import fit_arx
from rffpsr_ros.data.preparation import prepare_again
from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.rff_psr.finalise import standard_limits
from rffpsr_ros.models.rff_psr.fit import start_score
from rffpsr_ros.models.rff_psr.learned_start import with_features_learned_on
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.parallel.workers import Pending, Workers
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.initialisation import InitialPredictor
from rffpsr_ros.recipe.everything import models_by_family, options_of, told_of
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory

LED_ON = "led_on"
"""Metrics of a model that was led on: scores of all recordings before and after."""

ARX_RIDGE = 1e-3
"""Of the ARX term alone, whose errors tell how much a recording's first ticks count."""

_STREAM = 3
"""Sets random numbers apart from all others of the same seed."""


def leading_on(
    ensemble: EnsembleModel,
    recordings: Sequence[Trajectory],
    folds: int,
    settings: RecipeSettings,
    progress: Progress,
    workers: Workers,
) -> dict[int, list[Pending[RFFPSRModel]]]:
    """Have the models of families that were learned for it led on with all recordings.

    By the place of the family in the ensemble, which has the models on so many ``folds``.
    """

    def told(stage: str, fraction: float, error: float | None = None) -> None:
        progress(f"led on with all recordings, {stage}", fraction, error)

    return {
        number: [
            workers.submit(LeadOn(model, recordings, _led_fit(model, settings)), told)
            for model in models
        ]
        for number, models in enumerate(models_by_family(ensemble, folds))
        if all(map(to_be_led_on, models))
    }


def to_be_led_on(model: RFFPSRModel) -> bool:
    """Return whether a model's features were learned to be led on."""
    return bool(told_of(model).get("feature_led_later"))


def _led_fit(model: RFFPSRModel, settings: RecipeSettings) -> FitSettings:
    """Return settings of fewer steps the more parameters there are for what a model learned from.

    With many it soon knows recordings by heart: of three systems with .95 to 1.25 for each value
    none erred more after ten steps, and two did after forty, 1.2 and 1.6 times as much.
    """
    features = settings.fit.features
    share = 1 - told_of(model)["feature_weights_per_value"] / features.plenty
    steps = round(share * settings.led_steps)
    led = features.in_one_descent(steps, settings.led_penalty, settings.led_patience)
    return replace(settings.fit, features=led)


@dataclass(frozen=True)
class LeadOn:
    """The task of leading a model on with recordings, some of which it may know."""

    model: RFFPSRModel
    recordings: Sequence[Trajectory]
    settings: FitSettings

    def __call__(self, progress: Progress) -> RFFPSRModel:
        """Return the model that was led on."""
        with one_blas_thread():
            return self._led(progress)

    def _led(self, progress: Progress) -> RFFPSRModel:
        parts, options = self.model.parts, options_of(self.model)
        # Nothing is held out that would tell whether a readout forecasts better.
        features = replace(self.settings.features, read_anew=False).within(options.iterations)
        settings = replace(self.settings, features=features)
        prepared = prepare_again(
            parts.observation_scaling,
            parts.action_scaling,
            self.recordings,
            self.recordings,
            options.arx_past or settings.fill_past,
        )
        known = InitialPredictor(parts.structure._replace(limits=None), parts.parameters, {})
        runs, seen = prepared.train.filled, prepared.train.seen
        alone = fit_arx(runs, seen, options.arx_past, ARX_RIDGE)
        found = with_features_learned_on(
            prepared,
            known,
            known.parameters._replace(arx=alone),
            options,
            settings,
            np.random.default_rng([options.seed, _STREAM]),
            progress,
        )
        if found is None:
            return self.model
        scores = [start_score(one, prepared, options, settings) for one in (known, found)]
        limits = standard_limits(prepared, options.margin)
        made = parts._replace(
            observation_scaling=prepared.observation_scaling,
            action_scaling=prepared.action_scaling,
            structure=found.structure._replace(limits=limits),
            parameters=found.parameters,
        )
        before = self.model.record
        metrics = {**before.metrics, LED_ON: dict(zip(("before", "after"), scores, strict=True))}
        record = TrainingRecord(before.options, metrics, before.notes)
        return RFFPSRModel(self.model.signature, record, made)
