"""How far candidates' forecasts may lie outside each other's: several times as far as they did.

Measured on what is held out, where they are as sure as they ever are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.models.ensemble.reach import Reach, held_back
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.settings import RecipeSettings


def reach_of(errors: Sequence[Array], weights: Array, settings: RecipeSettings) -> Reach | None:
    """Return the reach of C candidates, from their errors in groups (n, H, d_o, C).

    It is infinite for those that have no weight (H, d_o, C), or alone have one. None if for all.
    """
    alone = (weights > 0).sum(axis=-1, keepdims=True) < 2
    nothing = np.where(alone, np.inf, np.zeros(weights.shape))
    together = np.concatenate(errors)
    outside = together - _held(together, weights, nothing)
    usual = np.sqrt(np.nanmean(outside**2, axis=0))
    known = (weights > 0) & ~alone & np.isfinite(usual)
    return Reach(np.where(known, settings.reach * usual, np.inf)) if known.any() else None


def errors_within_reach(errors: Array, weights: Array, reach: Reach) -> Array:
    """Return the errors (n, H, d_o, C) of forecasts that are held back.

    Those that are not known, as nothing was observed, stay so.
    """
    return _held(errors, weights, reach.beside(weights))


def _held(errors: Array, weights: Array, distance: Array) -> Array:
    columns = (np.moveaxis(one, -1, 0)[:, None] for one in (weights, distance))
    return -np.moveaxis(held_back(np.moveaxis(-errors, -1, 0), *columns).forecasts, 0, -1)
