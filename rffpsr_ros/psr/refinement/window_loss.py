"""The paper's loss: the error in predicting a whole window of observations from each state.

Paper, "Model refinement by local optimization".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.moments import Regression
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.refinement.rollout_loss import (
    filter_gradient,
    filter_segments,
    packed_like,
    unpacked,
)
from rffpsr_ros.psr.refinement.segments import Segments


class WindowTargets(NamedTuple):
    """Futures of the ticks of S segments that have a whole one."""

    actions: Array  # psi^a of a_{t:t+k-1} (L, S, r_psi_a)
    observations: Array  # o_{t:t+k-1} as rows (L, S, k d_o)
    complete: Array  # (L, S)


def window_targets(
    segments: Segments, structure: FixedStructure, future_action: Features, future: int
) -> WindowTargets:
    """Cut the futures of every tick; those that leave the recording are marked incomplete."""
    ticks = segments.target.shape[1]
    index = np.minimum(np.arange(ticks)[:, None] + np.arange(future), ticks - 1)
    actions = segments.actions[:, structure.past :][:, index].swapaxes(0, 1)
    observations = segments.observations[:, structure.past :][:, index].swapaxes(0, 1)
    whole = np.arange(ticks)[:, None] + future <= ticks
    seen = np.asarray(segments.target.all(axis=2))
    complete = seen[:, index].all(axis=2).T & whole
    shape = (ticks, len(segments.target), -1)
    return WindowTargets(
        future_action(actions.reshape(shape)), observations.reshape(shape), complete
    )


def window_loss(
    parameters: TrainableParameters,
    head: Array,
    structure: FixedStructure,
    segments: Segments,
    targets: WindowTargets,
) -> tuple[float, TrainableParameters, Array]:
    """Return the mean squared window error, and its gradients at parameters and head.

    The forecast of o_{t:t+k-1} is ``head``^T (q_t x psi^a_t), head (p r_psi_a, k d_o). The error
    is summed over the window and averaged over ticks (paper, "Model refinement").
    """
    packed, parameters = parameters, unpacked(parameters, structure)
    states, caches = filter_segments(parameters, structure, segments)
    shape = states.shape
    chosen = targets.complete.ravel()
    flat = states.reshape(-1, shape[-1])[chosen]
    actions = targets.actions.reshape(len(chosen), -1)[chosen]
    joined = khatri_rao(flat, actions)
    error = joined @ head - targets.observations.reshape(len(chosen), -1)[chosen]
    count = max(len(error), 1)
    at_error = 2 / count * error
    at_joined = (at_error @ head.T).reshape(len(flat), shape[-1], -1)
    at_states = np.zeros_like(states)
    at_states.reshape(-1, shape[-1])[chosen] = (at_joined @ actions[:, :, None])[:, :, 0]
    total = TrainableParameters(*(np.zeros_like(part) for part in parameters))
    filter_gradient(parameters, segments, caches, at_states, total)
    return float((error * error).sum() / count), packed_like(total, packed), joined.T @ at_error


def fit_head(
    parameters: TrainableParameters,
    structure: FixedStructure,
    segments: Segments,
    targets: WindowTargets,
    ridge: float,
) -> Array:
    """Return the k-step head by ridge regression on filtered states."""
    states, _ = filter_segments(parameters, structure, segments, keep=False)
    chosen = targets.complete.ravel()
    actions = targets.actions.reshape(len(chosen), -1)[chosen]
    outputs = targets.observations.reshape(len(chosen), -1)[chosen]
    joined = khatri_rao(states.reshape(-1, states.shape[-1])[chosen], actions)
    regression = Regression.zeros(outputs.shape[1], joined.shape[1])
    regression.add(joined, outputs)
    return regression.solve(ridge).T
