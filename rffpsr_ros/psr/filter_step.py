"""The predictive state's dynamics: contracted tensors, one step of the filter, and its gradient.

Paper, "HSE-PSR as a predictive state controlled model": filtering, and "Model refinement by local
optimization": its gradient.

After projection the paper's linear map P_t = W Q_t is small enough to be contracted with every
fixed projection around it. What remains are tensors indexed by state and action feature, so that
one step reads: join state and action, u = q x phi^a; read off the covariance of the observation's
features; condition on the observation. Recorded and predicted observations take the same step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple, Protocol

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.batched_inverse import inverse_of_positive
from rffpsr_ros.numerics.contents import holds
from rffpsr_ros.numerics.packing import khatri_rao, pack_gradient, unpack


class StateTensors(Protocol):
    """The two tensors that a step needs; rows are (state, action feature), action fastest."""

    @property
    def covariance(self) -> Array:
        """Upper triangle of C_oo given state and action (p r_a, r_o (r_o + 1) / 2).

        Full matrices (p r_a, r_o^2) are taken as well, for tensors learned elsewhere.
        """
        ...

    @property
    def extended(self) -> Array:
        """Next state before conditioning on the observation (p r_a, p r_o)."""
        ...


class Dynamics(NamedTuple):
    """The map P_t = W Q_t, contracted, for p state, r_a action and r_o observation features."""

    covariance: Array
    extended: Array
    initial: Array  # (p,): Q_0


class Conditioning(NamedTuple):
    """How a step is kept well conditioned and bounded."""

    regularisation: Annotated[float, holds(least=0)]  # lambda of C (C^2 + lambda)^{-1}
    cap: Annotated[float, holds(positive=True, infinite=True)] = float("inf")
    """Longer states are shortened to this norm."""


class StepCache(NamedTuple):
    """What the gradient of one step needs of it."""

    joined: Array  # u = q x phi^a (N, p r_a)
    covariance: Array  # C_oo (N, r_o, r_o)
    inverse: Array  # (C_oo^2 + lambda)^{-1}
    conditioner: Array  # v (N, r_o)
    extended: Array  # (N, p, r_o)
    observation: Array  # phi^o (N, r_o)
    state: Array  # q', before the cap
    shrink: Array | None  # (N, 1), the factor that the cap applied; None if all are shorter


class StepGradient(NamedTuple):
    """Gradients of one step at what enters it, and at the tensors' outputs."""

    joined: Array  # at u (N, p r_a)
    observation: Array  # at phi^o (N, r_o)
    covariance: Array  # at u W_cov
    extended: Array  # at u W_ext (N, p r_o)


def inverse_of_square(covariances: Array, regularisation: float) -> Array:
    """Return (C^2 + lambda)^{-1} of symmetric matrices (N, n, n): C times it replaces C^{-1}.

    Estimated covariances often have negative eigenvalues, which C^2 has not (paper, lemma on
    covariances that are not positive semidefinite). All conditioning on samples rests on this.
    """
    squared = covariances @ covariances
    size = covariances.shape[-1]
    squared.reshape(len(squared), size * size)[:, :: size + 1] += regularisation
    return inverse_of_positive(squared)


def filter_step(
    tensors: StateTensors, conditioning: Conditioning, joined: Array, observation: Array
) -> tuple[Array, StepCache]:
    """Return the next states (N, p), given u = q x phi^a (N, p r_a) and phi^o (N, r_o).

    v = C_oo (C_oo^2 + lambda)^{-1} phi^o turns predicting the observation into conditioning on it;
    q' = W_ext u x v (paper, "HSE-PSR as a predictive state controlled model").
    """
    size = observation.shape[1]
    covariance = unpack(joined @ tensors.covariance, size)
    inverse = inverse_of_square(covariance, conditioning.regularisation)
    weighted = observation[:, None, :] @ covariance
    conditioner = (weighted @ inverse)[:, 0, :]
    extended = (joined @ tensors.extended).reshape(len(joined), -1, size)
    state = (extended @ conditioner[:, :, None])[:, :, 0]
    shrink = _shrink(state, conditioning.cap)
    cache = StepCache(
        joined, covariance, inverse, conditioner, extended, observation, state, shrink
    )
    return state if shrink is None else state * shrink, cache


def _shrink(state: Array, cap: float) -> Array | None:
    """Return the factors (N, 1) that shorten states (N, p) to the cap; None if none is longer."""
    squared = (state * state).sum(1, keepdims=True)
    longer = squared > cap * cap
    if not longer.any():
        return None
    norm = np.sqrt(np.where(longer, squared, cap * cap))
    return np.asarray(np.where(longer, cap / norm, 1).astype(state.dtype))


def filter_step_gradient(tensors: StateTensors, cache: StepCache, gradient: Array) -> StepGradient:
    """Return the gradients, given that at the next states (N, p)."""
    if cache.shrink is not None:
        capped = cache.shrink < 1
        # The cap projects onto a sphere: no gradient along the state where it is in force.
        along = (gradient * cache.state).sum(1, keepdims=True) * cache.state
        squared = (cache.state * cache.state).sum(1, keepdims=True)
        radial = along / np.where(capped, squared, 1)
        gradient = np.where(capped, cache.shrink * (gradient - radial), gradient)
    at_extended = (gradient[:, :, None] * cache.conditioner[:, None, :]).reshape(len(gradient), -1)
    at_conditioner = gradient[:, None, :] @ cache.extended
    # (C^2 + lambda)^T v = C^T phi: one solve carries the gradient to phi and to both factors C.
    solved = (cache.inverse @ at_conditioner.swapaxes(1, 2))[:, :, 0]
    at_observation = (cache.covariance @ solved[:, :, None])[:, :, 0]
    residual = cache.observation - (cache.conditioner[:, None, :] @ cache.covariance)[:, 0, :]
    at_matrix = residual[:, :, None] * solved[:, None, :]
    at_matrix -= cache.conditioner[:, :, None] * at_observation[:, None, :]
    at_covariance = pack_gradient(at_matrix, tensors.covariance.shape[1])
    at_joined = at_covariance @ tensors.covariance.T + at_extended @ tensors.extended.T
    return StepGradient(at_joined, at_observation, at_covariance, at_extended)


def state_part(joined_gradient: Array, action: Array) -> Array:
    """Return the gradient at q (N, p), given that at u = q x phi^a (N, p r_a)."""
    by_state = joined_gradient.reshape(len(action), -1, action.shape[1])
    return (by_state @ action[:, :, None])[:, :, 0]


def filter_runs(
    dynamics: Dynamics,
    conditioning: Conditioning,
    actions: Sequence[Array],
    observations: Sequence[Array],
) -> list[Array]:
    """Return the states (T, p) before each tick of every run, from features (T, r) each.

    The runs go side by side, the longest first, so that those not yet ended come first.
    """
    order = sorted(range(len(actions)), key=lambda run: -len(actions[run]))
    lengths = np.array([len(actions[run]) for run in order])
    longest = int(lengths[0])
    acted, seen = (
        np.stack([_padded(features[run], longest) for run in order], axis=1)
        for features in (actions, observations)
    )
    states = np.empty((longest, len(order), len(dynamics.initial)))
    state = np.repeat(dynamics.initial[None], len(order), axis=0)
    for t in range(longest):
        going = int(np.searchsorted(-lengths, -t))
        states[t, :going] = state = state[:going]
        joined = khatri_rao(state, acted[t, :going])
        state, _ = filter_step(dynamics, conditioning, joined, seen[t, :going])
    found = {
        run: states[:length, place]
        for place, (run, length) in enumerate(zip(order, lengths, strict=True))
    }
    return [found[run] for run in range(len(actions))]


def _padded(features: Array, length: int) -> Array:
    return np.pad(features, ((0, length - len(features)), (0, 0)))
