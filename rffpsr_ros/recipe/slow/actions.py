"""Whether models see running means of the actions: where these explain what forecasts miss.

What fills, warms or relaxes more slowly than windows are long is in no window; noise hides what it
does to a single tick. The first fold's learned features tell: their errors name the means that
explain them, and with these they are learned once more. That must be clearly better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.low_passed.filters import LowPassFilters
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.parallel.workers import Workers
from rffpsr_ros.progress import Progress
from rffpsr_ros.recipe.candidates import Family, families
from rffpsr_ros.recipe.prepare import Preparation, prepare_sound
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.slow.causes import slow_causes
from rffpsr_ros.recipe.trials import FoldLearner
from rffpsr_ros.recipe.window_choice import choose_windows


class Setting(NamedTuple):
    """What is learned from, by which learners, and what is offered to them."""

    prepared: Preparation
    learners: Sequence[FoldLearner]
    offered: Sequence[Family]
    filters: LowPassFilters | None = None
    """What makes running means of the actions of recordings, where models see them."""


def set_up(
    prepared: Preparation, settings: RecipeSettings, progress: Progress, workers: Workers
) -> Setting:
    """Return windows, learners and families for recordings as they are."""
    chosen = choose_windows(prepared, settings, progress, workers)
    like = prepared.recordings[0]
    columns, acted = len(like.observation_names), len(like.action_names)
    offered = families(chosen.options, settings, columns, acted)
    prepared = prepared._replace(notes=prepared.notes + chosen.notes)
    return Setting(prepared, chosen.learners, offered)


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
    best = _best_learned(usual)
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
    found = _best_learned(slow, family.name)
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


def _best_learned(setting: Setting, name: str | None = None) -> tuple[float, Family] | None:
    """Return the family that is learned best on the first fold, and its score there.

    Of those with learned features, if any; none where these are costly, and not always learned.
    With a ``name``, that family only.
    """
    families = setting.offered
    if any(one.costly for one in families):
        return None
    learned = [one for one in families if one.safe_options.narx_learning == "on"] or families[:1]
    learned = [one for one in learned if name in (None, one.name)]
    first = setting.learners[0]
    for family in learned:
        first.expect(family.safe_options)
    tried = [(first.trial(family.safe_options).score, family) for family in learned]
    return min(tried, key=lambda one: one[0], default=None)
