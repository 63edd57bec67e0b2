"""The predictor: a linear base, features of a short window, and the predictive state, added up.

    o_t = W_base [last n (o, a), a_t, 1] + W_direct z(last m (o, a), a_t) + W_1 (q_t x phi^a(a_t))
    q_{t+1} = filter(q_t, phi^a(a_t), phi^o(o_t))

The last term alone is the paper's RFF-PSR; the base carries what is nearly linear or integrating,
the direct term what a short window shows. Where recordings show bounds, predictions are held
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


class Weights(NamedTuple):
    """What refinement changes. Rows of the state's tensors are (state, action feature)."""

    covariance: Array  # (p r_a, r_o (r_o + 1) / 2)
    extended: Array  # (p r_a, p r_o)
    initial: Array  # (p,)
    prediction: Array  # W_1 (p r_a, d_o)
    base: Array  # W_base (n (d_o + d_a) + d_a + 1, d_o); no rows: no base
    direct: Array  # W_direct (r_z, d_o); no rows: no direct term

    def astype(self, dtype: type[np.floating]) -> Weights:
        """Return the same weights in another precision."""
        return Weights(*(part.astype(dtype) for part in self))


class Limits(NamedTuple):
    """The range that features can represent: standardised inputs are held within it."""

    observation_low: Array
    observation_high: Array
    action_low: Array
    action_high: Array


class Frame(NamedTuple):
    """What refinement leaves alone: feature maps, window lengths, conditioning."""

    observation: Features  # phi^o
    action: Features  # phi^a
    direct: Features | None  # z, of the last ``direct_past`` (o, a) and a_t
    base_past: int  # n
    direct_past: int  # m
    conditioning: Conditioning
    start: Start
    limits: Limits | None = None  # in use; refinement goes without
    bounds: Bounds | None = None  # of what is predicted, standardised

    @property
    def past(self) -> int:
        """Return how many past ticks a prediction looks at."""
        return max(self.base_past, self.direct_past)

    def astype(self, dtype: type[np.floating]) -> Frame:
        """Return the same frame computing in another precision."""
        return self._replace(
            observation=self.observation.astype(dtype),
            action=self.action.astype(dtype),
            direct=None if self.direct is None else self.direct.astype(dtype),
            bounds=None if self.bounds is None else self.bounds.astype(dtype),
        )


class Prediction(NamedTuple):
    """An expected observation, and what its gradient needs."""

    value: Array  # (N, d_o), within the bounds
    base: Array  # the base's input
    direct: Array  # z
    direct_raw: Array  # what z's pullback needs


def predict_observation(
    weights: Weights, frame: Frame, joined: Array, observations: Array, actions: Array
) -> Prediction:
    """Return the expected observations of N ticks.

    Takes u = q x phi^a (N, p r_a), the last `Frame.past` observations (N, past, d_o), and the
    actions with the tick's own (N, past + 1, d_a).
    """
    base = (
        arx_input(frame.base_past, observations, actions)
        if len(weights.base)
        else _none(observations)
    )
    direct, raw = direct_features(frame, observations, actions)
    value = joined @ weights.prediction + base @ weights.base + direct @ weights.direct
    if frame.bounds is not None:
        value = frame.bounds(value)
    return Prediction(value, base, direct, raw)


def direct_features(frame: Frame, observations: Array, actions: Array) -> tuple[Array, Array]:
    """Return z (N, r_z) of [last m (o, a), a_t], and what its pullback needs."""
    if frame.direct is None:
        return _none(observations), _none(observations)
    return frame.direct.with_pullback(direct_input(frame, observations, actions))


def direct_input(frame: Frame, observations: Array, actions: Array) -> Array:
    """Return [last m (o, a), a_t] as rows (N, m (d_o + d_a) + d_a), held within the limits.

    The base, being linear, is not limited: it extrapolates.
    """
    if frame.limits is not None:
        observations = np.clip(observations, *frame.limits[:2])
        actions = np.clip(actions, *frame.limits[2:])
    return np.concatenate(newest_ticks(frame.direct_past, observations, actions), axis=1)


def _none(like: Array) -> Array:
    return np.empty((len(like), 0), dtype=like.dtype)
