"""Output-error models: a short-window recurrence, learned by its simulation error (Ljung 1999).

Models trained to forecast ten ticks may drift in a thousand. This learner simulates a small
recurrence over the recordings and takes Gauss-Newton steps on the error: a linear recurrence first,
over longer and longer stretches, then with random features added, held to the linear one by a
ridge.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.moments import ridge_regression
from rffpsr_ros.data.saturation import Bounds, learned_bounds
from rffpsr_ros.data.scaling import Run, Scaling, forgiving_scaling, standardise
from rffpsr_ros.data.tick_windows import tick_windows
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.option_checks import check_seed, check_type, require
from rffpsr_ros.models.output_error.gauss_newton import descend
from rffpsr_ros.models.output_error.model import OutputErrorModel, OutputErrorParts
from rffpsr_ros.models.output_error.recurrence import Recurrence, SimulatedStretches
from rffpsr_ros.models.output_error.simulation_error import cut_stretches, simulation_error
from rffpsr_ros.models.training_set import shared_signature, training_signature
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.fourier_features import FeatureMap, draw_feature_map
from rffpsr_ros.recordings.trajectory import Trajectory

RIDGES = (np.inf, 10.0, 1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
"""Penalties on the distance to the linear recurrence, from strict to loose."""

DEFAULT_RIDGE = 1e-1

STRETCH = 200
"""Ticks of the longest simulations that are learned from."""

STAGES = (1 / 8, 1 / 2, 1)
"""The linear recurrence learns from stretches of these lengths in turn, as shares of the last."""

MOST_STRETCHES = 32
"""Simulations that are learned from, at the most."""

STEPS = 8
"""Gauss-Newton steps of a stage, at the most."""

LINEAR_RIDGE = 1e-6
"""Of the linear recurrence, towards the one-step regression where it starts."""

RANK, TOLERANCE = 50, 1e-3
"""Directions of the features that are kept: cap, and the weakest one relative to the strongest."""

MOST_WEIGHTS = 150
"""So many weights an output-error model has at the most: the time of a step grows as their square.
With many columns there is room for fewer directions, or none."""

DIRECTION_WINDOWS = 4000
"""Windows that directions of features are found from, about."""

BANDWIDTH = 2.0
"""Of the features, as a multiple of the median distance between windows."""

MARGIN = 0.1
"""How far beyond the training range inputs of features go, as a fraction of it."""

SLACK = 0.5
"""How far beyond that range predictions may go where there are no bounds, as a fraction of it."""


class OutputError(InMemoryLearner[OutputErrorModel]):
    """Learner of `OutputErrorModel`.

    Parameters
    ----------
    past
        Ticks of history in the window.
    features
        Random frequencies of the features of the window.
    ridge
        Penalty on the distance to the linear recurrence; infinite: the linear one itself.
    seed
        The seed of all randomness.
    """

    configurable = ("past", "features", "seed")

    def __init__(
        self, past: int = 4, features: int = 100, ridge: float = DEFAULT_RIDGE, seed: int = 0
    ) -> None:
        """Check the options.

        Raises
        ------
        InputError
            If one has the wrong type or is out of its range.
        """
        for name, count in {"past": past, "features": features}.items():
            check_type(name, count, int)
            require(name, count, lambda v: v >= 1, "at least 1")
        require("ridge", ridge, lambda v: v > 0, "greater than 0")
        check_seed(seed)
        self.past, self.features, self.ridge, self.seed = past, features, ridge, seed

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> OutputErrorModel:
        shared_signature(train, validation)
        ridges = [*(ridge for ridge in RIDGES if ridge > self.ridge), self.ridge]
        models = []
        for model in self.path(train, ridges):
            models.append(model)
            progress("simulation error", len(models) / len(ridges))
        return models[-1]

    def path(
        self, train: Sequence[Trajectory], ridges: Sequence[float] = RIDGES
    ) -> Iterator[OutputErrorModel]:
        """Yield the models of ever looser ridges, each learned from where the last one ended.

        Raises
        ------
        InputError
            As `fit`.
        """
        signature = training_signature(train)
        columns = len(signature.observation_names), len(signature.action_names)
        if self.directions(*columns) < 1:
            raise InputError(
                f"{columns[0]} observations and {columns[1]} actions are too many for an"
                f" output-error model with past={self.past}, which has {MOST_WEIGHTS} weights at"
                " the most"
            )
        scalings = (
            forgiving_scaling([run.observations for run in train]),
            forgiving_scaling([run.actions for run in train]),
        )
        runs = standardise(train, *scalings)
        with one_blas_thread():
            windows = _windows(runs, self.past)
            recurrence = self._recurrence(runs, windows, scalings)
            longest = cut_stretches(runs, self.past, STRETCH, MOST_STRETCHES)
            linear = _linear(recurrence, runs, windows)
        firsts = [np.concatenate([run.observations[0], run.actions[0]]) for run in runs]
        start = np.nan_to_num(np.nanmean(firsts, axis=0))
        weights = linear
        for ridge in ridges:
            if np.isfinite(ridge):
                with one_blas_thread():
                    weights = descend(recurrence, weights, longest, ridge, linear, STEPS)
            record = self._record(ridge, recurrence, weights, longest, scalings[0])
            parts = OutputErrorParts(recurrence, weights, start, *scalings)
            yield OutputErrorModel(signature, record, parts)

    def directions(self, observed: int, acted: int) -> int:
        """Return how many directions of features there is room for, beside a linear recurrence."""
        linear = 1 + self.past * observed + (self.past + 1) * acted
        return min(RANK, MOST_WEIGHTS // observed - linear)

    def _recurrence(
        self, runs: Sequence[Run], windows: IncrementWindows, scalings: tuple[Scaling, Scaling]
    ) -> Recurrence:
        """Draw the features, and learn the bounds."""
        generator = np.random.default_rng(self.seed)
        rows = windows.rows[:: max(len(windows.rows) // DIRECTION_WINDOWS, 1)]
        low, high = windows.rows.min(axis=0), windows.rows.max(axis=0)
        slack = MARGIN * (high - low)
        rank = self.directions(*(part.shape[1] for part in runs[0]))
        features = draw_feature_map(rows, self.features, BANDWIDTH, rank, TOLERANCE, generator)
        strongest = np.sqrt(np.mean(features(rows)[:, 0] ** 2))
        widest = Bounds(*map(scalings[0].apply, scalings[0].limits(SLACK)))
        learned = learned_bounds([run.observations for run in runs])
        if learned is not None:
            widest = Bounds(
                np.maximum(widest.low, learned.low), np.minimum(widest.high, learned.high)
            )
        return Recurrence(
            features._replace(projection=features.projection / strongest),
            low - slack,
            high + slack,
            widest,
        )

    def _record(
        self,
        ridge: float,
        recurrence: Recurrence,
        weights: Array,
        stretches: SimulatedStretches,
        scaling: Scaling,
    ) -> TrainingRecord:
        options = {"past": self.past, "features": self.features, "seed": self.seed}
        missed = float(np.sqrt(simulation_error(recurrence, weights, stretches)))
        return TrainingRecord(
            options | {"ridge": ridge if np.isfinite(ridge) else None},
            {"simulation_error": missed, "directions": recurrence.features.size},
        )


class IncrementWindows(NamedTuple):
    """The windows (N, d_w) of all ticks that were seen whole, and what a tick then added."""

    rows: Array
    increments: Array  # (N, d_o)


def _windows(runs: Sequence[Run], past: int) -> IncrementWindows:
    rows, increments = [], []
    for run in runs:
        ticks = np.arange(past, len(run.actions))
        count = len(ticks)
        if not count:
            continue
        windows = tick_windows(run, past, ticks)
        flat = (windows.observations.reshape(count, -1), windows.actions.reshape(count, -1))
        every, added = np.concatenate(flat, axis=1), windows.target - windows.observations[:, -1]
        whole = np.isfinite(every).all(axis=1) & np.isfinite(added).all(axis=1)
        rows.append(every[whole])
        increments.append(added[whole])
    if not any(map(len, rows)):
        raise InputError(
            f"no stretch of the recordings has {past + 1} ticks without a missing observation;"
            f" an output-error model with past={past} needs at least one"
        )
    return IncrementWindows(np.concatenate(rows), np.concatenate(increments))


def _linear(recurrence: Recurrence, runs: Sequence[Run], windows: IncrementWindows) -> Array:
    """Return the weights (P, d_o) of the linear recurrence of the least simulation error.

    Features, which have no weight yet, are not computed.
    """
    features = recurrence.features
    plain = recurrence._replace(
        features=FeatureMap(features.frequencies[:0], features.projection[:0, :0])
    )
    past = (len(recurrence.low) - runs[0].actions.shape[1]) // sum(
        part.shape[1] for part in runs[0]
    )
    rows = np.concatenate([np.ones((len(windows.rows), 1)), windows.rows], axis=1)
    cross, inner = windows.increments.T @ rows / len(rows), rows.T @ rows / len(rows)
    weights = ridge_regression(cross, inner, LINEAR_RIDGE).T
    for share in STAGES:
        stretches = cut_stretches(runs, past, round(share * STRETCH), MOST_STRETCHES)
        weights = descend(plain, weights, stretches, LINEAR_RIDGE, weights, STEPS)
    return np.concatenate([weights, np.zeros((features.size, len(weights[0])))])
