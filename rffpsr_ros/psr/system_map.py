"""The system map of models whose extended features are products, contracted into dynamics.

Paper, "HSE-PSR as a predictive state controlled model": W_sys is the pair of linear maps f_xi, f_o.
Where xi_t = psi_{t+1} x phi_t, as in RFF-PSR, HSE-PSR and IO-HMM, conditioning P_t = W Q_t on the
tick's own action and observation is a contraction of tensors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.moments import Regression
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.feature_set import FeatureSet
from rffpsr_ros.psr.filter_step import Dynamics


class SystemMap(NamedTuple):
    """The paper's W_sys and Q_0 in projected coordinates; p state features q = U^q vec Q.

    Operators are flattened with the action's index fastest.
    """

    state_projection: Array  # U^q (r_psi_o r_psi_a, p)
    extended: Array  # W_xi (r_xi_o r_xi_a, p): vec P^xi = W_xi q
    immediate: Array  # W_o (r_oo r_a, p): vec P^o = W_o q
    expected: Array  # (p r_a, r_o): E[phi^o | q, a], the first moment beside P^o
    initial: Array  # Q_0 (p,)


def initial_from_starts(
    features: FeatureSet,
    state_projection: Array,
    future_observations: Array,
    future_actions: Array,
    ridge: float,
) -> Array:
    """Return the projected Q_0 that solves psi^o_{n,1} = Q_0 psi^a_{n,1} over recordings n.

    The branch of Algorithm 1 for many recordings; futures are rows (N, k d).
    """
    outputs = features.future_observation(future_observations)
    actions = features.future_action(future_actions)
    regression = Regression.zeros(outputs.shape[1], actions.shape[1])
    regression.add(actions, outputs)
    return np.asarray(regression.solve(ridge).ravel() @ state_projection)


class Contraction(NamedTuple):
    """The fixed linear maps from W_xi and W_o to the dynamics' tensors, and their adjoints.

    The next state, before conditioning on the observation, is

        q'_i = sum U^q_{(s,b),i} U^xi_o_{(s,o),e} W_{(e,f),p} U^xi_a_{(a,b),f} v_o phi^a_a q_p

    with s, b the shifted future's features, o, a the tick's own, e, f the extended future's.
    """

    extended: Array  # (r_a p r_o, r_xi_o r_xi_a)
    products: Array  # (r_o (r_o + 1) / 2, r_oo)
    actions: int

    def tensors(self, extended: Array, immediate: Array) -> tuple[Array, Array]:
        """Return the dynamics' covariance and extended tensors, from W_o and W_xi."""
        size = extended.shape[1]
        next_state = (self.extended @ extended).reshape(self.actions, -1, size)
        by_action = immediate.reshape(-1, self.actions * size)
        covariance = (self.products @ by_action).reshape(-1, self.actions, size)
        return (
            covariance.transpose(2, 1, 0).reshape(size * self.actions, -1),
            next_state.transpose(2, 0, 1).reshape(size * self.actions, -1),
        )

    def adjoint(self, covariance: Array, extended: Array) -> tuple[Array, Array]:
        """Return the gradients at W_xi and W_o, given those at covariance and extended."""
        size = len(covariance) // self.actions
        next_state = extended.reshape(size, self.actions, -1).transpose(1, 2, 0)
        products = covariance.reshape(size, self.actions, -1).transpose(2, 1, 0)
        at_immediate = self.products.T @ products.reshape(len(self.products), -1)
        return (
            self.extended.T @ next_state.reshape(-1, size),
            at_immediate.reshape(-1, size),
        )


def contraction(features: FeatureSet, state_projection: Array) -> Contraction:
    """Return the contraction that belongs to these projections."""
    observations, actions = features.observation.size, features.action.size
    size = state_projection.shape[1]
    state = state_projection.reshape(features.future_observation.size, -1, size)
    extended_observation = features.extended_observation.reshape(len(state), observations, -1)
    extended_action = features.extended_action.reshape(actions, state.shape[1], -1)
    tensor = np.einsum(
        "sbi,soe,abf->aioef", state, extended_observation, extended_action, optimize=True
    )
    columns = tensor.shape[-2] * tensor.shape[-1]
    return Contraction(tensor.reshape(-1, columns), features.products, actions)


def contract(features: FeatureSet, system: SystemMap) -> Dynamics:
    """Return the dynamics in which every fixed projection is multiplied into W_sys."""
    tensors = contraction(features, system.state_projection).tensors
    covariance, extended = tensors(system.extended, system.immediate)
    return Dynamics(covariance, extended, system.initial)
