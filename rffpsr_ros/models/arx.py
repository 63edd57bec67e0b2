"""Linear autoregression with inputs (ARX): the plain baseline that every model must beat.

Horizon h has a linear regression of its own on the last ``past`` observations and actions and on
the actions of steps 1 to h (direct multi-step forecasting), so no forecast sees an action after its
own step. A forecast that could would look better on recordings of a controlled robot, where the
next command tells what the robot just did, and be useless live.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.episodes.trajectory import Trajectory
from rffpsr_ros.errors import InputError
from rffpsr_ros.learning.scaling import Scaling, fit_scaling, standardise
from rffpsr_ros.models.arx_regression import (
    Shape,
    Sums,
    choose_ridge,
    fit_weights,
    folds_of,
    mean_squared_errors,
)
from rffpsr_ros.models.predictive_model import (
    Array,
    PredictiveModel,
    Signature,
    TrainingRecord,
)
from rffpsr_ros.models.training_set import training_signature

RIDGES = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)
"""What the ridge is chosen from: the less noise in a recording, the smaller the best one."""


class LinearARXState(NamedTuple):
    """The newest ``past`` ticks in the data's units; the training mean where there were none."""

    observations: Array
    """(past, d_o)"""
    actions: Array
    """(past, d_a)"""


class LinearARXModel(PredictiveModel[LinearARXState]):
    """Direct multi-step linear forecasts; beyond ``future`` steps they are fed back.

    Attributes
    ----------
    history_weights
        (past (d_o + d_a), future, d_o), from the flattened history in standard units.
    action_weights
        (future, d_a, future, d_o): entry [k, :, h] is zero for k > h.
    intercept
        (future, d_o)
    observation_scaling, action_scaling
        Mean and standard deviation of the training columns.
    """

    kind: ClassVar[str] = "linear_arx"

    def __init__(
        self,
        signature: Signature,
        record: TrainingRecord,
        history_weights: Array,
        action_weights: Array,
        intercept: Array,
        observation_scaling: Scaling,
        action_scaling: Scaling,
    ) -> None:
        """Take the weights in standard units; see the class for their shapes."""
        self.signature = signature
        self.record = record
        self.history_weights = history_weights
        self.action_weights = action_weights
        self.intercept = intercept
        self.observation_scaling = observation_scaling
        self.action_scaling = action_scaling
        columns = len(observation_scaling.mean) + len(action_scaling.mean)
        self.past = len(history_weights) // columns
        self.future = len(intercept)

    def initial_state(self) -> LinearARXState:
        """Return a history of training means."""
        return LinearARXState(
            np.tile(self.observation_scaling.mean, (self.past, 1)),
            np.tile(self.action_scaling.mean, (self.past, 1)),
        )

    def update(self, state: LinearARXState, action: Array, observation: Array) -> LinearARXState:
        """Return the history with the new tick; the forecast stands in for missing entries."""
        missing = np.isnan(observation)
        if missing.any():
            expected = self.predict(state, action[..., None, :])[..., 0, :]
            observation = np.where(missing, expected, observation)
        return LinearARXState(
            _append(state.observations, observation[..., None, :]),
            _append(state.actions, action[..., None, :]),
        )

    def predict(self, state: LinearARXState, actions: Array) -> Array:
        """Return the forecast (H, d_o) or (B, H, d_o)."""
        observed = self.observation_scaling.apply(state.observations)
        acted = self.action_scaling.apply(state.actions)
        planned = self.action_scaling.apply(actions)
        blocks = []
        for start in range(0, actions.shape[-2], self.future):
            plan = planned[..., start : start + self.future, :]
            blocks.append(self._forecast(observed, acted, plan))
            observed, acted = _append(observed, blocks[-1]), _append(acted, plan)
        return self.observation_scaling.invert(np.concatenate(blocks, axis=-2))

    def _forecast(self, observed: Array, acted: Array, plan: Array) -> Array:
        """Return the forecast of at most ``future`` steps, all in standard units."""
        steps = plan.shape[-2]
        batch = np.broadcast_shapes(observed.shape[:-2], plan.shape[:-2])
        history = np.concatenate([_flat(observed), _flat(acted)], axis=-1)
        past = np.tensordot(history, self.history_weights[:, :steps], 1)
        ahead = np.tensordot(plan, self.action_weights[:steps, :, :steps], 2)
        return np.broadcast_to(past + ahead + self.intercept[:steps], (*batch, *past.shape[-2:]))

    def to_arrays(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return weights and scales."""
        return {}, {
            "history_weights": self.history_weights,
            "action_weights": self.action_weights,
            "intercept": self.intercept,
            "observation_scaling": np.stack(self.observation_scaling),
            "action_scaling": np.stack(self.action_scaling),
        }

    @classmethod
    def from_arrays(
        cls,
        signature: Signature,
        record: TrainingRecord,
        header: dict[str, Any],
        arrays: dict[str, Array],
    ) -> LinearARXModel:
        """Rebuild a model from what `to_arrays` returned."""
        return cls(
            signature,
            record,
            arrays["history_weights"],
            arrays["action_weights"],
            arrays["intercept"],
            Scaling(*arrays["observation_scaling"]),
            Scaling(*arrays["action_scaling"]),
        )


class LinearARX:
    """Learner of `LinearARXModel`.

    Parameters
    ----------
    past
        Ticks of history in the regression.
    future
        Horizons with a regression of their own; longer forecasts are fed back in blocks.
    ridge
        Penalty on the mean squared error in standard units; None chooses among `RIDGES` by the
        error on the validation trajectories, else on training trajectories held out in turn.
    """

    def __init__(self, past: int = 20, future: int = 10, ridge: float | None = None) -> None:
        """Check the options.

        Raises
        ------
        InputError
            If ``past`` or ``future`` is less than 1, or ``ridge`` is not positive.
        """
        if past < 1 or future < 1:
            raise InputError(f"past is {past} and future {future}; both must be at least 1 tick")
        if ridge is not None and not ridge > 0:
            raise InputError(f"ridge is {ridge}; it must be positive, or None to choose it")
        self.past = past
        self.future = future
        self.ridge = ridge

    def fit(
        self, train: Sequence[Trajectory], validation: Sequence[Trajectory] | None = None
    ) -> LinearARXModel:
        """Return the model learned from ``train``; ``validation`` only helps choose the ridge.

        Episodes' starts are in the training rows, with training means for what was before; rows
        with a missing observation are left out.

        Raises
        ------
        InputError
            If no trajectory holds ``future`` ticks, or none of its rows is complete.
        """
        signature = training_signature(train, validation)
        observation_scaling = _scaling([trajectory.observations for trajectory in train])
        action_scaling = _scaling([trajectory.actions for trajectory in train])
        shape = Shape(
            self.past, self.future, len(observation_scaling.mean), len(action_scaling.mean)
        )

        def summarise(trajectory: Trajectory) -> Sums:
            (run,) = standardise([trajectory], observation_scaling, action_scaling)
            return Sums.of(run, shape)

        total = Sums.merged(map(summarise, train), shape)
        if total.count == 0:
            raise _too_short(train, self.future)
        ridge, scores = self.ridge, dict[str, float]()
        if ridge is None:
            if validation:
                folds = [(total, Sums.merged(map(summarise, validation), shape))]
            else:
                folds = folds_of(train, summarise, shape)
            ridge, scores = choose_ridge(folds, RIDGES, shape)
        weights = fit_weights(total, ridge, shape)
        errors = mean_squared_errors(total, weights, shape)
        record = TrainingRecord(
            options={"past": self.past, "future": self.future, "ridge": ridge},
            metrics={
                "training_mse": (errors * observation_scaling.deviation**2).sum(axis=1).tolist(),
                "ridge_scores": scores,
            },
        )
        return LinearARXModel(
            signature,
            record,
            weights[: shape.history].reshape(-1, shape.future, shape.d_o),
            weights[shape.history + 1 :].reshape(shape.future, shape.d_a, shape.future, shape.d_o),
            weights[shape.history].reshape(shape.future, shape.d_o),
            observation_scaling,
            action_scaling,
        )


def _too_short(train: Sequence[Trajectory], future: int) -> InputError:
    longest = max(len(trajectory) for trajectory in train)
    if longest < future:
        return InputError(
            f"the longest trajectory has {longest} ticks; linear ARX needs at least {future}"
        )
    return InputError(
        f"no stretch of the recordings has {future} ticks without a missing observation;"
        " linear ARX needs at least one"
    )


def _scaling(columns: Sequence[Array]) -> Scaling:
    """Return the scaling of columns (T, d); a constant one keeps its unit."""
    scaling = fit_scaling(columns)
    return scaling._replace(deviation=np.where(scaling.deviation > 0, scaling.deviation, 1.0))


def _append(history: Array, newest: Array) -> Array:
    """Return the history with rows added at its end and as many dropped at its start."""
    batch = np.broadcast_shapes(history.shape[:-2], newest.shape[:-2])
    together = np.concatenate(
        [
            np.broadcast_to(history, (*batch, *history.shape[-2:])),
            np.broadcast_to(newest, (*batch, *newest.shape[-2:])),
        ],
        axis=-2,
    )
    return together[..., -history.shape[-2] :, :]


def _flat(rows: Array) -> Array:
    return rows.reshape(*rows.shape[:-2], -1)
