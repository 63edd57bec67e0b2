"""N4SID: a linear state space model by subspace identification, its order chosen on unseen data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.folds import Fold, folds
from rffpsr_ros.data.scaling import Run, Scaling, forgiving_scaling, standardise
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.kalman.forecast_errors import mean_squared_forecast_errors, stretches
from rffpsr_ros.models.kalman.linear_system import LinearSystem
from rffpsr_ros.models.kalman.model import KalmanModel, KalmanParts
from rffpsr_ros.models.n4sid.oblique_projection import (
    Realisation,
    WindowFactor,
    is_stable,
    is_stable_filter,
    joint_factor,
    oblique_projection,
    system_of_order,
    window_factor,
)
from rffpsr_ros.models.option_checks import check_type, require
from rffpsr_ros.models.training_set import training_signature
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.scores import robust_score
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.trajectory import Trajectory

RIDGES = (0.0, 1e-6, 1e-4, 1e-2)
"""What the ridge is chosen from; 0 is the classical algorithm."""

ORDERS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30)
"""What the order is chosen from, as far as the data show so many states."""

REALISATIONS: tuple[Realisation, ...] = ("shift", "states")

_UNSTABLE = 1.05
"""An unstable system must forecast better than a stable one by this factor."""

_FOLDS = 5


class Choice(NamedTuple):
    """What is chosen on held-out data."""

    order: int
    ridge: float
    realisation: Realisation

    def __str__(self) -> str:
        return f"order {self.order}, ridge {self.ridge:g}, by {self.realisation}"


class ChoiceGrid(NamedTuple):
    """What a choice is made from."""

    orders: Sequence[int]
    ridges: Sequence[float] = RIDGES


class N4SID(InMemoryLearner[KalmanModel]):
    """Learner of a `KalmanModel` by subspace identification with feedthrough.

    Parameters
    ----------
    past, future
        Ticks of past and future in a window (the block rows of the classical Hankel matrices).
    order
        Number of states; None chooses it.

    Order, ridge and realisation are chosen by the error of forecasts on
    validation trajectories, else on training trajectories held out in turn.
    """

    configurable = ("past", "future", "order")

    def __init__(self, past: int = 10, future: int = 10, order: int | None = None) -> None:
        """Check the options.

        Raises
        ------
        InputError
            If one of them is less than 1, or ``future`` less than 2.
        """
        check_type("past", past, int)
        check_type("future", future, int)
        check_type("order", order, int | None)
        require("past", past, lambda v: v >= 1, "at least 1")
        require("future", future, lambda v: v >= 2, "at least 2")
        require("order", order, lambda v: v >= 1, "at least 1")
        self.past = past
        self.future = future
        self.order = order

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> KalmanModel:
        signature = training_signature(train, validation)
        scalings = (
            forgiving_scaling([trajectory.observations for trajectory in train]),
            forgiving_scaling([trajectory.actions for trajectory in train]),
        )
        parts = [Fold(list(train), list(validation))] if validation else self._folds(train)
        grid = ChoiceGrid(ORDERS if self.order is None else (self.order,))
        factors = _Factors(self.past, self.future, scalings)
        with one_blas_thread():
            scores = self._scores(parts, scalings, factors, grid)
            candidates = _candidates(factors.of(train), grid)
        usable = {
            choice: score * (1 if is_stable(candidates[choice]) else _UNSTABLE)
            for choice, score in scores.items()
            if choice in candidates
        }
        if not usable:
            raise InputError(self._nothing_found(train))
        choice = min(usable, key=usable.__getitem__)
        record = TrainingRecord(
            options={"past": self.past, "future": self.future, **choice._asdict()},
            metrics={"held_out_scores": {str(one): score for one, score in scores.items()}},
        )
        return KalmanModel(signature, record, KalmanParts(candidates[choice], *scalings))

    def scores_by_order(self, train: Sequence[Trajectory], grid: ChoiceGrid) -> dict[int, float]:
        """Return the best held-out score of each order, by folds of the trajectories.

        Raises
        ------
        InputError
            If trajectories do not fit together.
        """
        training_signature(train)
        scalings = (
            forgiving_scaling([trajectory.observations for trajectory in train]),
            forgiving_scaling([trajectory.actions for trajectory in train]),
        )
        factors = _Factors(self.past, self.future, scalings)
        with one_blas_thread():
            scores = self._scores(self._folds(train), scalings, factors, grid)
        found: dict[int, float] = {}
        for choice, score in scores.items():
            found[choice.order] = min(score, found.get(choice.order, score))
        return found

    def _folds(self, train: Sequence[Trajectory]) -> list[Fold]:
        """Return folds of the recordings; too short to be cut, they are judged by themselves."""
        try:
            return folds(train, _FOLDS, 2 * (self.past + self.future))
        except InputError:
            return [Fold(list(train), list(train))]

    def _scores(
        self,
        parts: Sequence[Fold],
        scalings: tuple[Scaling, Scaling],
        factors: _Factors,
        grid: ChoiceGrid,
    ) -> dict[Choice, float]:
        """Return the score of each choice that every fold can have."""
        errors: list[dict[Choice, Array]] = []
        for part in parts:
            judged = stretches(standardise(part.held_out, *scalings))
            systems = _candidates(factors.of(part.train), grid)
            errors.append(
                {
                    choice: mean_squared_forecast_errors(system, judged, self.future, self.past)
                    for choice, system in systems.items()
                }
            )
        common = set.intersection(*(set(of_fold) for of_fold in errors))
        return {
            choice: robust_score(np.concatenate([of_fold[choice] for of_fold in errors]))
            for choice in sorted(common)
        }

    def _nothing_found(self, train: Sequence[Trajectory]) -> str:
        ticks = self.past + self.future
        runs = [Run(trajectory.observations, trajectory.actions) for trajectory in train]
        if window_factor(runs, self.past, self.future).windows == 0:
            return (
                f"no stretch of the recordings has {ticks} ticks without a missing observation;"
                f" N4SID with past={self.past} and future={self.future} needs at least one"
            )
        if self.order is None:
            return (
                f"no order from {ORDERS[0]} to {ORDERS[-1]} gave a stable filter on every part of"
                f" the recordings; record longer or with fewer gaps: windows of {ticks} ticks count"
                " only where nothing is missing"
            )
        return f"no stable filter of order {self.order} was found; leave the order to the data"


class _Factors:
    """Factors of windows: each recording's own is found once, in however many folds it is."""

    def __init__(self, past: int, future: int, scalings: tuple[Scaling, Scaling]) -> None:
        """Take what windows and units are; nothing is known yet."""
        self._past, self._future, self._scalings = past, future, scalings
        self._known: dict[int, tuple[Trajectory, WindowFactor]] = {}

    def of(self, recordings: Sequence[Trajectory]) -> WindowFactor:
        """Return the factor of all windows of recordings."""
        return joint_factor([self._own(recording) for recording in recordings])

    def _own(self, recording: Trajectory) -> WindowFactor:
        if id(recording) not in self._known:
            runs = standardise([recording], *self._scalings)
            found = window_factor(runs, self._past, self._future)
            self._known[id(recording)] = recording, found  # held, so that no other has its id
        return self._known[id(recording)][1]


def _candidates(factor: WindowFactor, grid: ChoiceGrid) -> dict[Choice, LinearSystem]:
    """Return the systems of every choice whose filters are stable."""
    if factor.windows == 0:
        return {}
    found = {}
    for ridge in grid.ridges:
        subspace = oblique_projection(factor, ridge)
        for order in grid.orders:
            for realisation in REALISATIONS if order <= subspace.largest_order else ():
                system = system_of_order(subspace, order, realisation)
                if is_stable_filter(system):
                    found[Choice(order, ridge, realisation)] = system
    return found
