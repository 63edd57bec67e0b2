"""`IOHMM`: learns a model of discrete observations and actions by two-stage regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.folds import hold_out
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.summary import check_summary, summarise
from rffpsr_ros.data.windows import count_windows
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.io_hmm.discrete_system import (
    DiscreteOptions,
    DiscreteStageOne,
    DiscreteSystem,
    discrete_step,
    learn_discrete_systems,
    symbol_probabilities,
)
from rffpsr_ros.models.io_hmm.model import IOHMMModel, IOHMMParts
from rffpsr_ros.models.io_hmm.symbols import Codebook, indicators
from rffpsr_ros.models.option_checks import check_type, require
from rffpsr_ros.models.training_set import training_signature
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.importance import Importance, importance, weighted_runs
from rffpsr_ros.recordings.trajectory import Trajectory

MOST_SYMBOLS = 64
"""More distinct rows than these are taken for a continuous channel."""

MOST_CELLS = 20_000
"""Joint values of extended observations and actions, at the most: longer futures are not tried."""

MOST_PAST = 4
"""Longer histories are not tried: classes are endings that occur often, and these are short."""

SEGMENT = 250
"""Ticks of held-out data that are filtered side by side, and of them the first fifth unjudged."""


class _DiscreteCandidate(NamedTuple):
    score: float
    options: DiscreteOptions
    rank: int


class IOHMM(InMemoryLearner[IOHMMModel]):
    """Learner of `IOHMMModel`.

    Parameters
    ----------
    past
        Ticks of history in stage one, at most; fewer where that predicts better.
    future
        Ticks of future that the belief has to predict, at most; fewer where that predicts better
        or where tables of longer ones would be too large.
    state_rank
        Cap on the belief's size, which is chosen.
    stage_one
        ``joint`` or ``conditional``.

    Notes
    -----
    Choices are made by the squared error of one-step probabilities on the validation trajectories,
    else on training trajectories held out; the chosen model is then learned from all of them. Where
    the policy that chose the actions is known, windows are weighted in stage one (`importance`).
    """

    configurable = ("past", "future", "state_rank", "stage_one")

    def __init__(
        self,
        past: int = 3,
        future: int = 2,
        state_rank: int = 20,
        stage_one: DiscreteStageOne = "joint",
    ) -> None:
        """Check the options.

        Raises
        ------
        InputError
            If a number is not whole and at least 1, or stage one is neither of the two.
        """
        check_type("stage_one", stage_one, DiscreteStageOne)
        self.stage_one: DiscreteStageOne = stage_one
        for name, value in (("past", past), ("future", future), ("state_rank", state_rank)):
            check_type(name, value, int)
            require(name, value, lambda v: v >= 1, "at least 1")
        self.past, self.future, self.state_rank = past, future, state_rank

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> IOHMMModel:
        signature = training_signature(train, validation)
        check_summary(summarise(train, 1, 1), train[0], 1, 1, 2)
        symbols = _codebook("observation", [t.observations for t in train])
        choices = _codebook("action", [t.actions for t in train])

        def codes(trajectories: Sequence[Trajectory]) -> list[Run]:
            return [
                Run(symbols.encode(t.observations), choices.encode(t.actions)) for t in trajectories
            ]

        learn_from, judge_by = train, validation
        if not judge_by:
            learn_from, judge_by = hold_out(train, 2 * (self.past + self.future + 1))
        sizes = len(symbols.rows), len(choices.rows)
        with one_blas_thread():
            chosen = self._choose(learn_from, codes(learn_from), codes(judge_by), sizes, progress)
            weighting, counted = _weighted(train, codes(train), chosen.options)
            (system,) = learn_discrete_systems(
                codes(train), *sizes, chosen.options, [chosen.rank], counted
            )
        options = {
            "past": chosen.options.past,
            "future": chosen.options.future,
            "state_rank": len(system.start),
            "stage_one": self.stage_one,
        }
        notes = () if weighting is None else (weighting.describe(),)
        record = TrainingRecord(options, {"validation_brier": chosen.score}, notes)
        return IOHMMModel(
            signature, record, IOHMMParts(system, symbols, choices, chosen.options.past)
        )

    def _choose(
        self,
        trajectories: Sequence[Trajectory],
        runs: Sequence[Run],
        held_out: Sequence[Run],
        sizes: tuple[int, int],
        progress: Progress,
    ) -> _DiscreteCandidate:
        """Return the best history length, future length and rank; ``runs`` are codes."""
        possible = [
            DiscreteOptions(past, future, stage_one=self.stage_one)
            for future in range(1, self.future + 1)
            for past in range(1, min(self.past, MOST_PAST) + 1)
            if (past, future) == (1, 1)
            or (
                (sizes[0] * sizes[1]) ** (future + 1) <= MOST_CELLS
                and (sizes[0] * sizes[1]) ** past < 2**62
                and any(count_windows(len(run.actions), past, future) for run in runs)
            )
        ]
        tried: list[_DiscreteCandidate] = []
        for number, options in enumerate(possible):
            ranks = range(1, self.state_rank + 1)
            _, counted = _weighted(trajectories, runs, options)
            for system in learn_discrete_systems(runs, *sizes, options, ranks, counted):
                score = _score(system, held_out)
                tried.append(_DiscreteCandidate(score, options, len(system.start)))
            progress("two-stage regression", (number + 1) / len(possible))
        return min(tried, key=lambda candidate: candidate.score)


def _weighted(
    trajectories: Sequence[Trajectory], runs: Sequence[Run], options: DiscreteOptions
) -> tuple[Importance | None, list[Run] | None]:
    """Return how windows are weighted, and runs of codes with their weights, or neither.

    Classes of histories are endings of at least one tick, so only that one they hold for certain.
    """
    weighting = importance(trajectories, options.past, options.future, held=1)
    if weighting is None:
        return None, None
    return weighting, weighted_runs(runs, trajectories, weighting)


def _codebook(what: str, columns: Sequence[np.ndarray]) -> Codebook:
    book = Codebook.of(columns)
    if len(book.rows) > MOST_SYMBOLS:
        raise InputError(
            f"the {what}s take {len(book.rows)} distinct values and an IO-HMM knows at most"
            f" {MOST_SYMBOLS}; leave continuous fields out, or learn another kind of model"
        )
    return book


def _score(system: DiscreteSystem, runs: Sequence[Run]) -> float:
    """Return the mean squared error of one-step probabilities of the symbols (Brier score)."""
    length = min(SEGMENT, *(len(run.actions) for run in runs))
    observed, acted = (
        np.concatenate(
            [codes[: len(codes) // length * length, 0].reshape(-1, length) for codes in column]
        )
        for column in zip(*runs, strict=True)
    )
    belief = np.repeat(system.start[None], len(acted), axis=0)
    errors = []
    for t in range(length):
        action, missing = acted[:, t].astype(int), np.isnan(observed[:, t])
        seen = indicators(
            np.where(missing, 0, observed[:, t]).astype(int), system.probability.shape[2]
        )
        if t >= length // 5:
            squared = ((symbol_probabilities(system, belief, action) - seen) ** 2).sum(1)
            errors.append(squared[~missing])
        seen[missing] = 1.0
        belief = discrete_step(system, belief, action, seen)
    together = np.concatenate(errors)
    return float(together.mean()) if len(together) else float("inf")
