"""How far windows reach where there are few data: judged on all folds.

Windows of twenty ticks are long for a few hundred of them; whether shorter ones forecast better,
one fold alone does not tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rffpsr_ros.models.rff_psr.model import RFFPSRModel
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.parallel.workers import Workers
from rffpsr_ros.progress import Progress
from rffpsr_ros.recipe.blend import HeldOut, judged_blocks, observation_deviation, score
from rffpsr_ros.recipe.candidates import SAFE, configurations
from rffpsr_ros.recipe.prepare import Preparation, Variant
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.trials import FoldLearner, fold_learners


class WindowChoice(NamedTuple):
    """What to learn with, and in words why."""

    options: RFFPSROptions
    learners: Sequence[FoldLearner]
    notes: tuple[str, ...]


def choose_windows(
    prepared: Preparation, settings: RecipeSettings, progress: Progress, workers: Workers
) -> WindowChoice:
    """Return the shortest windows, unless longer ones are clearly better on all folds.

    Judged is the safe configuration, from the same origins for all windows.
    """

    def learners_of(variant: Variant) -> list[FoldLearner]:
        return fold_learners(variant.folds, settings, progress, workers)

    usual, *shorter = prepared.variants
    if not shorter:
        return WindowChoice(usual.options, learners_of(usual), ())
    held_out = HeldOut(
        judged_blocks(prepared, settings),
        prepared.options.past,
        prepared.options.rollout_horizon,
        settings.settling,
    )
    deviation = observation_deviation(prepared)
    tried = [(variant, learners_of(variant)) for variant in prepared.variants]
    for variant, learners in tried:
        for learner in learners:
            learner.expect(_safe(variant.options, settings))
    scores = [
        score(held_out.errors(_models(learners, _safe(variant.options, settings))), deviation)
        for variant, learners in tried
    ]
    best = min(range(len(tried)), key=scores.__getitem__)
    if scores[best] >= settings.clearly_better * scores[-1]:
        best = len(tried) - 1
    variant, learners = tried[best]
    told = ", ".join(
        f"{one.options.past} ticks {reached:.3g}"
        for (one, _), reached in zip(tried, scores, strict=True)
    )
    note = f"windows of {variant.options.past} ticks, by the error on all parts held out: {told}"
    return WindowChoice(variant.options, learners, (note,))


def _safe(options: RFFPSROptions, settings: RecipeSettings) -> RFFPSROptions:
    """Return the safe configuration; the only one, where there is no choice."""
    offered = configurations(options, settings)
    return offered.get(SAFE) or next(iter(offered.values()))


def _models(learners: Sequence[FoldLearner], options: RFFPSROptions) -> list[RFFPSRModel]:
    coming = [learner.trial(options).finalise() for learner in learners]
    return [model.result() for model in coming]
