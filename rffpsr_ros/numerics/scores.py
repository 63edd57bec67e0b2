"""One number for a table of errors, robust against a single trajectory's."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array


def robust_score(errors: Array) -> float:
    """Return the score of mean squared errors (groups, H), lower is better.

    Power mean 1/2 over groups, geometric mean over horizons: neither one recording with large
    errors nor the last horizons decide alone. Groups are trajectories or blocks of one.
    """
    with np.errstate(invalid="ignore"):
        by_horizon = np.nanmean(np.sqrt(errors), axis=0) ** 2
    if not np.isfinite(by_horizon).all():
        return float("inf")
    return float(np.exp(np.mean(np.log(np.maximum(by_horizon, 1e-30)))))


def group_errors(squared: Array, group: Array) -> Array:
    """Return mean squared errors (groups, H) of errors (B, H, d_o), summed over observations."""
    total = squared.sum(axis=2)
    order = np.argsort(group, kind="stable")
    first = np.unique(group[order], return_index=True)[1]
    total = total[order]

    def summed(values: Array) -> Array:
        return np.asarray(np.add.reduceat(values, first, axis=0))

    missing = np.isnan(total)
    mean = summed(np.where(missing, 0.0, total)) / np.maximum(summed(~missing * 1.0), 1)
    return np.where(summed(np.isfinite(total) * 1.0) > 0, mean, np.nan)
