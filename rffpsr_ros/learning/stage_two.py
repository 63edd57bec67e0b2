"""Stage two: the linear map P_t = W Q_t between states, and its contraction into dynamics."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from rffpsr_ros.learning.arrays import Array, khatri_rao
from rffpsr_ros.learning.feature_set import FeatureSet, WindowFeatures
from rffpsr_ros.learning.filtering import Dynamics
from rffpsr_ros.learning.moments import Moment, Regression
from rffpsr_ros.learning.projection import principal_directions
from rffpsr_ros.learning.stage_one import ConditionalOperators


class StageOneMaps(NamedTuple):
    """The three fitted stage-one maps from history h."""

    state: ConditionalOperators  # Q_t: (psi^o, psi^a)
    extended: ConditionalOperators  # P^xi_t: (xi^o, xi^a)
    immediate: ConditionalOperators  # P^o_t: (phi^o x phi^o, phi^a)


class SystemMap(NamedTuple):
    """The paper's W_sys and Q_0 in projected coordinates; p state features q = U^q vec Q.

    Operators are flattened with the action's index fastest.
    """

    state_projection: Array  # U^q (r_psi_o r_psi_a, p)
    extended: Array  # W_xi (r_xi_o r_xi_a, p): vec P^xi = W_xi q
    immediate: Array  # W_o (r_oo r_a, p): vec P^o = W_o q
    expected: Array  # (p r_a, r_o): E[phi^o | q, a], the first moment beside P^o
    initial: Array  # Q_0 (p,)


def project_states(
    maps: StageOneMaps,
    chunks: Callable[[], Iterable[WindowFeatures]],
    rank: int,
    tolerance: float,
    generator: np.random.Generator,
) -> Array:
    """Return U^q: the principal directions of vec Q_t over the training windows."""

    def states() -> Iterable[Array]:
        return (_flat(maps.state(chunk.history)) for chunk in chunks())

    size = next(iter(states())).shape[1]
    return principal_directions(states, size, rank, tolerance, generator)


def stage_two(
    maps: StageOneMaps,
    chunks: Callable[[], Iterable[WindowFeatures]],
    state_projection: Array,
    ridge: float,
) -> SystemMap:
    """Return the ridge solution of P_t = W Q_t over the training windows (Algorithm 1).

    The initial state is the average of Q_t, the algorithm's branch for few recordings;
    `initial_from_starts` is the other one.
    """
    first = next(iter(chunks()))
    size, extended_size = state_projection.shape[1], _flat(maps.extended(first.history)).shape[1]
    immediate_size = _flat(maps.immediate(first.history)).shape[1]
    system = Regression.zeros(extended_size + immediate_size, size)
    expected = Regression.zeros(first.observation.shape[1], size * first.action.shape[1])
    mean = Moment.zeros(size, 1)
    for chunk in chunks():
        states = _flat(maps.state(chunk.history)) @ state_projection
        extended, immediate = maps.extended(chunk.history), maps.immediate(chunk.history)
        system.add(states, np.hstack([_flat(extended), _flat(immediate)]))
        expected.add(khatri_rao(states, chunk.action), chunk.observation)
        mean.add(states, np.ones((len(states), 1)))
    weights = system.solve(ridge)
    return SystemMap(
        state_projection,
        weights[:extended_size],
        weights[extended_size:],
        expected.solve(ridge).T,
        mean.mean[:, 0],
    )


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


def _flat(operators: Array) -> Array:
    """Return operators (N, outputs, actions) as rows."""
    return operators.reshape(len(operators), -1)
