"""When a descent ends: where it is judged nothing gets better, and where it learns little does.

A validation score may stay as it is while much is learned: of recordings with little noise errors
fall by orders of magnitude after such a plateau. So a descent that has lost its patience goes on as
long as the loss keeps falling and the score does not rise meanwhile, as it does once noise is
learned.
"""

from __future__ import annotations

import math
from collections import deque
from statistics import fmean, median

FALLS = 0.015
"""The loss, a logarithm of squared errors, still falls if by so much in a step, on average."""

RISEN = 1.5
"""The score has risen where it is so many times the best one."""

LONGEST = 4
"""So many times the usual patience is the longest."""

LOSSES, SCORES = 3, 5
"""So many of the last ones tell, by mean and by median: each rests on a sample of its own."""


class Patience:
    """Follows a descent step by step, and says whether it goes on."""

    def __init__(self, steps: int, best: float) -> None:
        """Begin with a score that is to be bettered; ``steps`` without are the usual patience."""
        self._steps, self._best, self._without = steps, best, 0
        self._loss_at_best: float | None = None
        self._losses: deque[float] = deque(maxlen=LOSSES)
        self._scores: deque[float] = deque(maxlen=SCORES)

    def after(self, loss: float, score: float | None) -> None:
        """Take a step's loss, before it, and score, after it; there is none where it failed."""
        self._losses.append(loss)
        if self._loss_at_best is None:
            self._loss_at_best = loss
        if score is not None:
            self._scores.append(score)
        if score is not None and score < self._best:
            self._best, self._loss_at_best, self._without = score, loss, 0
        else:
            self._without += 1

    @property
    def lasts(self) -> bool:
        """Whether another step is worth its time."""
        if self._without < self._steps:
            return True
        return self._without < LONGEST * self._steps and self._falls() and not self._risen()

    def _falls(self) -> bool:
        assert self._loss_at_best is not None
        return self._loss_at_best - fmean(self._losses) >= FALLS * self._without

    def _risen(self) -> bool:
        return median(self._scores or [math.inf]) > RISEN * self._best
