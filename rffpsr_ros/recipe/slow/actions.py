"""Whether models see running means of the actions: where these tell what windows do not.

What fills, warms or relaxes more slowly than windows are long is in no window; noise hides what it
does to a single tick. The errors of the first fold's learned features name the means that explain
them. A fading memory of the actions may tell more than that, of states that observations do not
show. With either, or with both, features are learned once more on the first fold, of few data on
all of them, which must be clearly better.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.low_passed.filters import LowPassFilters
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.parallel.workers import Workers
from rffpsr_ros.progress import Progress
from rffpsr_ros.recipe.prepare import prepare_sound
from rffpsr_ros.recipe.setting import Setting, best_learned, best_start, learned_score, set_up
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.slow.causes import slow_causes
from rffpsr_ros.recipe.slow.memory import fading_memory


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

    def seeing(filters: LowPassFilters | None) -> Setting | None:
        return _seeing(filters, usual, options, settings, progress, workers)

    if usual.costly:
        return usual
    recordings = usual.prepared.recordings
    remembering = seeing(fading_memory(recordings, settings.running_means))
    if remembering is not None and not _starts_better(remembering, usual, settings):
        remembering = None
    if usual.few and remembering is None:  # chance explains too much of their errors
        return usual
    best = best_learned(usual)
    if best is None or not np.isfinite(best[0]):  # where nothing is refined nothing is judged
        return usual
    score, family = best
    causes = None
    if not usual.few:
        model = usual.learners[0].trial(family.safe_options).finalise().result()
        causes = slow_causes(model, recordings, options.rollout_horizon, settings)
    for slow in _tries(remembering, causes, seeing):
        found = best_learned(slow, family.name)
        if found is None or not found[0] < score:
            continue
        left = learned_score(slow, found[1]) / learned_score(usual, family)
        if left <= settings.clearly_better:
            return _told(slow, usual, left)
    return usual


def _told(slow: Setting, usual: Setting, left: float) -> Setting:
    """Return the setting with a note, given what share of the usual error is left."""
    assert slow.filters is not None
    actions = usual.prepared.recordings[0].action_names
    told = (
        f"models see {', '.join(slow.filters.names(actions)[len(actions) :])}, running means of"
        " actions, too: these tell what windows do not; with them learned features err"
        f" {left:.2g} times as much on {'all parts' if usual.few else 'the first part'} held out"
    )
    notes = (*usual.prepared.notes, told)
    return slow._replace(prepared=slow.prepared._replace(notes=notes))


def _seeing(
    filters: LowPassFilters | None,
    usual: Setting,
    options: RFFPSROptions,
    settings: RecipeSettings,
    progress: Progress,
    workers: Workers,
) -> Setting | None:
    """Return the setting in which models see what filters make; None where that leaves no fold."""
    if filters is None:
        return None
    widened = [filters.trajectory(one) for one in usual.prepared.recordings]
    try:
        prepared = prepare_sound(widened, (), options, settings, workers)
    except InputError:  # too few windows for so many columns
        return None
    if len(prepared.folds) != len(usual.prepared.folds):
        return None
    prepared = prepared.with_windows_of(usual.past)
    return set_up(prepared, settings, progress, workers)._replace(filters=filters)


def _starts_better(remembering: Setting, usual: Setting, settings: RecipeSettings) -> bool:
    return best_start(remembering) <= settings.running_means.better_start * best_start(usual)


def _tries(
    remembering: Setting | None,
    causes: LowPassFilters | None,
    seeing: Callable[[LowPassFilters | None], Setting | None],
) -> Iterator[Setting]:
    """Yield the settings worth a try: with memory and causes, then with these alone; or with one.

    Together they are more columns, of which chance may make too much.
    """
    filters = [causes]
    if remembering is not None and remembering.filters is not None:
        if causes is None:
            yield remembering
        else:
            filters.insert(0, remembering.filters.beside(causes))
    yield from (found for one in filters if (found := seeing(one)) is not None)
