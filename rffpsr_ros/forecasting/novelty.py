"""How much of what arrives is new to the model: surprises, and inputs outside the trained range.

Forecasts may be good where the robot has never been, and bad where it often was. This says which of
the two it is: a robot that changed surprises within the range trained on.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.arrays import Array

JUDGED = 100
"""Forecasts lately of which shares are told."""

RARE = 0.99
"""The coverage of the band that a forecast of the next tick seldom misses in training."""


class Novelty:
    """Shares of the newest forecasts that met something new.

    Parameters
    ----------
    model
        Its bands say which innovations, errors of forecasts of the next tick, are rare, and its
        trained range which inputs are new; without these nothing is told of them.
    """

    def __init__(self, model: PredictiveModel[Any]) -> None:
        self._ranges = model.known_range
        self._rare = None if model.bands is None else model.bands.half_width(RARE, 1)[0]
        self._met: deque[tuple[bool, bool]] = deque(maxlen=JUDGED)

    def take(self, innovation: Array, observations: Array, actions: Array) -> None:
        """Take an innovation (d_o,), and what a forecast's ticks brought (n, d_o), (n, d_a)."""
        surprised = self._rare is not None and bool((np.abs(innovation) > self._rare).any())
        pairs = zip(self._ranges, (observations, actions), strict=True)
        beyond = any(known is not None and known.left_by(values) for known, values in pairs)
        self._met.append((surprised, beyond))

    @property
    def score(self) -> float | None:
        """The share that met anything new, from 0 to 1; None before the first."""
        return self._share(lambda met: met[0] or met[1])

    @property
    def surprises(self) -> float | None:
        """The share with an innovation that is rare in training."""
        return self._share(lambda met: met[0])

    @property
    def outside(self) -> float | None:
        """The share with an observation or action outside the range trained on."""
        return self._share(lambda met: met[1])

    def _share(self, new: Any) -> float | None:
        return sum(map(new, self._met)) / len(self._met) if self._met else None
