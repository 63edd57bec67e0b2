"""What feature learning minimises: the logarithm of rolled-out errors, and penalties."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import ssyrk

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.refinement.rolling import FeedbackModel, Learnable, Rollouts, predictions
from rffpsr_ros.psr.refinement.sensitivities import dependence, gradient, jacobian

TINY = 1e-30


class Objective(NamedTuple):
    """The logarithm of rolled-out errors, meant over horizons and observations, and penalties."""

    predictor: FeedbackModel
    rollouts: Rollouts
    like: Learnable
    precision: Array  # (P,)
    centre: Array  # (P,)
    curved: int  # rollouts that the curvature is estimated from, about

    def loss(self, point: Array) -> float:
        """Return the loss at a point (P,); infinite where a rollout is no number."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = predictions(self.predictor, self.like.at(point), self.rollouts)
            mean = np.nanmean((values - self.rollouts.target) ** 2, axis=0)
        loss = float(np.mean(np.log(np.maximum(mean, TINY)))) + self._penalty(point)
        return loss if np.isfinite(loss) else float("inf")

    def equations(self, point: Array) -> tuple[float, Array, Array]:
        """Return the loss, half its gradient (P,), and the Gauss-Newton curvature (P, P).

        Of the curvature there is the upper triangle, in single precision; the rest is zero.
        """
        learnable = self.like.at(point)
        with np.errstate(over="ignore", invalid="ignore"):
            found = dependence(self.predictor, learnable, self.rollouts)
            missed = found.values - self.rollouts.target
            counted = np.isfinite(missed)
            count = np.maximum(counted.sum(axis=0), 1)
            mean = np.maximum(np.nanmean(missed**2, axis=0), TINY)
            root = np.where(counted, 1 / np.sqrt(mean * count * mean.size), 0.0)
            weighted = np.where(counted, missed, 0.0) * root
            slope = gradient(self.predictor, learnable, found, weighted * root)
            curvature = np.zeros((len(point), len(point)), np.float32, order="F")
            share = slice(None, None, max(1, round(len(missed) / self.curved)))
            scale = root[share] * np.sqrt(counted.sum(axis=0) / counted[share].sum(axis=0))
            few = found.pick(share).scaled(scale)
            for rows in jacobian(self.predictor, learnable, few, np.float32):
                flat = rows.reshape(-1, len(point))
                # The upper triangle of J^T J: half the products.
                curvature = ssyrk(1.0, flat.T, beta=1.0, c=curvature, overwrite_c=True)
        slope += self.precision * (point - self.centre)
        curvature[np.diag_indices_from(curvature)] += self.precision
        loss = float(np.mean(np.log(mean))) + self._penalty(point)
        return loss, slope, curvature

    def _penalty(self, point: Array) -> float:
        away = point - self.centre
        return float(self.precision @ (away * away))
