"""Whether learned features see of some observations only how these change.

Of a vehicle's position the size tells nothing, but to features it is a direction more in which
chance misleads them. Linear models tell of which observations that may be so, the first fold's
learned features whether it is: they are learned once more, and must do nearly as well. All folds
together, and simulations, gain far more than the first fold shows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rffpsr_ros.models.arx.learner import LinearARX
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.parallel.workers import Workers
from rffpsr_ros.progress import Progress
from rffpsr_ros.recipe.free.observations import Judged, free_observations
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.setting import Setting, best_learned, set_up
from rffpsr_ros.recipe.settings import RecipeSettings


def with_changes_only(
    prepared: Preparation,
    usual: Setting,
    options: RFFPSROptions,
    settings: RecipeSettings,
    progress: Progress,
    workers: Workers,
) -> tuple[Setting, RecipeSettings]:
    """Return setting and settings by which learned features see changes only of what is free.

    Those given, where nothing is or they do worse. ``usual`` is set up of ``prepared`` by them.
    """
    same = usual, settings
    if options.moving_origin == "off" or not _learns(usual):
        return same
    free = free_observations(_linear_models(prepared), prepared.recordings, options, settings)
    best = best_learned(usual) if free else None
    if best is None or not np.isfinite(best[0]):
        return same
    features = replace(settings.fit.features, changes_only=tuple(free))
    changed = replace(settings, fit=replace(settings.fit, features=features))
    other = set_up(prepared, changed, progress, workers)
    found = best_learned(other)
    if found is None or not found[0] <= settings.free_within * best[0]:
        return same
    names = ", ".join(prepared.recordings[0].observation_names[one] for one in free)
    told = (
        f"learned features see only changes of {names}; so they err {found[0] / best[0]:.2g} times"
        " as much on the first part held out"
    )
    notes = (*other.prepared.notes, told)
    return other._replace(prepared=other.prepared._replace(notes=notes)), changed


def _learns(setting: Setting) -> bool:
    """Tell whether there are families whose features are learned on every fold."""
    learned = [one.safe_options.narx_learning == "on" for one in setting.offered]
    return any(learned) and not setting.costly


def _linear_models(prepared: Preparation) -> list[Judged]:
    options = prepared.options
    learner = LinearARX(options.arx_past, options.rollout_horizon)
    return [Judged(learner.fit(fold.train), fold.held_out) for fold in prepared.folds]
