"""A choice among a few settings of one method by the error on validation trajectories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rffpsr_ros.data.folds import Fold, folds, hold_out
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import horizon_errors
from rffpsr_ros.models.contract import Learner, PredictiveModel
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.numerics.scores import robust_score
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.trajectory import Trajectory

SEEN = 20
"""Ticks that a model filters before it is scored."""

LITTLE, FOLDS = 10_000, 4
"""Up to so many ticks, choices without validation trajectories are judged on so many folds."""

BLOCK = 500
"""Ticks of the pieces in which long validation recordings are judged, each from its beginning."""


class BestOf(InMemoryLearner[PredictiveModel[Any]]):
    """The learner, of several, whose model is best on validation.

    Parameters
    ----------
    tries
        Candidates to choose from.
    finish
        Makes the learner of the final model from the index of the best try, and what it learns
        from: the training trajectories, or with ``everything`` those of validation as well.
    free_run
        Judge by simulating each validation block to its end, not by horizons 1 to 10.
    """

    def __init__(
        self,
        tries: Sequence[Learner],
        finish: Callable[[int], Learner],
        everything: bool,
        free_run: bool = False,
    ) -> None:
        self.tries = list(tries)
        self.finish = finish
        self.everything = everything
        self.free_run = free_run

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> PredictiveModel[Any]:
        """Return the final model.

        Without ``validation`` a fifth of ``train`` is held out, or folds in turn where that is
        little and the final model needs none.
        """
        if validation:
            parts = [Fold(list(train), list(validation))]
        elif self.everything and sum(map(len, train)) <= LITTLE:
            parts = folds(train, FOLDS, 4 * SEEN)
        else:
            parts = [Fold(*hold_out(train, 4 * SEEN))]
        scores = [np.mean([self._score(each, part) for part in parts]) for each in self.tries]
        learner = self.finish(int(np.argmin(scores)))
        if self.everything:
            return learner.fit([*train, *(validation or ())])
        return learner.fit(*parts[0])

    def _score(self, learner: Learner, part: Fold) -> float:
        try:
            model = learner.fit(*part)
        except InputError:
            return float("inf")
        return validation_score(model, part.held_out, self.free_run)


def validation_score(
    model: PredictiveModel[Any], held: Sequence[Trajectory], free_run: bool
) -> float:
    """Return the robust score on validation blocks, of standardised errors; lower is better."""
    blocks = [
        run.slice(first, min(first + BLOCK, len(run)))
        for run in held
        for first in range(0, max(len(run) - BLOCK // 2, 1), BLOCK)
    ]
    horizon = min(map(len, blocks)) - SEEN if free_run else 10
    found = horizon_errors(model, blocks, horizon, SEEN)
    deviations = np.nanstd(np.concatenate([run.observations for run in held]), axis=0)
    errors = (found.squared_errors / np.maximum(deviations, 1e-12) ** 2).sum(axis=2)
    if not np.isfinite(errors).all():
        return float("inf")
    return float(errors.mean()) if free_run else robust_score(errors)
