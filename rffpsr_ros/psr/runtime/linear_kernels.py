"""Linear models as loops that numba compiles: several steps ahead as one product.

A forecast is y = O x + R a + c, in its own units, with x what a state holds and a the plan. R is
zero where an action comes after what it would act on.
"""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.compiled_kernels import double
from rffpsr_ros.psr.runtime.compiling import part
from rffpsr_ros.psr.runtime.packed_ensemble import (
    DRIFT,
    INPUTS,
    OFFSET,
    OUTPUTS,
    RESPONSES,
    TRANSITION,
    WINDOW_SCALING,
)


@part
def forecast_linear(packed: Array, base: int, state: Array, plans: Array, forecasts: Array) -> None:
    """Write forecasts (N, H, d_o) given plans (N, H, d_a), H at most L."""
    outputs, responses = double(packed, base, OUTPUTS), double(packed, base, RESPONSES)
    offset = double(packed, base, OFFSET)
    (count, horizon, acted), observed = plans.shape, forecasts.shape[2]
    for h in range(horizon):
        for o in range(observed):
            i, own = h * observed + o, offset[0, h * observed + o]
            for k in range(len(state)):
                own += outputs[i, k] * state[k]
            for n in range(count):
                total = own
                for step in range(h + 1):
                    for a in range(acted):
                        total += responses[i, step * acted + a] * plans[n, step, a]
                forecasts[n, h, o] = total


@part
def update_linear(packed: Array, base: int, state: Array, newest: Array, after: Array) -> bool:
    """Write the state (n,) after a tick (action, observation); tell whether that could be done."""
    transition, inputs = double(packed, base, TRANSITION), double(packed, base, INPUTS)
    drift = double(packed, base, DRIFT)
    for i in range(len(state)):
        total = drift[0, i]
        for k in range(len(state)):
            total += transition[i, k] * state[k]
        for k in range(len(newest)):
            total += inputs[i, k] * newest[k]
        after[i] = total
    return not np.isnan(after.sum())


@part
def update_history(
    packed: Array, base: int, state: Array, newest: Array, acted: int, after: Array
) -> None:
    """Write the history (past (d_o + d_a),), and behind it the number of ticks, after a tick."""
    columns, scaling = len(newest), double(packed, base, WINDOW_SCALING)
    held, observed = len(state) - 1, len(newest) - acted
    for i in range(held - columns):
        after[i] = state[columns + i]
    after[held] = state[held] + 1
    for k in range(acted):
        value = (newest[k] - scaling[0, k]) / scaling[1, k]
        after[held - acted + k] = value
    for o in range(observed):
        value = newest[acted + o] - scaling[0, acted + o]
        after[held - columns + o] = value / scaling[1, acted + o]


@part
def update_window(
    packed: Array, base: int, state: Array, newest: Array, acted: int, after: Array
) -> None:
    """Write a window, observations (past, d_o) before actions (past, d_a), after a tick."""
    scaling, observed = double(packed, base, WINDOW_SCALING), len(newest) - acted
    past = len(state) // len(newest)
    split = past * observed
    for i in range(split - observed):
        after[i] = state[i + observed]
    for i in range(split, len(state) - acted):
        after[i] = state[i + acted]
    for k in range(acted):
        after[len(state) - acted + k] = (newest[k] - scaling[0, k]) / scaling[1, k]
    for k in range(acted, len(newest)):
        after[split - observed + k - acted] = (newest[k] - scaling[0, k]) / scaling[1, k]
