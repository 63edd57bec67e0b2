"""The prepared step as loops that numba compiles: one tick, and a forecast.

Imported only where numba is installed. What is compiled is kept on disk: beside this file, in the
user's cache where that cannot be written to, and where neither can, it is compiled anew each time.
Matrices may be in single precision, which halves what is read; sums are in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np

from rffpsr_ros.learning.windows.arrays import Array

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

# Sums may be taken in any order, which vectors need; what is not a number stays so.
_LOOSE = {"contract", "nsz", "reassoc"}

SIN = (-1 / 6, 1 / 120, -1 / 5040, 1 / 362880, -1 / 39916800, 1 / 6227020800)
COS = (1 / 24, -1 / 720, 1 / 40320, -1 / 3628800, 1 / 479001600, -1 / 87178291200)


def _compiled(function: FunctionT) -> FunctionT:
    """Return the function as numba will compile it, kept on disk wherever possible."""
    try:
        return cast("FunctionT", numba.njit(cache=True, fastmath=_LOOSE)(function))
    except RuntimeError:  # nowhere to keep it
        return cast("FunctionT", numba.njit(fastmath=_LOOSE)(function))


class Waves(NamedTuple):
    """A `WideMap` for loops: what is zero is left out."""

    frequencies: Array  # (i, D)
    inputs: Array  # (i, 2): the columns of each row that are not zero
    cosines: Array  # (r, D)
    sines: Array  # (r, D)
    outputs: Array  # (r, 2): the columns of each row that are not zero
    constant: Array  # (r,)


class Tensors(NamedTuple):
    """What u = q x phi^a reads: prediction, next state, upper triangle of the covariance."""

    read: Array  # (p r_a, d_o + p r_o + r_o (r_o + 1) / 2)
    base: Array  # (d_o, b), of the last b values of a row that ends with an action
    limits: Array  # (2, d)
    ridge: float
    cap: float


class Watch(NamedTuple):
    """How raw values are standardised, and what is usual."""

    mean: Array  # (d,)
    deviation: Array  # (d,)
    innovation_weights: Array  # (d_o,)
    shortest: float
    longest: float


@_compiled
def _add(sums: Array, factor: float, values: Array) -> None:
    for j in range(len(sums)):
        sums[j] += factor * values[j]


@_compiled
def _dot(left: Array, right: Array) -> float:
    total = 0.0
    for j in range(len(left)):
        total += left[j] * right[j]
    return total


@_compiled
def limit(rows: Array, limits: Array, limited: Array) -> None:
    """Write values of ticks within the limits (2, d) of what features represent."""
    low, high = limits
    column = 0
    for i in range(len(rows)):
        limited[i] = min(max(rows[i], low[column]), high[column])
        column += 1
        if column == len(low):
            column = 0


@_compiled
def evaluate(rows: Array, waves: Waves, raw: Array, output: Array) -> None:
    """Write the map's outputs (r,) of values (i,); ``raw`` (2, D) is for intermediate results."""
    count = waves.frequencies.shape[1]
    phase, sine = raw[0], raw[1]
    phase[:] = 0
    # Slices count from 0, which spares loops the look at whether an index is negative.
    for i in range(len(rows)):
        first, last = waves.inputs[i]
        _add(phase[first:last], rows[i], waves.frequencies[i, first:last])
    for j in range(count):
        # To within a quarter turn of 0, where short series do; turns are put back by signs.
        turns = np.floor(phase[j] * (2 / np.pi) + 0.5)
        x = phase[j] - turns * (np.pi / 2)
        quarter = turns - 4 * np.floor(turns / 4)
        z = x * x
        s = x * (
            1
            + z * (SIN[0] + z * (SIN[1] + z * (SIN[2] + z * (SIN[3] + z * (SIN[4] + z * SIN[5])))))
        )
        c = (
            1
            - 0.5 * z
            + z
            * z
            * (COS[0] + z * (COS[1] + z * (COS[2] + z * (COS[3] + z * (COS[4] + z * COS[5])))))
        )
        odd = quarter == 1 or quarter == 3
        first = s if odd else c
        second = c if odd else s
        phase[j] = -first if quarter == 1 or quarter == 2 else first
        sine[j] = -second if quarter >= 2 else second
    for r in range(len(output)):
        first, last = waves.outputs[r]
        output[r] = waves.constant[r]
        output[r] += _dot(waves.cosines[r, first:last], phase[first:last])
        output[r] += _dot(waves.sines[r, first:last], sine[first:last])


@_compiled
def read_off(belief: Array, action: Array, read: Array, output: Array) -> None:
    """Write u W (columns,) with u = q x phi^a, four rows of W at a time."""
    output[:] = 0
    size, count = len(action), len(belief) * len(action)
    for k in range(0, count - 3, 4):
        a = belief[k // size] * action[k % size]
        b = belief[(k + 1) // size] * action[(k + 1) % size]
        c = belief[(k + 2) // size] * action[(k + 2) % size]
        d = belief[(k + 3) // size] * action[(k + 3) % size]
        at_a, at_b, at_c, at_d = read[k], read[k + 1], read[k + 2], read[k + 3]
        for j in range(len(output)):
            output[j] += a * at_a[j] + b * at_b[j] + c * at_c[j] + d * at_d[j]
    for k in range(count - count % 4, count):
        _add(output, belief[k // size] * action[k % size], read[k])


@_compiled
def conditioner(half: Array, ridge: float, solution: Array) -> None:
    """Make phi^o (r_o,) into (C^2 + lambda)^-1 C phi^o, C given by its upper triangle."""
    size = len(solution)
    covariance, matrix = np.empty((size, size)), np.zeros((size, size))
    place = 0
    for i in range(size):
        for j in range(i, size):
            covariance[i, j] = covariance[j, i] = half[place]
            place += 1
    features = solution.copy()
    for i in range(size):
        row, total = matrix[i], 0.0
        for k in range(size):
            factor, other = covariance[i, k], covariance[k]
            total += factor * features[k]
            for j in range(size):
                row[j] += factor * other[j]
        row[i] += ridge
        solution[i] = total
    eliminate(matrix, solution)


@_compiled
def eliminate(matrix: Array, solution: Array) -> None:
    """Solve a positive definite system in place; it needs no pivots."""
    size = len(solution)
    for k in range(size):
        pivot, inverse = matrix[k], 1 / matrix[k, k]
        for i in range(k + 1, size):
            row, factor = matrix[i], matrix[i, k] * inverse
            for j in range(size):  # what is left of the diagonal is not looked at again
                row[j] -= factor * pivot[j]
            solution[i] -= factor * solution[k]
    for i in range(size - 1, -1, -1):
        total = solution[i]
        for j in range(i + 1, size):
            total -= matrix[i, j] * solution[j]
        solution[i] = total / matrix[i, i]


@_compiled
def condition(read: Array, features: Array, observed: int, tensors: Tensors, belief: Array) -> None:
    """Write the next belief (p,), from what u read and phi^o (r_o,); see `filter_step`."""
    size, states = len(features), len(belief)
    solution = features.copy()
    conditioner(read[observed + states * size :], tensors.ridge, solution)
    square = 0.0
    for i in range(states):
        row = read[observed + i * size : observed + (i + 1) * size]
        total = 0.0
        for j in range(size):
            total += row[j] * solution[j]
        belief[i] = total
        square += total * total
    if square > tensors.cap * tensors.cap:
        belief *= tensors.cap / np.sqrt(square)


@_compiled
def expect(
    read: Array, features: Array, rows: Array, stop: int, base: Array, expected: Array
) -> None:
    """Write the expected observations (d_o,); ``rows`` are values up to an action at ``stop``."""
    window = rows[stop - base.shape[1] : stop]
    for o in range(len(expected)):
        expected[o] = read[o] + features[o] + _dot(window, base[o])


@_compiled
def tick(
    waves: Waves,
    tensors: Tensors,
    watch: Watch,
    reach: int,
    belief: Array,
    past: Array,
    given: Array,
    next_belief: Array,
    next_past: Array,
) -> tuple[float, int]:
    """Write belief and past after a tick; return its mean squared innovation, and what was limited.

    ``given`` (d,) is (action, observation) as it came. Limited were: 0 nothing, 1 an observation,
    2 an action, 3 both. -1 stands for missing values and beliefs of unusual size: then nothing
    written counts.
    """
    before, columns = past.shape
    observed = len(tensors.base)
    acted = columns - observed
    next_past[: before - 1] = past[1:]
    newest = next_past[before - 1]
    limited = 0
    for i in range(columns):
        newest[i] = (given[i] - watch.mean[i]) / watch.deviation[i]
        if not np.isfinite(newest[i]):
            return 0.0, -1
        if not tensors.limits[0, i] <= newest[i] <= tensors.limits[1, i]:
            limited |= 2 if i < acted else 1
    span = (reach + 1) * columns
    rows = next_past.reshape(-1)
    values = np.empty(span)
    limit(rows[len(rows) - span :], tensors.limits, values)
    features = np.empty(len(waves.constant))
    evaluate(values, waves, np.empty((2, waves.frequencies.shape[1])), features)
    actions = len(tensors.read) // len(belief)
    read = np.empty(tensors.read.shape[1])
    read_off(belief, features[len(features) - actions :], tensors.read, read)
    expected = np.empty(observed)
    expect(read, features, rows, len(rows) - observed, tensors.base, expected)
    seen = features[observed : len(features) - actions]
    condition(read, seen, observed, tensors, next_belief)
    innovation = 0.0
    for o in range(observed):
        error = newest[acted + o] - expected[o]
        innovation += error * error * watch.innovation_weights[o]
    square = 0.0
    for i in range(len(next_belief)):
        square += next_belief[i] * next_belief[i]
    return innovation, limited if watch.shortest <= square <= watch.longest else -1


@_compiled
def roll_out(
    predicted: Waves,
    action_waves: Waves,
    tensors: Tensors,
    reach: int,
    belief: Array,
    ticks: Array,
    horizon: int,
) -> None:
    """Fill in the observations of the last ``horizon`` ticks (T, d), of which actions are given.

    Of the belief (p,) becomes that before the last tick.
    """
    total, columns = ticks.shape
    observed = len(tensors.base)
    acted = columns - observed
    before = total - horizon
    rows = ticks.reshape(-1)
    span = reach * columns + acted
    values, features = np.empty(span), np.empty(len(predicted.constant))
    raw = np.empty((2, predicted.frequencies.shape[1]))
    raw_action = np.empty((2, action_waves.frequencies.shape[1]))
    action, previous = np.empty(len(action_waves.constant)), np.empty(acted)
    read, expected = np.empty(tensors.read.shape[1]), np.empty(observed)
    for h in range(horizon):
        # phi^o of the tick before, and the direct term of this one.
        stop = (before + h) * columns + acted
        limit(rows[stop - span : stop], tensors.limits, values)
        evaluate(values, predicted, raw, features)
        if h:
            condition(read, features[observed:], observed, tensors, belief)
        changed = h == 0
        for i in range(span - acted, span):
            changed = changed or values[i] != previous[i - span + acted]
        if changed:  # often a command is held
            previous[:] = values[span - acted :]
            evaluate(previous, action_waves, raw_action, action)
        read_off(belief, action, tensors.read, read)
        expect(read, features, rows, stop, tensors.base, expected)
        for o in range(observed):
            rows[stop + o] = expected[o]
