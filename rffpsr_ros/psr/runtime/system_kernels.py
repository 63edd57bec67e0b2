"""A nonlinear state space system as loops that numba compiles.

With u = [x, a, 1, s(v)] and v = W [x, a, 1], all in standard units,

    x' = X u + K e,   o = Y u + e
"""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.compiled_kernels import double
from rffpsr_ros.psr.runtime.compiling import part
from rffpsr_ros.psr.runtime.packed_ensemble import (
    DIRECTIONS,
    FEATURE,
    GAIN,
    HELD,
    INTEGRATES,
    MOVES,
    SHOWS,
    SYSTEM_SCALING,
)

SATURATES, SQUARE = 0.0, 2.0
"""Kinds of features; all others are cubes."""


@part
def look(packed: Array, base: int, inputs: Array) -> None:
    """Write the features behind [x, a, 1]."""
    directions, kinds = double(packed, base, DIRECTIONS), double(packed, base, FEATURE)
    linear = directions.shape[1]
    for f in range(len(directions)):
        v = 0.0
        for k in range(linear):
            v += directions[f, k] * inputs[k]
        reach = kinds[1, f]
        if v > reach:
            v = reach
        elif v < -reach:
            v = -reach
        if kinds[0, f] == SATURATES:
            v = np.tanh(v)
        elif kinds[0, f] == SQUARE:
            v *= v
        else:
            v *= v * v
        inputs[linear + f] = v


@part
def shown(packed: Array, base: int, inputs: Array, o: int) -> float:
    """Return the observation ``o`` that is expected, within bounds."""
    shows, held = double(packed, base, SHOWS), double(packed, base, HELD)
    total = 0.0
    for k in range(len(inputs)):
        total += shows[o, k] * inputs[k]
    if total < held[0, o]:
        return float(held[0, o])
    return float(held[1, o]) if total > held[1, o] else total


@part
def moved(packed: Array, base: int, inputs: Array, i: int) -> float:
    """Return the next state's number ``i``, if nothing is seen."""
    moves, most = double(packed, base, MOVES), double(packed, base, HELD)[2, 0]
    total = 0.0
    for k in range(len(inputs)):
        total += moves[i, k] * inputs[k]
    if total < -most:
        return float(-most)
    return float(most) if total > most else total


@part
def forecast_system(packed: Array, base: int, state: Array, plans: Array, forecasts: Array) -> None:
    """Write forecasts (N, H, d_o) given plans (N, H, d_a)."""
    scaling = double(packed, base, SYSTEM_SCALING)
    (count, horizon, acted), observed = plans.shape, forecasts.shape[2]
    states, width = double(packed, base, MOVES).shape
    inputs, following = np.empty(width), np.empty(states)
    for n in range(count):
        inputs[:states] = state[:states]
        inputs[states + acted] = 1.0
        for h in range(horizon):
            for a in range(acted):
                inputs[states + a] = (plans[n, h, a] - scaling[0, a]) / scaling[1, a]
            look(packed, base, inputs)
            for o in range(observed):
                value = shown(packed, base, inputs, o)
                forecasts[n, h, o] = value * scaling[1, acted + o] + scaling[0, acted + o]
            for i in range(states):
                following[i] = moved(packed, base, inputs, i)
            inputs[:states] = following


@part
def update_system(
    packed: Array, base: int, state: Array, newest: Array, acted: int, after: Array
) -> bool:
    """Write the state, and behind it what was ever seen, after a tick (action, observation).

    Tell whether that could be done.
    """
    scaling, gain = double(packed, base, SYSTEM_SCALING), double(packed, base, GAIN)
    states, width = double(packed, base, MOVES).shape
    observed = len(newest) - acted
    integrates = double(packed, base, INTEGRATES)[0, 0] > 0
    inputs = np.empty(width)
    inputs[:states] = state[:states]
    inputs[states + acted] = 1.0
    for a in range(acted):
        inputs[states + a] = (newest[a] - scaling[0, a]) / scaling[1, a]
    for o in range(observed):
        seen = not np.isnan(newest[acted + o])
        if integrates and seen and state[states + o] == 0:
            value = (newest[acted + o] - scaling[0, acted + o]) / scaling[1, acted + o]
            inputs[states - observed + o] = value
        after[states + o] = 1.0 if seen else state[states + o]
    look(packed, base, inputs)
    for i in range(states):
        after[i] = moved(packed, base, inputs, i)
    for o in range(observed):
        if np.isnan(newest[acted + o]):
            continue
        value = (newest[acted + o] - scaling[0, acted + o]) / scaling[1, acted + o]
        error = value - shown(packed, base, inputs, o)
        for i in range(states):
            after[i] += gain[i, o] * error
    return not np.isnan(after.sum())
