"""A recurrence that predicts an observation from the last few ticks, and its simulation.

    o_t = o_{t-1} + W [1, w, z(w)],   w = [last m (o, a), a_t]

The predictor without its state, in a form that can be simulated for thousands of ticks: each
prediction takes the place of the observation, and is held within bounds.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds, sizes
from rffpsr_ros.psr.fourier_features import FeatureMap


class Recurrence(NamedTuple):
    """What stays the same while weights are learned; all values are in standard units."""

    features: Annotated[FeatureMap, sizes(d="m*(d_o+d_a)+d_a", r="r")]  # z
    low: Annotated[Array, holds("m*(d_o+d_a)+d_a", infinite=True)]
    """The window is held between these before z sees it."""
    high: Annotated[Array, holds("m*(d_o+d_a)+d_a", infinite=True)]
    bounds: Bounds  # of what is predicted


class SimulatedStretches(NamedTuple):
    """N stretches of L ticks to be simulated, and the m ticks before each of them."""

    before: Array  # (N, m, d_o)
    actions: Array  # (N, m + L, d_a)
    target: Array  # (N, L, d_o); NaN where nothing was seen


class StepInputs(NamedTuple):
    """A step of N simulations: the window's inputs, and what a gradient needs of them."""

    inputs: Array  # [1, w, z(w)] (N, P)
    raw: Array  # what the pullback of z needs
    limited: Array  # (N, d_w): where the window is beyond what z sees


def input_size(recurrence: Recurrence) -> int:
    """Return P, the number of inputs [1, w, z(w)]."""
    return 1 + len(recurrence.low) + recurrence.features.size


def inputs_of(recurrence: Recurrence, observations: Array, actions: Array) -> StepInputs:
    """Return the inputs (N, P), given the last m observations and m + 1 actions of N ticks."""
    count = len(observations)
    window = _window(observations, actions)
    features, raw = recurrence.features.with_pullback(_limited(recurrence, window))
    inputs = np.concatenate([np.ones((count, 1)), window, features], axis=1)
    limited = (window < recurrence.low) | (window > recurrence.high)
    return StepInputs(inputs, raw, limited)


def simulate(recurrence: Recurrence, weights: Array, before: Array, actions: Array) -> Array:
    """Return simulations (N, L, d_o) with weights (P, d_o) from m ticks, given m + L actions."""
    count, past, observed = before.shape
    ticks = actions.shape[1] - past
    linear, nonlinear = np.split(weights[1:], [len(recurrence.low)])
    features = recurrence.features
    # Of features that one step alone reads, no more is computed than what it reads.
    read = features.projection @ nonlinear.astype(features.projection.dtype)
    read_features = features._replace(projection=read)
    observations = np.concatenate([before, np.empty((count, ticks, observed))], axis=1)
    for t in range(ticks):
        last = observations[:, t : t + past]
        window = _window(last, actions[:, t : t + past + 1])
        added = weights[0] + window @ linear + read_features(_limited(recurrence, window))
        observations[:, past + t] = recurrence.bounds(last[:, -1] + added)
    return observations[:, past:]


def _window(observations: Array, actions: Array) -> Array:
    """Return windows w (N, d_w) of the last m observations and m + 1 actions."""
    count = len(observations)
    return np.concatenate([observations.reshape(count, -1), actions.reshape(count, -1)], axis=1)


def _limited(recurrence: Recurrence, window: Array) -> Array:
    """Return windows (N, d_w) as z sees them."""
    seen = np.minimum(np.maximum(window, recurrence.low), recurrence.high)
    return seen.astype(recurrence.features.frequencies.dtype, copy=False)


def window_jacobian(
    recurrence: Recurrence, weights: Array, point: StepInputs, columns: int
) -> Array:
    """Return the derivative (N, d_o, m d_o) of predictions by the observations before them.

    ``columns`` is m d_o, of which the last d_o belong to the newest tick.
    """
    return step_jacobian(recurrence, weights, point, columns)[:, :, :columns]


def step_jacobian(recurrence: Recurrence, weights: Array, point: StepInputs, columns: int) -> Array:
    """Return the derivative (N, d_o, d_w) of predictions by the window w, before any bound.

    The first ``columns`` of w are observations, of which the last d_o belong to the newest tick.
    """
    count, observed = len(point.inputs), weights.shape[1]
    linear, nonlinear = np.split(weights[1:], [len(recurrence.low)])
    jacobian = np.tile(linear.T, (count, 1, 1))
    for i in range(observed):
        at_features = np.tile(nonlinear[:, i].astype(point.raw.dtype), (count, 1))
        at_window = recurrence.features.pullback(point.raw, at_features)
        jacobian[:, i] += np.where(point.limited, 0.0, at_window)
    jacobian[:, :, columns - observed : columns] += np.eye(observed)
    return jacobian
