"""Which slow means of the actions explain what forecasts miss: a residual test.

Errors of a model without slow means are uncorrelated with these, alone and times what was seen and
done lately, unless something slower than its windows is missing (cf. Ljung, System Identification,
section 16.6: residuals and past inputs). Means are taken in one by one, the most telling first, as
long as what is explained on parts held out is worth it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.models.low_passed.filters import LowPassFilters, RunningMeans, fit_filters
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recipe.prepare import first_judged
from rffpsr_ros.recipe.settings import BLOCK_HORIZONS, RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory

_PARTS = 5
"""Parts of the origins, each of which is explained by what the others tell."""

_RIDGE = 0.01
"""Of a regression, relative to the rows."""


class _Origins(NamedTuple):
    """What forecasts missed at the end of their horizon, and what was known when they began."""

    errors: Array  # (n, d_o), in deviations of the observations
    known: Array  # (n, z): newest tick and planned actions
    means: Array  # (n, m)
    part: Array  # (n,): the part that an origin is of


def slow_causes(
    model: PredictiveModel[Any],
    recordings: Sequence[Trajectory],
    horizon: int,
    settings: RecipeSettings,
) -> LowPassFilters | None:
    """Return filters of the actions that explain what a model's forecasts miss; None if none do."""
    filters = fit_filters(recordings, settings.running_means.constants, squares=True)
    origins = _origins(model, recordings, filters, horizon, settings)
    if origins is None:
        return None
    errors = origins.errors - _explained(_with_squares(origins.known), origins.errors, origins.part)
    found = list[int]()
    while len(found) < settings.running_means.means:
        left = [one for one in range(len(filters.ticks)) if one not in found]
        if not left:
            break
        tries = [_explained(_beside(origins, one), errors, origins.part) for one in left]
        gains = [_gain(errors, errors - one) for one in tries]
        best = int(np.argmax(gains))
        if gains[best] < settings.running_means.gain:
            break
        found.append(left[best])
        errors = errors - tries[best]
    return filters.only(sorted(found)) if found else None


def _origins(
    model: PredictiveModel[Any],
    recordings: Sequence[Trajectory],
    filters: LowPassFilters,
    horizon: int,
    settings: RecipeSettings,
) -> _Origins | None:
    """Return the origins in the first ticks of recordings; None if there are none."""
    seen = np.concatenate([one.observations for one in recordings])
    mean, deviation = np.nanmean(seen, axis=0), np.nanstd(seen, axis=0)
    long = [one for one in recordings if len(one) >= BLOCK_HORIZONS * horizon]
    some = evenly_spread(long, settings.running_means.ticks // settings.block_ticks)
    most = settings.running_means.ticks // max(len(some), 1)
    found = list[tuple[Array, ...]]()
    for run in (one.slice(0, most) for one in some):
        settled = max(1, first_judged(len(run), settings.running_means.settled, settings.settling))
        missed = errors_by_origin(model, run, horizon, settled)[:, -1] / deviation
        newest = settled - 1 + np.arange(len(missed))
        widened = RunningMeans(filters).along(filters.initial, run.actions)
        acted = (run.actions - filters.mean) / filters.deviation
        plans = [acted[tick + 1 : tick + 1 + horizon].mean(axis=0) for tick in newest]
        last = (run.observations - mean) / deviation
        known = np.column_stack([last[newest], acted[newest], np.array(plans)])
        part = newest // settings.few_block_ticks % _PARTS
        found.append((missed, known, widened[newest, len(filters.mean) :], part))
    if not found:
        return None
    every = _Origins(*map(np.concatenate, zip(*found, strict=True)))
    usable = np.isfinite(every.errors).all(axis=1) & np.isfinite(every.known).all(axis=1)
    return _Origins(*(rows[usable] for rows in every)) if usable.any() else None


def _with_squares(known: Array) -> Array:
    return np.column_stack([known, known**2])


def _beside(origins: _Origins, one: int) -> Array:
    """Return a mean, alone and times what was known, both about their averages."""
    mean, known = origins.means[:, [one]], origins.known
    mean = mean - mean.mean()
    return np.column_stack([mean, mean * (known - known.mean(axis=0))])


def _explained(regressors: Array, errors: Array, part: Array) -> Array:
    """Return what regressors (n, r) tell of errors (n, d_o), each part's by all others."""
    told = np.zeros(errors.shape)
    for one in range(_PARTS):
        own = part == one
        if own.all() or not own.any():
            continue
        mean, deviation = regressors[~own].mean(axis=0), regressors[~own].std(axis=0) + 1e-12
        rows = (regressors - mean) / deviation
        gram = rows[~own].T @ rows[~own] + _RIDGE * (~own).sum() * np.eye(rows.shape[1])
        level = errors[~own].mean(axis=0)
        weights = np.linalg.solve(gram, rows[~own].T @ (errors[~own] - level))
        told[own] = level + rows[own] @ weights
    return told


def _gain(before: Array, after: Array) -> float:
    """Return what share of all squared errors (n, d_o) is gone."""
    total = (before**2).sum()
    return float(1 - (after**2).sum() / total) if total > 0 else 0.0
