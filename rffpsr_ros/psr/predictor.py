"""The predictor: an ARX term, features of a short window, and the predictive state, added up.

    o_t = W_arx [last n (o, a), a_t, 1] + W_narx z(last m (o, a), a_t) + W_1 (q_t x phi^a(a_t))
    q_{t+1} = filter(q_t, phi^a(a_t), phi^o(o_t))

The last term alone is the paper's RFF-PSR; the base carries what is nearly linear or integrating,
the NARX term what a short window shows. Where recordings show bounds, predictions are held
within.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.preparation import Start
from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.data.tick_windows import arx_input, newest_ticks
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.filter_step import Conditioning
from rffpsr_ros.psr.fourier_features import Features


class TrainableParameters(NamedTuple):
    """What refinement changes. Rows of the state's tensors are (state, action feature)."""

    covariance: Array  # (p r_a, r_o (r_o + 1) / 2)
    extended: Array  # (p r_a, p r_o)
    initial: Array  # (p,)
    prediction: Array  # W_1 (p r_a, d_o)
    arx: Array  # W_arx (n (d_o + d_a) + d_a + 1, d_o); no rows: no base
    narx: Array  # W_narx (r_z, d_o); no rows: no NARX term

    def astype(self, dtype: type[np.floating]) -> TrainableParameters:
        """Return the same weights in another precision."""
        return TrainableParameters(*(part.astype(dtype) for part in self))


class Limits(NamedTuple):
    """The range that features can represent: standardised inputs are held within it."""

    observation_low: Array
    observation_high: Array
    action_low: Array
    action_high: Array


class FixedStructure(NamedTuple):
    """What refinement leaves alone: feature maps, window lengths, conditioning."""

    observation: Features  # phi^o
    action: Features  # phi^a
    narx: Features | None  # z, of the last ``narx_past`` (o, a) and a_t
    arx_past: int  # n
    narx_past: int  # m
    conditioning: Conditioning
    start: Start
    limits: Limits | None = None  # in use; refinement goes without
    bounds: Bounds | None = None  # of what is predicted, standardised

    @property
    def past(self) -> int:
        """Return how many past ticks a prediction looks at."""
        return max(self.arx_past, self.narx_past)

    def astype(self, dtype: type[np.floating]) -> FixedStructure:
        """Return the same frame computing in another precision."""
        return self._replace(
            observation=self.observation.astype(dtype),
            action=self.action.astype(dtype),
            narx=None if self.narx is None else self.narx.astype(dtype),
            bounds=None if self.bounds is None else self.bounds.astype(dtype),
        )


class Prediction(NamedTuple):
    """An expected observation, and what its gradient needs."""

    value: Array  # (N, d_o), within the bounds
    arx: Array  # the ARX term's input
    narx: Array  # z
    narx_raw: Array  # what z's pullback needs


def predict_observation(
    parameters: TrainableParameters,
    structure: FixedStructure,
    joined: Array,
    observations: Array,
    actions: Array,
) -> Prediction:
    """Return the expected observations of N ticks.

    Takes u = q x phi^a (N, p r_a), the last `FixedStructure.past` observations (N, past, d_o),
    and the actions with the tick's own (N, past + 1, d_a).
    """
    arx = _none(observations)
    if len(parameters.arx):
        arx = arx_input(structure.arx_past, observations, actions)
    narx, raw = narx_features(structure, observations, actions)
    value = joined @ parameters.prediction + arx @ parameters.arx + narx @ parameters.narx
    if structure.bounds is not None:
        value = structure.bounds(value)
    return Prediction(value, arx, narx, raw)


def narx_features(
    structure: FixedStructure, observations: Array, actions: Array
) -> tuple[Array, Array]:
    """Return z (N, r_z) of [last m (o, a), a_t], and what its pullback needs."""
    if structure.narx is None:
        return _none(observations), _none(observations)
    return structure.narx.with_pullback(narx_input(structure, observations, actions))


def narx_input(structure: FixedStructure, observations: Array, actions: Array) -> Array:
    """Return [last m (o, a), a_t] as rows (N, m (d_o + d_a) + d_a), held within the limits.

    The ARX term, being linear, is not limited: it extrapolates.
    """
    if structure.limits is not None:
        observations = np.clip(observations, *structure.limits[:2])
        actions = np.clip(actions, *structure.limits[2:])
    return np.concatenate(newest_ticks(structure.narx_past, observations, actions), axis=1)


def _none(like: Array) -> Array:
    return np.empty((len(like), 0), dtype=like.dtype)
