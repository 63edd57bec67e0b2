"""A linear system in innovation form, and one step of its Kalman filter.

    x_{t+1} = A x_t + B a_t + K e_t
    o_t     = C x_t + D a_t + e_t,      e_t white with covariance R

The action reaches the observation of its own tick through D: it acts before the observation is
seen. While everything is observed, the state follows without any uncertainty and K is the gain.
After a missing observation e_t is unknown; the state then carries a covariance, and the gain is
that of the time-varying Kalman filter, whose predictions are those of any other form of the system.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds

STABLE = 0.999
"""Spectral radius up to which A - K C forgets what it started from."""

SETTLING = 500
"""Ticks after which a filter's gain counts as steady."""


class LinearSystem(NamedTuple):
    """Matrices of the innovation form for n states, in the units of what it is fed."""

    transition: Annotated[Array, holds("n", "n")]  # A
    action: Annotated[Array, holds("n", "d_a")]  # B
    output: Annotated[Array, holds("d_o", "n")]  # C
    feedthrough: Annotated[Array, holds("d_o", "d_a")]  # D
    gain: Annotated[Array, holds("n", "d_o")]  # K
    innovation: Annotated[Array, holds("d_o", "d_o")]  # R
    start: Annotated[Array, holds("n")]  # mean of the state at an episode's start
    start_covariance: Annotated[Array, holds("n", "n")]


class LinearState(NamedTuple):
    """What is known of x_t before tick t; a leading batch axis is allowed."""

    mean: Array  # (n,)
    covariance: Array  # (n, n)


def expected_observation(system: LinearSystem, mean: Array, action: Array) -> Array:
    """Return C x + D a (..., d_o)."""
    return np.asarray(mean @ system.output.T + action @ system.feedthrough.T)


def kalman_step(
    system: LinearSystem, state: LinearState, action: Array, observation: Array
) -> LinearState:
    """Return what is known of x_{t+1}, for a batch of states, actions (N, d_a) and (N, d_o).

    NaN in an observation means missing; the rest of it still counts.
    """
    expected = expected_observation(system, state.mean, action)
    seen = ~np.isnan(observation)
    error = np.where(seen, observation - expected, 0.0)
    gain = _gain(system, state.covariance, seen)
    mean = state.mean @ system.transition.T + action @ system.action.T
    mean = mean + (gain @ error[:, :, None])[:, :, 0]
    return LinearState(mean, _next_covariance(system, state.covariance, gain))


class SteadyStateFilter:
    """The steady-state filter, where nothing is missing and the state is known: its gain is K.

    A covariance counts as nothing when all it could change of a gain is lost in rounding.
    """

    def __init__(self, system: LinearSystem) -> None:
        """Prepare x_{t+1} = (A - K C) x + (B - K D) a + K o, rows of ``inputs`` being x, a, o."""
        closed = system.transition - system.gain @ system.output
        driven = system.action - system.gain @ system.feedthrough
        self.inputs = np.concatenate([closed, driven, system.gain], axis=1).T.copy()
        self.nothing = np.zeros_like(system.start_covariance)
        smallest = float(np.linalg.eigvalsh(system.innovation)[0])
        spread = max(float(np.sum(system.output**2)), np.finfo(float).tiny)
        self._limit = 1e-14 * max(smallest, 0.0) / spread

    def holds(self, state: LinearState) -> bool:
        """Tell whether a state, unbatched, is known so well that the gain is the steady one."""
        if state.mean.ndim != 1:
            return False
        return state.covariance is self.nothing or bool(
            np.abs(state.covariance).max() <= self._limit
        )

    def step(self, state: LinearState, action: Array, observation: Array) -> LinearState | None:
        """Return what is known after a tick, unbatched; None where it takes `kalman_step`."""
        if not self.holds(state):
            return None
        mean = np.concatenate([state.mean, action, observation]) @ self.inputs
        if np.isnan(mean).any():
            return None
        return LinearState(mean, self.nothing)


def _next_covariance(system: LinearSystem, covariance: Array, gain: Array) -> Array:
    # Joseph's form: a sum of squares stays positive, and is exactly 0 where nothing is unknown.
    closed = system.transition - gain @ system.output
    noise = system.gain - gain
    following = closed @ covariance @ closed.swapaxes(1, 2)
    return np.asarray(following + noise @ system.innovation @ noise.swapaxes(1, 2))


def with_stable_gain(system: LinearSystem) -> LinearSystem:
    """Return the system with the gain of its own filter in the long run.

    Where estimated innovations are all but nothing, the gain estimated from them is arbitrary, and
    A - K C may be unstable. The Kalman filter of the same outputs never is.
    """
    closed = system.transition - system.gain @ system.output
    if not np.abs(np.linalg.eigvals(closed)).max() > STABLE:
        return system
    everything = np.ones((1, len(system.output)), bool)
    covariance, gain = system.start_covariance[None], system.gain[None]
    for _ in range(SETTLING):
        before, gain = gain, _gain(system, covariance, everything)
        covariance = _next_covariance(system, covariance, gain)
        if np.allclose(before, gain, rtol=1e-6, atol=1e-9):
            break
    innovation = system.output @ covariance[0] @ system.output.T + system.innovation
    return system._replace(gain=gain[0], innovation=innovation)


def steady_state_means(
    system: LinearSystem, mean: Array, observations: Array, actions: Array
) -> Array:
    """Return the states' means (N, T, n) before each tick, by the steady gain K from ``mean`` on.

    Takes means (N, n), observations (N, T, d_o), NaN where missing, and actions (N, T, d_a).
    """
    closed = (system.transition - system.gain @ system.output).T
    driven = actions @ (system.action - system.gain @ system.feedthrough).T
    seen = ~np.isnan(observations)
    corrected = np.where(seen, observations, 0.0) @ system.gain.T
    complete = np.asarray(seen.all(axis=(0, 2)))
    means = np.empty((*actions.shape[:2], len(system.start)))
    for t in range(means.shape[1]):
        means[:, t] = mean
        if complete[t]:
            mean = mean @ closed + driven[:, t] + corrected[:, t]
        else:
            error = observations[:, t] - expected_observation(system, mean, actions[:, t])
            mean = mean @ system.transition.T + actions[:, t] @ system.action.T
            mean += np.where(seen[:, t], error, 0.0) @ system.gain.T
    return means


def forecast_means(system: LinearSystem, mean: Array, actions: Array) -> Array:
    """Return the expected observations (..., H, d_o) from means (..., n), actions (..., H, d_a)."""
    forecasts = []
    for h in range(actions.shape[-2]):
        acted = actions[..., h, :]
        forecasts.append(expected_observation(system, mean, acted))
        mean = mean @ system.transition.T + acted @ system.action.T
    return np.stack(forecasts, axis=-2)


class Lift(NamedTuple):
    """L steps at once: y = outputs x + responses a, x_{t+L} = transition x + action a."""

    outputs: Array  # (L d_o, n)
    responses: Array  # (L d_o, L d_a), zero where an action comes after the observation
    transition: Array  # (n, n)
    action: Array  # (n, L d_a)
    steps: int  # L


def lift(system: LinearSystem, steps: int) -> Lift:
    """Return a system's next steps as matrices."""
    columns = system.action.shape[1]
    state = np.eye(len(system.start))
    acted = np.zeros((len(state), steps * columns))
    outputs, responses = [], []
    for step in range(steps):
        now = slice(step * columns, (step + 1) * columns)
        outputs.append(system.output @ state)
        responses.append(system.output @ acted)
        responses[-1][:, now] = system.feedthrough
        state, acted = system.transition @ state, system.transition @ acted
        acted[:, now] = system.action
    return Lift(np.concatenate(outputs), np.concatenate(responses), state, acted, steps)


def lifted_forecast(lifted: Lift, mean: Array, actions: Array) -> Array:
    """Return what `forecast_means` does, by one product for every L steps."""
    *batch, horizon, columns = actions.shape
    length = lifted.steps
    width = len(lifted.outputs) // length
    blocks = []
    for first in range(0, horizon, length):
        steps = min(length, horizon - first)
        rows, inputs = steps * width, steps * columns
        plan = actions[..., first : first + steps, :].reshape(*batch, inputs)
        block = mean @ lifted.outputs[:rows].T + plan @ lifted.responses[:rows, :inputs].T
        blocks.append(block.reshape(*block.shape[:-1], steps, width))
        if first + steps < horizon:
            mean = mean @ lifted.transition.T + plan @ lifted.action.T
    return np.concatenate(blocks, axis=-2)


def _gain(system: LinearSystem, covariance: Array, seen: Array) -> Array:
    """Return the gains (N, n, d_o), zero in the columns of what was not seen.

    With everything seen it is K + (A - K C) P C^T S^-1, which needs no inverse of R: without noise
    R is singular. A missing channel's innovation is first estimated from those of the others.
    """
    known = np.repeat(system.gain[None], len(seen), axis=0)
    partly = ~seen.all(1)
    if partly.any():
        known[partly] = _divide(
            system.gain @ system.innovation * seen[partly][:, None, :],
            _among_seen(system.innovation[None], seen[partly]),
        )
    output = system.output * seen[:, :, None]
    spread = (system.transition - known @ output) @ covariance @ output.swapaxes(1, 2)
    total = output @ covariance @ output.swapaxes(1, 2) + system.innovation
    return known + _divide(spread, _among_seen(total, seen))


def _among_seen(covariance: Array, seen: Array) -> Array:
    """Return covariances (N, d_o, d_o) with rows and columns of the unseen made those of I."""
    both = seen[:, :, None] & seen[:, None, :]
    return np.where(both, covariance, np.eye(seen.shape[1]))


def _divide(left: Array, covariance: Array) -> Array:
    """Return L S^-1 for symmetric S (N, d, d), as its pseudoinverse where S is singular."""
    try:
        diagonal = np.linalg.cholesky(covariance).diagonal(axis1=1, axis2=2)
        regular = bool((diagonal.min(axis=1) > 1e-5 * diagonal.max(axis=1)).all())
    except np.linalg.LinAlgError:
        regular = False
    if regular:
        return np.linalg.solve(covariance, left.swapaxes(1, 2)).swapaxes(1, 2)
    return np.asarray(left @ np.linalg.pinv(covariance, rcond=1e-12, hermitian=True))
