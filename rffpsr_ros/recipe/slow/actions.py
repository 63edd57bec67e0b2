"""Whether models see running means of the actions: where these explain what forecasts miss.

What fills, warms or relaxes more slowly than windows are long is in no window; noise hides what it
does to a single tick. The first fold's learned features tell: their errors name the means that
explain them, and with these they are learned once more. That must be clearly better.
"""

from __future__ import annotations

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.parallel.workers import Workers
from rffpsr_ros.progress import Progress
from rffpsr_ros.recipe.prepare import prepare_sound
from rffpsr_ros.recipe.setting import Setting, best_learned, set_up
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.slow.causes import slow_causes


def with_slow_actions(
    usual: Setting,
    options: RFFPSROptions,
    settings: RecipeSettings,
    progress: Progress,
    workers: Workers,
) -> Setting:
    """Return the setting in which models see running means, or the usual one if that does better.

    ``options`` are those that were asked for.
    """
    best = best_learned(usual)
    if best is None or not np.isfinite(best[0]):  # where nothing is refined nothing is judged
        return usual
    score, family = best
    model = usual.learners[0].trial(family.safe_options).finalise().result()
    recordings, horizon = usual.prepared.recordings, options.rollout_horizon
    filters = slow_causes(model, recordings, horizon, settings)
    if filters is None:
        return usual
    widened = [filters.trajectory(one) for one in recordings]
    try:
        prepared = prepare_sound(widened, (), options, settings, workers)
    except InputError:  # too few windows for so many columns
        return usual
    if len(prepared.folds) != len(usual.prepared.folds):
        return usual
    slow = set_up(prepared, settings, progress, workers)
    found = best_learned(slow, family.name)
    if found is None or not found[0] <= settings.clearly_better * score:
        return usual
    names = filters.names(recordings[0].action_names)[len(filters.mean) :]
    told = (
        f"models see {', '.join(names)}, running means of actions, too: these explain what"
        " forecasts missed; with them learned features err"
        f" {found[0] / score:.2g} times as much on the first part held out"
    )
    notes = (*usual.prepared.notes, told)
    return slow._replace(prepared=slow.prepared._replace(notes=notes), filters=filters)
