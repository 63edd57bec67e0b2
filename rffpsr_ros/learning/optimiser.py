"""Adam on named groups of weights, each with a step of its own scale; Kingma and Ba 2015."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.learning.arrays import Array

FIRST_DECAY, SECOND_DECAY, TINY = 0.9, 0.999, 1e-8


class Adam:
    """Adam whose unit of length is, for every array, the array's own initial magnitude.

    State tensors, base and feature weights differ by orders of magnitude; a step relative to each
    one's size lets one learning rate serve all.
    """

    def __init__(self, weights: Sequence[Array], clip: float, floor: float = 1e-3) -> None:
        """Take the scales from the initial weights; gradients are clipped to norm ``clip``."""
        self._scales = [
            max(float(np.sqrt(np.mean(part**2))), floor) if part.size else 1.0 for part in weights
        ]
        self._first = [np.zeros(part.shape) for part in weights]
        self._second = [np.zeros(part.shape) for part in weights]
        self._clip = clip
        self._count = 0

    def step(
        self, weights: Sequence[Array], gradients: Sequence[Array], rate: float
    ) -> list[Array]:
        """Return the weights after one step against the gradients."""
        self._count += 1
        scaled = [g * s for g, s in zip(gradients, self._scales, strict=True)]
        norm = np.sqrt(sum(float(np.sum(g * g)) for g in scaled))
        shrink = min(1.0, self._clip / norm) if norm > 0 else 1.0
        first_bias = 1 - FIRST_DECAY**self._count
        second_bias = 1 - SECOND_DECAY**self._count
        moved = []
        for i, part in enumerate(scaled):
            clipped = part * shrink
            self._first[i] += (1 - FIRST_DECAY) * (clipped - self._first[i])
            self._second[i] += (1 - SECOND_DECAY) * (clipped**2 - self._second[i])
            direction = (self._first[i] / first_bias) / (
                np.sqrt(self._second[i] / second_bias) + TINY
            )
            moved.append(weights[i] - rate * self._scales[i] * direction)
        return moved


def cosine_rate(rate: float, iteration: int, iterations: int) -> float:
    """Return the learning rate, falling from ``rate`` to 0 along half a cosine."""
    return 0.5 * rate * (1 + float(np.cos(np.pi * iteration / iterations)))
