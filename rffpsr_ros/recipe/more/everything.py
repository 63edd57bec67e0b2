"""Models of everything go on learning, as those on folds that were judged did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.ensemble.model import EnsembleModel
from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.parallel.workers import Workers
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.streaming import KeptTwoStages
from rffpsr_ros.recipe.everything import (
    models_by_family,
    options_of,
    served_by_one,
    with_everything,
)
from rffpsr_ros.recipe.led_on import LED_ON, LeadOn
from rffpsr_ros.recipe.more.kept import KeptEverything, members_of
from rffpsr_ros.recipe.more.member import LearnMore
from rffpsr_ros.recordings.trajectory import Trajectory


@dataclass(frozen=True)
class LearnAgain:
    """What all models of everything go on from.

    Attributes
    ----------
    new
        Recordings that their two stages do not know yet.
    mix
        What refinement learns from: a sample of old recordings, and the new ones.
    forget
        The share that old windows lose of what they count.
    seed
        Of what is random in it.
    """

    new: Sequence[Trajectory]
    mix: Sequence[Trajectory]
    forget: float
    seed: int
    settings: FitSettings

    def __call__(
        self,
        served: PredictiveModel[Any],
        kept: KeptEverything,
        by_fold: EnsembleModel,
        folds: int,
        progress: Progress,
        workers: Workers,
    ) -> tuple[EnsembleModel, KeptEverything]:
        """Return the ensemble that serves from now on, and what is kept of it.

        ``served`` did so before; ``by_fold``, with models on so many ``folds``, has learned more.
        """

        def told(stage: str, fraction: float, error: float | None = None) -> None:
            progress(f"model of all recordings, {stage}", fraction, error)

        judges = models_by_family(by_fold, folds)
        serving = _serving(served, kept, judges)
        led = {
            number: [workers.submit(LeadOn(one, self.mix, self.settings), told) for one in models]
            for number, models in serving.items()
            if len(models) > 1
        }
        coming = {
            number: workers.submit(self._task(models[0], stages, judges[number]), told)
            for number, models in serving.items()
            if len(models) == 1 and (stages := kept.stages) is not None
        }
        more = {number: pending.result() for number, pending in coming.items()}
        models = {number: [one.model] for number, one in more.items()}
        models |= {number: [one.result() for one in pending] for number, pending in led.items()}
        stages = next((one.stages for one in more.values()), None)  # of the same recordings
        return with_everything(by_fold, folds, models), KeptEverything(by_fold, stages)

    def _task(
        self, model: RFFPSRModel, stages: KeptTwoStages, judges: Sequence[RFFPSRModel]
    ) -> LearnMore:
        mix, seed = self.mix, self.seed
        return LearnMore(
            model, stages, self.new, mix, mix, self.forget, seed, self.settings, tuple(judges)
        )


def _serving(
    served: PredictiveModel[Any], kept: KeptEverything, judges: Sequence[Sequence[RFFPSRModel]]
) -> dict[int, list[RFFPSRModel]]:
    """Return the models that serve for families, one or several, by the place of the family.

    Those that are the models on folds are not among them.
    """
    own = iter([one for one in members_of(served) if isinstance(one, RFFPSRModel)])
    found = {}
    for number, on_folds in enumerate(judges):
        alone = kept.stages is not None and served_by_one(options_of(on_folds[0]))
        models = [next(own) for _ in on_folds[: 1 if alone else None]]
        if alone or all(LED_ON in one.record.metrics for one in models):
            found[number] = models
    return found
