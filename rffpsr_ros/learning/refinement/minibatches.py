"""Minibatches of segments, whose gradients sum up to that of one step.

What is random is drawn before anything is computed, so that whoever computes a minibatch's
gradient, and in whatever order, the sum has the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rffpsr_ros.learning.filtering.predictor import Frame, Weights
from rffpsr_ros.learning.refinement.rollout_loss import rollout_loss
from rffpsr_ros.learning.refinement.segments import Origins, Segments, origins
from rffpsr_ros.learning.windows.arrays import Array

MINIBATCH = 8
"""Segments of a minibatch: enough for products of some size, few enough for processor caches."""


class Minibatch(NamedTuple):
    """Segments by their places among all, and where rollouts start in them."""

    places: Array
    origins: Origins
    total: int
    """Origins in all minibatches of the step."""


class Material(NamedTuple):
    """What gradients are computed from, the same in every step; in single precision."""

    frame: Frame
    segments: Segments
    horizon_weights: Array  # (H, d_o)


@dataclass
class Slope:
    """A loss and its gradient at the weights; shares of them add up."""

    loss: float
    gradient: Weights

    def merge(self, other: Slope) -> None:
        """Add the share of another minibatch."""
        self.loss += other.loss
        for total, part in zip(self.gradient, other.gradient, strict=True):
            total[...] += part


def minibatches_of(count: int, most: int) -> int:
    """Return how many minibatches a step has, of ``count`` segments in all: ``most``, or fewer."""
    return max(1, min(most, -(-count // MINIBATCH)))


def draw_minibatches(
    segments: Segments,
    most: int,
    horizon: int,
    stride: int,
    age: Array,
    generator: np.random.Generator,
) -> list[Minibatch]:
    """Return at most so many minibatches of distinct segments, chosen by chance.

    Each has every ``stride``-th origin from an offset of its own; of those among a recording's
    first ticks each is kept with the probability ``age`` (past,). Where there are no more segments
    than that, every step has all of them.
    """
    count, wanted = len(segments.observations), most * MINIBATCH
    everyone = (
        np.arange(count) if count <= wanted else generator.choice(count, wanted, replace=False)
    )
    drawn: list[tuple[Array, Origins]] = []
    for first in range(0, len(everyone), MINIBATCH):
        places = np.sort(everyone[first : first + MINIBATCH])
        batch = segments.pick(places)
        starts = origins(batch, horizon, stride, int(generator.integers(stride)))
        drawn.append((places, _thin_early(starts, batch, age, generator)))
    total = sum(len(starts.tick) for _, starts in drawn)
    return [Minibatch(places, starts, total) for places, starts in drawn]


def slope(weights: Weights, material: Material, minibatch: Minibatch) -> Slope:
    """Return a minibatch's share of its step's loss, the mean over all origins, and gradient."""
    batch = material.segments.pick(minibatch.places)
    with np.errstate(over="ignore", invalid="ignore"):
        return Slope(
            *rollout_loss(
                weights,
                material.frame,
                batch,
                minibatch.origins,
                material.horizon_weights,
                minibatch.total,
            )
        )


def _thin_early(
    chosen: Origins, segments: Segments, age: Array, generator: np.random.Generator
) -> Origins:
    """Keep origins among a recording's first ticks with the probability ``age`` (past,)."""
    if not len(age):
        return chosen
    early = segments.first[chosen.segment] & (chosen.tick < len(age))
    share = np.where(early, age[np.minimum(chosen.tick, len(age) - 1)], 1.0)
    kept = generator.random(len(share)) < share
    return chosen.pick(kept) if kept.any() else chosen
