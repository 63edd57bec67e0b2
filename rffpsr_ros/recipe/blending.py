"""Weights with which several models' forecasts are added up, from their errors on unseen data.

The squared error of a weighted sum of forecasts whose weights add up to one is w^T E w, with E the
products of the single forecasts' errors. Each horizon and observation has weights of its own,
not negative, so a blend is never further off than its worst member.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.optimize

from rffpsr_ros.numerics.arrays import Array

NEIGHBOUR = 0.5
"""How much the errors at the horizons beside one count in its weights: a guard against chance."""

SHRINKAGE = 0.01
"""Pull towards equal weights, relative to the best member's error: a hopeless member among them
must not make it strong."""

_SUM = 1e3
"""How strictly the weights must add up to one, before they are scaled to do so exactly."""


def error_products(errors: Sequence[Array]) -> Array:
    """Return E (H, d_o, M, M) of the errors (n, H, d_o, M) of M members in several groups.

    Every group counts alike, whatever the size of its errors: its products are divided by the best
    member's mean square. Errors that are not finite are left out.
    """
    shares, counts = [], []
    for group in errors:
        finite = np.asarray(np.isfinite(group).all(axis=-1))
        known = np.where(finite[..., None], group, 0.0)
        count = finite.sum(axis=0)
        products = np.einsum("nhoi,nhoj->hoij", known, known)
        products /= np.maximum(count, 1)[..., None, None]
        size = np.diagonal(products, axis1=-2, axis2=-1).min(axis=-1)
        shares.append(products / np.where(size > 0, size, 1.0)[..., None, None])
        counts.append((count > 0) & (size > 0))
    judged = np.maximum(np.sum(counts, axis=0), 1)
    return np.asarray(np.sum(shares, axis=0) / judged[..., None, None])


def blend_weights(products: Array) -> Array:
    """Return weights (H, d_o, M) that minimise w^T E w, from E (H, d_o, M, M)."""
    horizon, columns, members = products.shape[:3]
    beside = np.pad(products, ((1, 1), (0, 0), (0, 0), (0, 0)), "edge")
    smooth = products + NEIGHBOUR * (beside[:-2] + beside[2:])
    weights = np.empty((horizon, columns, members))
    for place in np.ndindex(horizon, columns):
        weights[place] = _simplex_minimum(smooth[place])
    return weights


def _simplex_minimum(product: Array) -> Array:
    """Return w >= 0 with sum 1 that minimises w^T E w."""
    members = len(product)
    size = float(product.diagonal().min())
    if not size > 0:
        best = product.diagonal() == size
        return np.asarray(best / best.sum())
    values, vectors = np.linalg.eigh(product / size + SHRINKAGE * np.eye(members))
    root = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
    system = np.vstack([root, np.full((1, members), _SUM)])
    target = np.zeros(members + 1)
    target[-1] = _SUM
    weights, _ = scipy.optimize.nnls(system, target)
    return np.asarray(weights / weights.sum())
