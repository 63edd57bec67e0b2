"""The predictor: a linear base, features of a short window, and the predictive state, added up.

    o_t = W_base [last n (o, a), a_t, 1] + W_direct z(last m (o, a), a_t) + W_1 (q_t x phi^a(a_t))
    q_{t+1} = filter(q_t, phi^a(a_t), phi^o(o_t))

The last term alone is the paper's RFF-PSR; the base carries what is nearly linear or integrating,
the direct term what a short window shows. One step and its gradient are written here once; the
filter over recorded observations and the rollout over predicted ones both call them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.learning.arrays import (
    Array,
    khatri_rao,
    pack_symmetric_gradient,
    unpack_symmetric,
)
from rffpsr_ros.learning.features import FeatureMap


class Weights(NamedTuple):
    """What refinement changes. Rows of the state's tensors are (state, action feature)."""

    covariance: Array  # (p r_a, r_o (r_o + 1) / 2)
    extended: Array  # (p r_a, p r_o)
    initial: Array  # (p,)
    prediction: Array  # W_1 (p r_a, d_o)
    base: Array  # (n (d_o + d_a) + d_a + 1, d_o); no rows: no base
    direct: Array  # (r_z, d_o); no rows: no direct term


class Frame(NamedTuple):
    """What refinement leaves alone: feature maps, window lengths, regularisation."""

    observation: FeatureMap  # phi^o
    action: FeatureMap  # phi^a
    direct: FeatureMap | None  # z, of the last ``direct_past`` (o, a) and a_t
    base_past: int  # n
    direct_past: int  # m
    regularisation: float  # lambda of C (C^2 + lambda)^{-1}
    state_cap: float  # states longer than this are shortened to it

    @property
    def past(self) -> int:
        """Return how many past ticks a prediction looks at."""
        return max(self.base_past, self.direct_past)


class StepCache(NamedTuple):
    """What the gradient of one filter step needs of it."""

    joined: Array  # u = q x phi^a (N, p r_a)
    action: Array
    covariance: Array  # C_oo (N, r_o, r_o)
    inverse: Array  # (C_oo^2 + lambda)^{-1}
    conditioner: Array  # v (N, r_o)
    extended: Array  # (N, p, r_o)
    observation: Array  # phi^o (N, r_o)
    state: Array  # q', before the cap
    shrink: Array  # (N, 1), factor that the cap applied


class StepGradient(NamedTuple):
    """Gradients of one filter step at what enters it, and at the tensors' outputs."""

    joined: Array  # at u (N, p r_a)
    observation: Array  # at phi^o (N, r_o)
    covariance: Array  # at u W_cov (N, r_o (r_o + 1) / 2)
    extended: Array  # at u W_ext (N, p r_o)


def filter_step(
    weights: Weights, frame: Frame, joined: Array, action: Array, observation: Array
) -> tuple[Array, StepCache]:
    """Return the next states (N, p) and the cache; see `filtering.condition_on_observation`."""
    size = observation.shape[1]
    covariance = unpack_symmetric(joined @ weights.covariance, size)
    squared = covariance @ covariance
    squared[:, np.arange(size), np.arange(size)] += frame.regularisation
    inverse = np.linalg.inv(squared)
    conditioner = (inverse @ (covariance @ observation[:, :, None]))[:, :, 0]
    extended = (joined @ weights.extended).reshape(len(joined), -1, size)
    state = (extended @ conditioner[:, :, None])[:, :, 0]
    norm = np.sqrt((state * state).sum(1, keepdims=True))
    shrink = np.minimum(1, frame.state_cap / np.maximum(norm, 1e-30)).astype(state.dtype)
    cache = StepCache(
        joined, action, covariance, inverse, conditioner, extended, observation, state, shrink
    )
    return state * shrink, cache


def filter_step_gradient(weights: Weights, cache: StepCache, gradient: Array) -> StepGradient:
    """Return the gradients, given that at the next states (N, p)."""
    capped = cache.shrink < 1
    if capped.any():
        # The cap projects onto a sphere: no gradient along the state where it is in force.
        along = (gradient * cache.state).sum(1, keepdims=True) * cache.state
        squared = (cache.state * cache.state).sum(1, keepdims=True)
        gradient = np.where(capped, cache.shrink * (gradient - along / squared), gradient)
    at_extended = gradient[:, :, None] * cache.conditioner[:, None, :]
    at_conditioner = (gradient[:, None, :] @ cache.extended)[:, 0, :]
    solved = (cache.inverse @ at_conditioner[:, :, None])[:, :, 0]
    # v = M^{-1} C phi with M = C C + lambda: dM = -solved v^T, spread over both factors C.
    at_squared = -solved[:, :, None] * cache.conditioner[:, None, :]
    at_covariance = at_squared @ cache.covariance + cache.covariance @ at_squared
    at_covariance += solved[:, :, None] * cache.observation[:, None, :]
    at_half = pack_symmetric_gradient(at_covariance)
    at_flat = at_extended.reshape(len(gradient), -1)
    return StepGradient(
        at_half @ weights.covariance.T + at_flat @ weights.extended.T,
        (cache.covariance @ solved[:, :, None])[:, :, 0],
        at_half,
        at_flat,
    )


def state_part(joined_gradient: Array, action: Array) -> Array:
    """Return the gradient at q (N, p), given that at u = q x phi^a (N, p r_a)."""
    by_state = joined_gradient.reshape(len(action), -1, action.shape[1])
    return (by_state @ action[:, :, None])[:, :, 0]


def base_input(frame: Frame, weights: Weights, observations: Array, actions: Array) -> Array:
    """Return [last n (o, a), a_t, 1] as rows (N, n (d_o + d_a) + d_a + 1); no columns: no base.

    Takes the last `Frame.past` observations (N, past, d_o) and actions (N, past + 1, d_a).
    """
    count = len(observations)
    if not len(weights.base):
        return np.empty((count, 0), dtype=observations.dtype)
    ones = np.ones((count, 1), dtype=observations.dtype)
    return np.concatenate([*_last(frame.base_past, observations, actions), ones], axis=1)


def direct_features(
    frame: Frame, observations: Array, actions: Array
) -> tuple[Array, Array]:
    """Return z (N, r_z) of [last m (o, a), a_t], and what its pullback needs."""
    if frame.direct is None:
        nothing = np.empty((len(observations), 0), dtype=observations.dtype)
        return nothing, nothing
    window = np.concatenate(_last(frame.direct_past, observations, actions), axis=1)
    return frame.direct.with_pullback(window)


def _last(past: int, observations: Array, actions: Array) -> tuple[Array, Array]:
    skip = observations.shape[1] - past
    return (
        observations[:, skip:].reshape(len(observations), -1),
        actions[:, skip:].reshape(len(actions), -1),
    )


def join(states: Array, action: Array) -> Array:
    """Return u = q x phi^a (N, p r_a)."""
    return khatri_rao(states, action)
