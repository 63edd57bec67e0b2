"""What feature learning minimises: the logarithm of rolled-out errors, and penalties."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import ssyrk

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.refinement.rolling import FeedbackModel, Learnable, Rollouts, predictions
from rffpsr_ros.psr.refinement.sensitivities import adjoints, gradient, jacobian, rolled

TINY = 1e-30


class Objective(NamedTuple):
    """The logarithm of rolled-out errors, meant over horizons and observations, and penalties."""

    predictor: FeedbackModel
    rollouts: Rollouts
    like: Learnable
    precision: Array  # (P,)
    centre: Array  # (P,)
    mixtures: Array  # of each rollout's predictions (B, H, R, d_o), see `random_mixtures`

    def loss(self, point: Array) -> float:
        """Return the loss at a point (P,); infinite where a rollout is no number."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = predictions(self.predictor, self.like.at(point), self.rollouts)
            mean = np.nanmean((values - self.rollouts.target) ** 2, axis=0)
        loss = float(np.mean(np.log(np.maximum(mean, TINY)))) + self._penalty(point)
        return loss if np.isfinite(loss) else float("inf")

    def equations(self, point: Array) -> tuple[float, Array, Array]:
        """Return the loss, half its gradient (P,), and the Gauss-Newton curvature (P, P).

        Of the curvature there is the upper triangle, in single precision; the rest is zero. It is
        that of the mixtures: on average that of all predictions.
        """
        learnable = self.like.at(point)
        with np.errstate(over="ignore", invalid="ignore"):
            found = rolled(self.predictor, learnable, self.rollouts)
            missed = found.values - self.rollouts.target
            counted = np.isfinite(missed)
            count = np.maximum(counted.sum(axis=0), 1)
            mean = np.maximum(np.nanmean(missed**2, axis=0), TINY)
            root = np.where(counted, 1 / np.sqrt(mean * count * mean.size), 0.0)[:, :, None]
            weighted = root**2 * np.where(counted, missed, 0.0)[:, :, None]
            weights = np.concatenate([weighted, root * self.mixtures], axis=2)
            back = adjoints(self.predictor, found, weights)
            slope = gradient(self.predictor, found, back.of(slice(1)))
            mixed = back.of(slice(1, None))
            curvature = _curvature(jacobian(self.predictor, learnable, found, mixed), len(point))
        slope += self.precision * (point - self.centre)
        curvature[np.diag_indices_from(curvature)] += self.precision
        loss = float(np.mean(np.log(mean))) + self._penalty(point)
        return loss, slope, curvature

    def _penalty(self, point: Array) -> float:
        away = point - self.centre
        return float(self.precision @ (away * away))


def _curvature(parts: Iterable[Array], size: int) -> Array:
    """Return the upper triangle of J^T J (P, P), half the products, of rows (b, R, P) of J."""
    curvature = np.zeros((size, size), np.float32, order="F")
    for rows in parts:
        flat = rows.reshape(-1, size).astype(np.float32, copy=False)
        curvature = ssyrk(1.0, flat.T, beta=1.0, c=curvature, overwrite_c=True)
    return curvature


def random_mixtures(rollouts: Rollouts, wanted: float, generator: np.random.Generator) -> Array:
    """Return R sums of each rollout's predictions with random signs (B, H, R, d_o).

    There are about ``wanted`` in all. J^T J of mixtures is on average that of the predictions
    themselves, at a fraction of its cost, and of every rollout: a sketch of the curvature (Pilanci
    and Wainwright 2017). Where they would be as many as the predictions, each is one prediction.
    """
    count, horizon, columns = rollouts.target.shape
    each = max(1, round(wanted / count))
    if each >= horizon * columns:
        alone = np.eye(horizon * columns, dtype=np.float32).reshape(-1, horizon, columns)
        return np.broadcast_to(alone.swapaxes(0, 1), (count, horizon, horizon * columns, columns))
    signs = generator.integers(0, 2, (count, horizon, each, columns), dtype=np.int8)
    return (2 * signs - 1) / np.float32(np.sqrt(each))
