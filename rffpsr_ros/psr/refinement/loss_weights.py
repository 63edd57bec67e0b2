"""What counts how much in refinement: horizons, and the first ticks of a recording.

Long horizons, and forecasts made in a recording's first ticks, err by orders of magnitude more than
the rest. Weighted by one over the ARX term's error, each has its share.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters, arx_term_alone
from rffpsr_ros.psr.refinement.rollout_loss import rollout_errors
from rffpsr_ros.psr.refinement.segments import Origins, Segments, origins, settled_origins

MEASURED_ORIGINS = 4000
"""Origins from which the ARX term's errors are measured, about."""


class LossWeights(NamedTuple):
    """How horizons and origins count, and how large one-step errors are before refinement."""

    horizon: Array  # (H, d_o), sum 1
    age: Array  # (past,): a share for each of a recording's first ticks
    residual: Array  # (d_o,), root mean square, standardised


def loss_weights(
    structure: FixedStructure,
    parameters: TrainableParameters,
    segments: Segments,
    horizon: int,
    floor: float = 1e-3,
) -> LossWeights:
    """Return weights inversely proportional to the ARX term's errors.

    Without an ARX term all horizons and origins count alike.
    """
    columns = segments.observations.shape[2]
    if structure.arx_past:
        parameters = arx_term_alone(parameters)

    def error(starts: Origins) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            squared = rollout_errors(parameters, structure, segments, starts, horizon)
            return squared.astype(np.float64)

    stride = max(1, int(segments.target.any(axis=2).sum()) // MEASURED_ORIGINS)
    settled = np.nanmean(error(settled_origins(segments, horizon, structure.past, stride)), axis=0)
    residual = np.sqrt(settled[0])
    if not structure.arx_past or not np.isfinite(settled).all():
        share = np.full((horizon, columns), 1 / (horizon * columns))
        return LossWeights(share, np.ones(structure.past), residual)
    settled = np.maximum(settled, floor * settled.max(0))
    inverse = 1 / settled
    early = origins(segments, horizon)
    early = early.pick(segments.first[early.segment] & (early.tick < structure.past))
    excess = np.nanmean((error(early) / settled).reshape(len(early.tick), -1), axis=1)
    counts = np.maximum(np.bincount(early.tick, minlength=structure.past), 1)
    by_age = np.bincount(early.tick, excess, minlength=structure.past) / counts
    age = 1 / np.maximum(by_age, 1.0)
    return LossWeights(inverse / inverse.sum(0) / columns, age, residual)
