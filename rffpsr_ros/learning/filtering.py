"""The predictive state's dynamics: contracted tensors, and one step of the filter.

After projection the paper's linear map P_t = W Q_t is small enough to be contracted with every
fixed projection around it. What remains are tensors indexed by state and action feature, so that
one step reads: join state and action, u = q x phi^a; read off the covariance of the observation's
features; condition on what was seen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.learning.arrays import Array, khatri_rao, unpack_symmetric


class Dynamics(NamedTuple):
    """The map P_t = W Q_t with p state, r_a action and r_o observation features.

    Rows of every tensor are indexed by (state, action feature), the action's index fastest.
    """

    covariance: Array  # (p r_a, r_o (r_o + 1) / 2): upper triangle of C_oo given state, action
    extended: Array  # (p r_a, p r_o): next state, before conditioning on the observation
    expected: Array  # (p r_a, r_o): expected observation features, E[phi^o | q, a]
    initial: Array  # (p,): state at an episode's start, Q_0
    regularisation: float  # lambda of C (C^2 + lambda)^{-1}

    @property
    def size(self) -> int:
        """Return the state's size p."""
        return len(self.initial)

    @property
    def observation_size(self) -> int:
        """Return the number of observation features r_o."""
        return int(self.expected.shape[1])


def condition_on_observation(dynamics: Dynamics, joined: Array, observation: Array) -> Array:
    """Return the next states (N, p), given u = q x phi^a (N, p r_a) and phi^o (N, r_o).

    v = C_oo (C_oo^2 + lambda)^{-1} phi^o turns predicting the observation into conditioning on it;
    q' = W_ext u x v (paper, "HSE-PSR as a predictive state controlled model").
    """
    size = dynamics.observation_size
    covariance = unpack_symmetric(joined @ dynamics.covariance, size)
    squared = covariance @ covariance + dynamics.regularisation * np.eye(size, dtype=joined.dtype)
    weighted = covariance @ observation[:, :, None]
    conditioner = np.linalg.solve(squared, weighted)
    extended = (joined @ dynamics.extended).reshape(len(joined), -1, size)
    return (extended @ conditioner)[:, :, 0]


def filter_run(dynamics: Dynamics, actions: Array, observations: Array) -> Array:
    """Return the states (T + 1, p) of one run, from action and observation features (T, r).

    Row t is the state before tick t; where observation features are NaN the expected ones stand in.
    """
    states = np.empty((len(actions) + 1, dynamics.size))
    states[0] = dynamics.initial
    for t, (action, observation) in enumerate(zip(actions, observations, strict=True)):
        joined = khatri_rao(states[t : t + 1], action[None])
        seen = observation[None]
        if np.isnan(observation).any():
            seen = joined @ dynamics.expected
        states[t + 1] = condition_on_observation(dynamics, joined, seen)[0]
    return states
