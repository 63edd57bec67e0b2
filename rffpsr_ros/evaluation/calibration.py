"""Prediction bands from forecast errors on recordings that the model was not trained on.

Each fold of the recordings is forecast by a model that was learned, with all its choices of when
to stop, from the others. The errors of the whole model will be a little smaller, since it learns
from more: the bands err on the wide side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rffpsr_ros.data.folds import folds
from rffpsr_ros.forecasting.adaptive_bands import AdaptiveBands
from rffpsr_ros.models.bands import Bands, conformal_bands
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recordings.trajectory import Trajectory

FOLDS = 3

LARGEST = 20_000
"""Forecasts from which bands are made; of more, evenly spaced ones."""

Fit = Callable[[Sequence[Trajectory]], PredictiveModel[Any]]


def calibrate(
    fit: Fit,
    trajectories: Sequence[Trajectory],
    horizon: int = 10,
    start: int = 9,
    count: int = FOLDS,
    progress: Callable[[str, float], None] | None = None,
) -> Bands:
    """Return bands from errors of models that ``fit`` learns from the other folds.

    Parameters
    ----------
    fit
        Learns a model; it must hold out what it needs to make choices by itself.
    start
        First origin (tick of a trajectory) whose forecast counts.

    Raises
    ------
    InputError
        If there are too few recordings for folds, or ``fit`` cannot learn from a fold.
    """
    errors = []
    for number, (train, held_out) in enumerate(folds(trajectories, count, start + 2 * horizon)):
        if progress is not None:
            progress("prediction bands", number / count)
        errors.append(residuals(fit(train), held_out, horizon, start))
    return conformal_bands(np.concatenate(errors))


def residuals(
    model: PredictiveModel[Any], trajectories: Sequence[Trajectory], horizon: int, start: int
) -> Array:
    """Return observations minus forecasts (n, H, d_o), over all origins of all trajectories.

    Of more than `LARGEST` origins every so many-th is taken.
    """
    every = 1 + sum(map(len, trajectories)) // LARGEST
    found = [errors_by_origin(model, trajectory, horizon, start) for trajectory in trajectories]
    return np.concatenate([errors[-start % every :: every] for errors in found])


@dataclass(frozen=True)
class Coverage:
    """Share (H, d_o) of observations within the bands; NaN where nothing was observed.

    ``fixed`` for the bands as they are in the model file, ``adapted`` for bands that learn from
    each recording as it goes on, as the live filter's do.
    """

    nominal: float
    fixed: Array
    adapted: Array


def coverage(
    model: PredictiveModel[Any],
    trajectories: Sequence[Trajectory],
    nominal: float = 0.9,
    horizon: int = 10,
    start: int = 9,
    progress: Progress = silent,
) -> Coverage | None:
    """Return which share of the observations the model's bands cover; None if it has none."""
    if model.bands is None:
        return None
    width = model.bands.half_width(nominal, horizon)
    observed, fixed, adapted = (np.zeros(width.shape, np.int64) for _ in range(3))
    for number, trajectory in enumerate(trajectories):
        progress("judging bands", number / len(trajectories))
        adaptive = AdaptiveBands(model.bands, nominal, horizon)
        errors = np.abs(errors_by_origin(model, trajectory, horizon, start))
        observed += np.isfinite(errors).sum(axis=0)
        fixed += (errors <= width).sum(axis=0)
        for origin, error in enumerate(errors):
            # Bands know the errors of forecasts whose last target has been observed.
            if origin >= horizon and (origin - horizon) % horizon == 0:
                adaptive.score(errors[origin - horizon])
            adapted += error <= adaptive.half_width
    counted = np.where(observed, observed, np.nan)
    return Coverage(nominal, fixed / counted, adapted / counted)
