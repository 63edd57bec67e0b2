"""Adam on several arrays of parameters, each with a step of its own scale; Kingma and Ba 2015."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.numerics.arrays import Array

FIRST_DECAY, SECOND_DECAY, TINY = 0.9, 0.999, 1e-8

CLIP = 3.0
"""No array's gradient is longer than this multiple of its usual length."""

USUAL_DECAY = 0.9
"""Weight of the past in an array's usual gradient length, a geometric mean."""


class Adam:
    """Adam with a unit of length of its own, and a clip of its own, for every array.

    State tensors and the weights of ARX and NARX term differ by orders of magnitude; a step
    relative to each one's size lets one learning rate serve all. The gradient through a filter that
    runs over a hundred ticks can explode; clipped by itself it does not silence the other arrays.
    """

    def __init__(self, scales: Sequence[Array]) -> None:
        """Take the arrays' units of length, each of a shape that goes with its array's."""
        self._scales = list(scales)
        self._first: list[Array | float] = [0.0] * len(self._scales)
        self._second: list[Array | float] = [0.0] * len(self._scales)
        self._usual = [0.0] * len(self._scales)
        self._count = 0

    def step(
        self, parameters: Sequence[Array], gradients: Sequence[Array], rate: float
    ) -> list[Array]:
        """Return the parameters after one step against the gradients."""
        self._count += 1
        first_bias = 1 - FIRST_DECAY**self._count
        second_bias = 1 - SECOND_DECAY**self._count
        moved = []
        for i, (part, scale) in enumerate(zip(gradients, self._scales, strict=True)):
            clipped = self._clip(i, part * scale)
            self._first[i] = FIRST_DECAY * self._first[i] + (1 - FIRST_DECAY) * clipped
            self._second[i] = SECOND_DECAY * self._second[i] + (1 - SECOND_DECAY) * clipped**2
            direction = (self._first[i] / first_bias) / (
                np.sqrt(self._second[i] / second_bias) + TINY
            )
            moved.append(parameters[i] - rate * scale * direction)
        return moved

    def _clip(self, index: int, gradient: Array) -> Array:
        """Return the gradient, not much longer than usual, and note its length; or nothing of it.

        One that overflowed says nothing about its direction either.
        """
        length = float(np.sqrt(np.sum(gradient * gradient)))
        if length == 0 or not np.isfinite(length):
            return np.zeros_like(gradient)
        usual = self._usual[index] or length
        allowed = min(length, CLIP * usual)
        self._usual[index] = usual * (allowed / usual) ** (1 - USUAL_DECAY)
        return gradient * (allowed / length)


def cosine_rate(rate: float, iteration: int, iterations: int) -> float:
    """Return the learning rate, falling from ``rate`` to 0 along half a cosine."""
    return 0.5 * rate * (1 + float(np.cos(np.pi * iteration / iterations)))
