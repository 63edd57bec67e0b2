"""Minibatches of segments, whose gradients sum up to that of one step.

What is random is drawn before anything is computed, so that the sum has the same bits on one
process and on several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.refinement.rollout_loss import rollout_loss
from rffpsr_ros.psr.refinement.segments import Origins, Segments, origins, thin_early


class Minibatch(NamedTuple):
    """Segments by their places among all, and where rollouts start in them."""

    places: Array
    origins: Origins
    total: int
    """Origins in all minibatches of the step."""


class GradientData(NamedTuple):
    """What gradients are computed from, the same in every step; in single precision."""

    structure: FixedStructure
    segments: Segments
    horizon_weights: Array  # (H, d_o)


@dataclass
class LossGradient:
    """A loss and its gradient at the parameters; shares of them add up."""

    loss: float
    gradient: TrainableParameters

    def merge(self, other: LossGradient) -> None:
        """Add the share of another minibatch."""
        self.loss += other.loss
        for total, part in zip(self.gradient, other.gradient, strict=True):
            total[...] += part


class MinibatchSampling(NamedTuple):
    """How a step's minibatches are drawn."""

    batch: int
    """Segments of a minibatch."""
    most: int
    """Minibatches of a step; fewer where there are not that many segments."""
    horizon: int
    stride: int
    """Of a segment's origins each n-th is taken, from an offset of the minibatch's own."""
    age: Array  # (past,): the probability that an origin among a recording's first ticks is kept

    def minibatches(self, count: int) -> int:
        """Return how many minibatches a step has, of ``count`` segments in all."""
        return max(1, min(self.most, -(-count // self.batch)))


def draw_minibatches(
    segments: Segments, sampling: MinibatchSampling, generator: np.random.Generator
) -> list[Minibatch]:
    """Return minibatches of distinct segments, by chance where a step does not take them all."""
    count, size = len(segments.observations), sampling.batch
    wanted = min(count, sampling.most * size)
    chosen = generator.choice(count, wanted, replace=False) if wanted < count else np.arange(count)
    drawn: list[tuple[Array, Origins]] = []
    for first in range(0, wanted, size):
        places = np.sort(chosen[first : first + size])
        batch = segments.pick(places)
        offset = int(generator.integers(sampling.stride))
        starts = origins(batch, sampling.horizon, sampling.stride, offset)
        drawn.append((places, thin_early(starts, batch, sampling.age, generator)))
    total = sum(len(starts.tick) for _, starts in drawn)
    return [Minibatch(places, starts, total) for places, starts in drawn]


def minibatch_gradient(
    parameters: TrainableParameters, data: GradientData, minibatch: Minibatch
) -> LossGradient:
    """Return a minibatch's share of its step's loss, the mean over all origins, and gradient."""
    batch = data.segments.pick(minibatch.places)
    with np.errstate(over="ignore", invalid="ignore"):
        return LossGradient(
            *rollout_loss(
                parameters,
                data.structure,
                batch,
                minibatch.origins,
                data.horizon_weights,
                minibatch.total,
            )
        )
