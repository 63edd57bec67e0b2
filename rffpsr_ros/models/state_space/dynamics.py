"""A nonlinear state space system in innovation form, and its step.

    x_{t+1} = X [x_t, a_t, 1, s(v_t)] + K e_t
    o_t     = Y [x_t, a_t, 1, s(v_t)] + e_t,      v_t = W [x_t, a_t, 1]

Each feature s sees one direction of state and action: it saturates (tanh), or is the square or the
cube of v, which is held within a reach. The action reaches the observation of its own tick, before
that is seen. Where nothing is seen, e_t is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, NamedTuple

import numpy as np

from rffpsr_ros.data.saturation import Bounds
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import holds

SATURATING = 0.0
"""Instead of a power: the feature is tanh."""

SQUARE = 2.0

HOLD = 1e6
"""States are held within this, in standard units: what diverges stays a number."""


class StateSpace(NamedTuple):
    """Matrices for n states and f features, in standard units of the data."""

    transition: Annotated[Array, holds("n", "n+d_a+1+f")]  # X
    output: Annotated[Array, holds("d_o", "n+d_a+1+f")]  # Y
    directions: Annotated[Array, holds("f", "n+d_a+1")]  # W
    gain: Annotated[Array, holds("n", "d_o")]  # K
    start: Annotated[Array, holds("n")]
    """The state at an episode's start."""
    powers: Annotated[Array, holds("f", least=0, most=3)]
    """0: tanh; 2: the square; 3: the cube."""
    reach: Annotated[Array, holds("f", infinite=True, positive=True)]
    """What features see is held between this and its negative."""
    integrators: Annotated[Array, holds("n", least=0, most=1)]
    """1 for each of the last d_o states, if they are integrators; else 0."""
    bounds: Bounds  # of what is predicted

    @property
    def states(self) -> int:
        """Return n."""
        return len(self.start)


class SystemState(NamedTuple):
    """Where the system is, and whether any of that was seen."""

    position: Array
    """x (n,)"""
    seen: Array
    """Whether an observation was seen before, (d_o,)."""


class SystemStep(NamedTuple):
    """A step without what was seen, for any leading axes, and what derivatives need of it."""

    seen: Array  # v (..., f)
    features: Array  # s (..., f)
    expected: Array  # (..., d_o), not held within bounds
    following: Array  # the next state, if nothing is seen (..., n)


def advance(system: StateSpace, state: Array, action: Array) -> SystemStep:
    """Return the step from states (..., n) under actions (..., d_a)."""
    linear = np.concatenate([state, action, np.ones((*state.shape[:-1], 1))], axis=-1)
    seen = linear @ system.directions.T
    features = feature_map(system)(seen)
    inputs = np.concatenate([linear, features], axis=-1)
    following = inputs @ system.transition.T
    return SystemStep(
        seen,
        features,
        inputs @ system.output.T,
        np.minimum(np.maximum(following, -HOLD), HOLD),
    )


def corrected(system: StateSpace, ahead: SystemStep, observation: Array) -> Array:
    """Return the next state (..., n) after an observation (..., d_o), in which NaN is missing."""
    error = observation - system.bounds(ahead.expected)
    change = np.where(np.isnan(error), 0.0, error) @ system.gain.T
    return np.asarray(ahead.following + change)


def placed(system: StateSpace, state: Array, observation: Array, seen: Array) -> Array:
    """Return states (..., n) whose integrators are where the robot is, if not told before.

    Observations (..., d_o) are NaN where missing; ``seen`` (..., d_o) tells what came before.
    """
    if not system.integrators.any():
        return state
    told = np.isfinite(observation) & ~seen
    others = system.states - told.shape[-1]
    position = np.where(told, observation, state[..., others:])
    return np.concatenate([state[..., :others], position], axis=-1)


def step_jacobians(system: StateSpace, slopes: Array) -> tuple[Array, Array]:
    """Return the derivatives of next state and observation (..., n + d_o, .) by s' and by x, a.

    The first, (..., n + d_o, f), are those by v; the second (..., n + d_o, n + d_a).
    """
    both = np.concatenate([system.transition, system.output])
    moved = system.directions.shape[1] - 1
    by_direction = both[:, moved + 1 :] * slopes[..., None, :]
    return by_direction, both[:, :moved] + by_direction @ system.directions[:, :moved]


def feature_map(system: StateSpace) -> Callable[[Array], Array]:
    """Return the map of v (..., f) to features (..., f)."""
    saturating, squared = system.powers == SATURATING, system.powers == SQUARE
    low, high = -system.reach, system.reach
    if saturating.all() and np.isinf(high).all():
        return np.tanh

    def features(seen: Array) -> Array:
        held = np.minimum(np.maximum(seen, low), high)
        square = held * held
        powers = np.where(squared, square, square * held)
        return np.where(saturating, np.tanh(held), powers) if saturating.any() else powers

    return features


def feature_slopes(system: StateSpace, seen: Array, features: Array) -> Array:
    """Return the slopes of features (..., f) by v (..., f)."""
    held = np.minimum(np.maximum(seen, -system.reach), system.reach)
    saturating, squared = system.powers == SATURATING, system.powers == SQUARE
    powers = np.where(squared, 2 * held, 3 * (held * held))
    slopes = np.where(saturating, 1 - features * features, powers)
    return np.asarray(slopes * (held == seen))
