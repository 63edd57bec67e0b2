"""`Kalman`: learns a linear model with inputs by two-stage regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.folds import hold_out
from rffpsr_ros.data.scaling import Run, standardise
from rffpsr_ros.data.summary import check_summary, summarise
from rffpsr_ros.data.windows import count_windows
from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.kalman.forecast_errors import (
    forecast_errors,
    mean_squared_forecast_errors,
)
from rffpsr_ros.models.kalman.linear_system import LinearSystem
from rffpsr_ros.models.kalman.model import KalmanModel, KalmanParts
from rffpsr_ros.models.kalman.subspace import SubspaceOptions, learn_linear_systems
from rffpsr_ros.models.option_checks import check_type, require
from rffpsr_ros.models.training_set import training_signature
from rffpsr_ros.numerics.scores import robust_score
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.importance import importance, weighted_runs
from rffpsr_ros.recordings.trajectory import Trajectory

RIDGES = (1e-12, 1e-9, 1e-6, 1e-4, 1e-2)
"""What the ridge is chosen from: the less noise in a recording, the smaller the best one."""

LARGEST_ORDER = 20

JUDGED_TICKS = 10_000
"""Held-out ticks that candidates are judged by, about."""

SIMPLER_UP_TO = 1.002
"""The lowest order is chosen whose score is at most this much worse than the best one's."""


class _LinearCandidate(NamedTuple):
    score: float
    options: SubspaceOptions
    order: int


class Kalman(InMemoryLearner[KalmanModel]):
    """Learner of `KalmanModel`.

    Parameters
    ----------
    past
        Ticks of history in stage one, at most; fewer where that predicts better.
    future
        Ticks of future that the state has to predict, and the horizon on which choices are scored.
    order
        Number of state variables; None chooses it, up to 20.
    ridge
        Penalty of both stages on means, in standard units; None chooses it.

    Notes
    -----
    Choices are made by the error of forecasts on the validation trajectories, else on training
    trajectories held out; the chosen model is then learned from all training trajectories. Where
    the policy that chose the actions is known, windows are weighted in stage one (`importance`).
    """

    configurable = ("past", "future", "order")

    def __init__(
        self,
        past: int = 20,
        future: int = 10,
        order: int | None = None,
        ridge: float | None = None,
    ) -> None:
        """Check the options.

        Raises
        ------
        InputError
            If a number of ticks or the order is less than 1, or ``ridge`` is not positive.
        """
        check_type("past", past, int)
        check_type("future", future, int)
        check_type("order", order, int | None)
        check_type("ridge", ridge, float | None)
        for name, count in (("past", past), ("future", future), ("order", order)):
            require(name, count, lambda v: v >= 1, "at least 1")
        require("ridge", ridge, lambda v: v > 0, "greater than 0")
        self.past, self.future, self.order, self.ridge = past, future, order, ridge

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> KalmanModel:
        signature = training_signature(train, validation)
        found = summarise(train, 1, self.future)
        check_summary(found, train[0], 1, self.future, 2)
        scalings = found.observations.scaling(), found.actions.scaling()
        learn_from, judge_by = train, validation
        if not judge_by:
            learn_from, judge_by = hold_out(train, 2 * (self.past + self.future + 1))
        with one_blas_thread():
            held_out = _first_ticks(standardise(judge_by, *scalings))
            chosen = self._choose(
                learn_from, standardise(learn_from, *scalings), held_out, progress
            )
            runs = standardise(train, *scalings)
            weighting = importance(train, chosen.options.past, self.future)
            counted = None if weighting is None else weighted_runs(runs, train, weighting)
            (system,) = learn_linear_systems(runs, chosen.options, [chosen.order], counted)
            settling = _settling(held_out, chosen.options)
            errors = forecast_errors(system, held_out, *settling, exact=True, whole=True)
            by_horizon = [np.nanmean(error**2, axis=(0, 1)) for error in errors]
        mse = np.stack(by_horizon) * scalings[0].deviation ** 2
        record = TrainingRecord(
            {**vars(chosen.options), "order": chosen.order},
            {"validation_mse": mse.sum(axis=1).tolist(), "score": chosen.score},
            () if weighting is None else (weighting.describe(),),
        )
        return KalmanModel(signature, record, KalmanParts(system, *scalings))

    def _choose(
        self,
        trajectories: Sequence[Trajectory],
        runs: Sequence[Run],
        held_out: Sequence[Run],
        progress: Progress,
    ) -> _LinearCandidate:
        """Return the best of the ridges, then of the history lengths, then of the orders.

        ``runs`` are the trajectories standardised.
        """
        columns = runs[0].observations.shape[1]
        most = min(self.order or LARGEST_ORDER, self.future * columns)
        pasts = _possible_pasts(runs, self.past, self.future)

        orders = range(1, most + 1) if self.order is None else [self.order]

        def judged(past: int, ridge: float) -> list[_LinearCandidate]:
            options = SubspaceOptions(past, self.future, ridge)
            weighting = importance(trajectories, past, self.future)
            counted = None if weighting is None else weighted_runs(runs, trajectories, weighting)
            systems = learn_linear_systems(runs, options, orders, counted)
            return [
                _LinearCandidate(_score(system, held_out, options), options, len(system.start))
                for system in systems
            ]

        def best(candidates: list[_LinearCandidate], done: float) -> _LinearCandidate:
            progress("two-stage regression", done)
            return min(candidates, key=lambda candidate: candidate.score)

        ridges = RIDGES if self.ridge is None else (self.ridge,)
        tried = [c for ridge in ridges for c in judged(pasts[0], ridge)]
        ridge = best(tried, 0.5).options.ridge
        tried += [c for past in pasts[1:] for c in judged(past, ridge)]
        now = best(tried, 1.0)
        alike = [c for c in tried if c.options == now.options]
        return next(c for c in alike if c.score <= SIMPLER_UP_TO * now.score)


def _first_ticks(runs: Sequence[Run]) -> list[Run]:
    """Return the ticks that candidates are compared on: more would say little more."""
    share = max(JUDGED_TICKS // len(runs), 100)
    return [Run(run.observations[:share], run.actions[:share]) for run in runs]


def _settling(runs: Sequence[Run], options: SubspaceOptions) -> tuple[int, int]:
    """Return the horizon that runs are judged by, and the ticks that the filter has to settle."""
    shortest = min(len(run.actions) for run in runs)
    horizon = min(options.future, shortest)
    return horizon, min(options.past, (shortest - horizon) // 2)


def _score(system: LinearSystem, runs: Sequence[Run], options: SubspaceOptions) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        errors = mean_squared_forecast_errors(
            system, runs, *_settling(runs, options), exact=True, whole=True
        )
    return robust_score(errors)


def _possible_pasts(runs: Sequence[Run], past: int, future: int) -> list[int]:
    """Return ``past`` and its halves, as far as there are windows enough to tell weights."""
    columns = runs[0].observations.shape[1] + runs[0].actions.shape[1]
    halves = [past >> k for k in range(past.bit_length())]

    def windows(length: int) -> int:
        return sum(count_windows(len(run.actions), length, future) for run in runs)

    return [p for p in halves if windows(p) >= 2 * p * columns] or halves[-1:]
