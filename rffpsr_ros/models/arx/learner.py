"""Linear autoregression with inputs (ARX): the plain baseline that every model must beat."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from rffpsr_ros.data.scaling import Scaling, forgiving_scaling, standardise
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.arx.model import LinearARXModel, LinearARXParts
from rffpsr_ros.models.arx.regression import (
    Shape,
    Sums,
    fit_weights,
    folds_of,
    held_out_score,
    mean_squared_errors,
)
from rffpsr_ros.models.contract import Signature, TrainingRecord
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.option_checks import check_type, require
from rffpsr_ros.models.training_set import training_signature
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.trajectory import Trajectory

RIDGES = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""What the ridge is chosen from: the less noise in a recording, the smaller the best one."""

_FALLBACK_RIDGE = 1e-3
"""Used when the recordings are too short to hold anything out."""


class LinearARX(InMemoryLearner[LinearARXModel]):
    """Learner of `LinearARXModel`.

    Parameters
    ----------
    past
        Ticks of history in the regression, at most; fewer where trajectories are too short.
    future
        Horizons with a regression of their own; longer forecasts are fed back in blocks.
    ridge
        Penalty on the mean squared error in standard units. None chooses it, and whether less
        history is better, by the error on the validation trajectories, else on training
        trajectories held out in turn.

    No row of a regression spans two trajectories; rows with a missing observation are left out.
    """

    configurable = ("past", "future")

    def __init__(self, past: int = 20, future: int = 10, ridge: float | None = None) -> None:
        """Check the options.

        Raises
        ------
        InputError
            If ``past`` or ``future`` is less than 1, or ``ridge`` is not positive.
        """
        for name, count in {"past": past, "future": future}.items():
            check_type(name, count, int)
            require(name, count, lambda v: v >= 1, "at least 1")
        check_type("ridge", ridge, float | None)
        require("ridge", ridge, lambda v: v > 0, "greater than 0")
        self.past = past
        self.future = future
        self.ridge = ridge

    @one_blas_thread()
    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> LinearARXModel:
        signature = training_signature(train, validation)
        observation_scaling = forgiving_scaling([trajectory.observations for trajectory in train])
        action_scaling = forgiving_scaling([trajectory.actions for trajectory in train])
        shape = Shape(
            _possible_past(train, self.past, self.future),
            self.future,
            len(observation_scaling.mean),
            len(action_scaling.mean),
        )

        def summarise(trajectory: Trajectory) -> Sums:
            (run,) = standardise([trajectory], observation_scaling, action_scaling)
            return Sums.of(run, shape)

        total = Sums.merged(map(summarise, train), shape)
        if total.count == 0:
            raise InputError(
                f"no stretch of the recordings has {shape.past + shape.future} ticks without a"
                " missing observation; linear ARX needs at least one"
            )
        past, ridge = shape.past, self.ridge
        scores: dict[str, float] = {}
        if ridge is None:
            past, ridge, scores = _choose(_folds(train, validation, total, summarise, shape), shape)
        return model_of(
            signature, total, past, ridge, scores, shape, observation_scaling, action_scaling
        )


def model_of(
    signature: Signature,
    total: Sums,
    past: int,
    ridge: float,
    scores: dict[str, float],
    shape: Shape,
    observation_scaling: Scaling,
    action_scaling: Scaling,
) -> LinearARXModel:
    """Return the model of the regressions on all history lengths up to ``past``."""
    lengths = _lengths(past)
    weights = np.stack([fit_weights(total, length, ridge, shape) for length in lengths])
    errors = mean_squared_errors(total, weights[-1], shape)
    record = TrainingRecord(
        options={"past": past, "future": shape.future, "ridge": ridge},
        metrics={
            "training_mse": (errors * observation_scaling.deviation**2).sum(axis=1).tolist(),
            "held_out_scores": scores,
        },
    )
    older = (shape.past - past) * shape.tick
    history, one, ahead = np.split(
        weights[:, older:], [past * shape.tick, past * shape.tick + 1], 1
    )
    parts = LinearARXParts(
        np.array(lengths),
        history.reshape(len(lengths), past, shape.tick, shape.future, shape.d_o),
        ahead.reshape(len(lengths), shape.future, shape.d_a, shape.future, shape.d_o),
        one.reshape(len(lengths), shape.future, shape.d_o),
        observation_scaling,
        action_scaling,
    )
    return LinearARXModel(signature, record, parts)


def _folds(
    train: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None,
    total: Sums,
    summarise: Callable[[Trajectory], Sums],
    shape: Shape,
) -> list[tuple[Sums, Sums]]:
    """Return (training, held out): the validation trajectories if their rows are any."""
    if validation:
        held_out = Sums.merged(map(summarise, validation), shape)
        if held_out.count:
            return [(total, held_out)]
    return folds_of(train, summarise, shape)


def _choose(
    folds: Sequence[tuple[Sums, Sums]], shape: Shape
) -> tuple[int, float, dict[str, float]]:
    """Return history length, ridge, and the score of everything tried, by name."""
    if not folds:
        return shape.past, _FALLBACK_RIDGE, {}
    by_ridge = {ridge: held_out_score(folds, shape.past, ridge, shape) for ridge in RIDGES}
    ridge = min(by_ridge, key=by_ridge.__getitem__)
    by_past = {past: held_out_score(folds, past, ridge, shape) for past in _lengths(shape.past)[1:]}
    past = min(by_past, key=by_past.__getitem__)
    scores = {f"ridge {ridge:g}": score for ridge, score in by_ridge.items()}
    return past, ridge, scores | {f"past {past}": score for past, score in by_past.items()}


def _lengths(past: int) -> list[int]:
    """Return history lengths 0, 1, 2, 4, 8, ... and ``past``, the longest."""
    return [0, *(1 << k for k in range(past.bit_length()) if 1 << k < past), past]


def _possible_past(train: Sequence[Trajectory], past: int, future: int) -> int:
    """Return the longest history, of at most ``past``, that leaves half of all origins as rows.

    Raises
    ------
    InputError
        If no trajectory holds a tick of history and ``future`` ticks.
    """
    lengths = [len(trajectory) for trajectory in train]
    if max(lengths) <= future:
        raise InputError(
            f"the longest trajectory has {max(lengths)} ticks; linear ARX with future={future}"
            f" needs at least {future + 1}"
        )

    def rows(history: int) -> int:
        return sum(max(0, length - history - future + 1) for length in lengths)

    possible = [n for n in _lengths(past)[1:] if rows(n) >= rows(0) / 2]
    return max(possible, default=1)
