"""The prepared step as loops that numba compiles: one tick, and forecasts.

Imported only where numba is installed. Features and products are in single precision, ARX term and
conditioning in double precision. Functions that are called take arrays one by one: handing on a
tuple of many costs as much as evaluating a feature map.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.compiling import compiled, in_place

TOGETHER = 16
"""Plans rolled out side by side: matrices are read once for all, what they need stays in cache."""

# Taylor series of sine and cosine of x quarter turns: at half a quarter turn to 3e-8.
SIN = [np.float32((np.pi / 2) ** n / math.factorial(n)) for n in range(1, 10, 2)]
COS = [np.float32((np.pi / 2) ** n / math.factorial(n)) for n in range(2, 9, 2)]
(SIN_1, SIN_3, SIN_5, SIN_7, SIN_9), (COS_2, COS_4, COS_6, COS_8) = SIN, COS
HALF, ONE = np.float32(0.5), np.float32(1)


Fourier = tuple[Array, Array]
"""Frequencies (i, D) in quarter turns, and what becomes of cosines and sines (r, 2 D)."""


class Predictor(NamedTuple):
    """A predictor as loops want it; ticks are rows (action, observation)."""

    narx: Fourier  # of the last `narx_past` ticks and an action, to expected observations
    observation: Fourier
    action: Fourier
    read: Array  # (r_a p, d_o + p r_o + r_o (r_o + 1) / 2): prediction, next state, covariance;
    # after them, where they replace missing observations, expected features (r_a p, r_o)
    commanded: Array  # (p, columns of `read`): what the features of `command` make of it
    arx: Array  # (d_o, b), of the last b values of a row that ends with an action
    scaling: Array  # (2, d): mean and deviation of raw values
    limits: Array  # (2, d): of what features represent
    output_bounds: Array  # (2, d_o): expected observations are held between them
    constant: Array  # (d_o,)
    innovation_weights: Array  # (d_o,)
    bounds: Array  # lambda, the cap; the squared norms between which a belief is
    command: Array  # (d_a,): the last action; commands are often held


@in_place
def _part(values: Array, header: Array, place: int) -> Array:
    start, rows, columns = header[3 * place], header[3 * place + 1], header[3 * place + 2]
    return values[start : start + rows * columns].reshape(rows, columns)


@in_place
def unpacked(packed: Array) -> Predictor:
    """Return the predictor, as views of what `compiled_step.packed` put into one array.

    Every further argument would cost a call as much as a small product of matrices.
    """
    singles, header = packed.view(np.float32), packed.view(np.int64)
    return Predictor(
        (_part(singles, header, 0), _part(singles, header, 1)),
        (_part(singles, header, 2), _part(singles, header, 3)),
        (_part(singles, header, 4), _part(singles, header, 5)),
        _part(singles, header, 6),
        _part(singles, header, 7),
        _part(packed, header, 8),
        _part(packed, header, 9),
        _part(packed, header, 10),
        _part(packed, header, 11),
        _part(packed, header, 12)[0],
        _part(packed, header, 13)[0],
        _part(packed, header, 14)[0],
        _part(packed, header, 15)[0],
    )


@compiled
def waves_of(phases: Array, waves: Array) -> None:
    """Write cosines and sines (2 D,) of phases (D,) in quarter turns."""
    count = len(phases)
    cosines, sines = waves[:count], waves[count:]
    for j in range(count):
        turns = np.floor(phases[j] + HALF)
        x, quarter = phases[j] - turns, np.int32(turns)
        z = x * x
        s = x * (SIN_1 - z * (SIN_3 - z * (SIN_5 - z * (SIN_7 - z * SIN_9))))
        c = ONE - z * (COS_2 - z * (COS_4 - z * (COS_6 - z * COS_8)))
        first, second = (s, c) if quarter & 1 != 0 else (c, s)
        cosines[j] = -first if (quarter + 1) & 2 != 0 else first
        sines[j] = -second if quarter & 2 != 0 else second


@compiled
def add_up(rows: Array, weights: Array, total: Array) -> None:
    """Write the weighted sum of rows: for so small a product a library call costs more."""
    whole = len(rows) // 4 * 4
    total[:] = 0
    for i in range(0, whole, 4):  # four at a time, as the sums are read and written each time
        a, b, c, d = rows[i], rows[i + 1], rows[i + 2], rows[i + 3]
        p, q = np.float32(weights[i]), np.float32(weights[i + 1])
        r, s = np.float32(weights[i + 2]), np.float32(weights[i + 3])
        for j in range(len(total)):
            total[j] += (p * a[j] + q * b[j]) + (r * c[j] + s * d[j])
    for i in range(whole, len(rows)):
        row, weight = rows[i], np.float32(weights[i])
        for j in range(len(total)):
            total[j] += weight * row[j]


@compiled
def evaluate(rows: Array, stop: int, maps: Fourier, limits: Array, features: Array) -> None:
    """Write features (N, r) of the values before ``stop`` in rows of ticks (N, T d)."""
    frequencies, output = maps
    size, count = frequencies.shape
    if count == 0:
        features[:] = 0
        return
    points = np.empty((len(rows), size), np.float32)
    phases = np.empty((len(rows), count), np.float32)
    waves = np.empty((len(rows), 2 * count), np.float32)
    (low, high), columns = limits, limits.shape[1]
    for n in range(len(rows)):
        values, point, column = rows[n, stop - size : stop], points[n], (stop - size) % columns
        for i in range(size):
            point[i] = min(max(values[i], low[column]), high[column])
            column = column + 1 if column + 1 < columns else 0
    if len(rows) > 1:
        np.dot(points, frequencies, phases)
        for n in range(len(rows)):
            waves_of(phases[n], waves[n])
        np.dot(waves, output.T, features)
        return
    add_up(frequencies, points[0], phases[0])
    waves_of(phases[0], waves[0])
    for i in range(len(output)):
        row, other, total = waves[0], output[i], np.float32(0)
        for k in range(len(row)):
            total += row[k] * other[k]
        features[0, i] = total


@in_place
def read_off(rows: Array, stop: int, beliefs: Array, own: Predictor, output: Array) -> None:
    """Write u W (N, columns), u = phi^a x q, for the actions before ``stop`` in rows (N, T d)."""
    count, states, size = len(rows), beliefs.shape[1], len(own.action[1])
    if count == 1:
        given = rows[0, stop - len(own.command) : stop]
        if (given != own.command).any():
            own.command[:] = given
            action = np.empty((1, size), np.float32)
            evaluate(rows, stop, own.action, own.limits, action)
            np.dot(action, own.read.reshape(size, -1), own.commanded.reshape(1, -1))
        add_up(own.commanded, beliefs[0], output[0])
        return
    action = np.empty((count, size), np.float32)
    evaluate(rows, stop, own.action, own.limits, action)
    joined = np.empty((count, size * states), np.float32)
    for n in range(count):
        for a in range(size):
            row = joined[n, a * states : (a + 1) * states]
            for i in range(states):
                row[i] = action[n, a] * beliefs[n, i]
    np.dot(joined, own.read, output)


@compiled
def conditioner(half: Array, ridge: float, features: Array, solution: Array) -> None:
    """Write (C^2 + lambda)^-1 C phi^o (r_o,), C given by its upper triangle."""
    size = len(solution)
    covariance, matrix = np.empty((size, size)), np.empty((size, size))
    place = 0
    for i in range(size):
        for j in range(i, size):
            covariance[i, j] = covariance[j, i] = half[place]
            place += 1
    np.dot(covariance, covariance, matrix)
    for i in range(size):
        row, total = covariance[i], 0.0
        for k in range(size):
            total += row[k] * features[k]
        solution[i] = total
        matrix[i, i] += ridge
    eliminate(matrix, solution)


@compiled
def eliminate(matrix: Array, solution: Array) -> None:
    """Solve a positive definite system, given its upper triangle, in place; it needs no pivots."""
    size = len(solution)
    for k in range(size):
        pivot, known = matrix[k], solution[k]
        inverse = 1 / pivot[k]
        for i in range(k + 1, size):
            row, factor = matrix[i], pivot[i] * inverse
            for j in range(i, size):
                row[j] -= factor * pivot[j]
            solution[i] -= factor * known
        pivot[k] = inverse
    for i in range(size - 1, -1, -1):
        row, total = matrix[i], solution[i]
        for j in range(i + 1, size):
            total -= row[j] * solution[j]
        solution[i] = total * row[i]


@compiled
def condition(read: Array, observed: int, features: Array, bounds: Array, belief: Array) -> None:
    """Write the next belief (p,), from what u read and phi^o (r_o,); see `filter_step`."""
    size, states = len(features), len(belief)
    ridge, cap = bounds[0], bounds[1]
    solution = np.empty(size)
    conditioner(read[observed + states * size :], ridge, features, solution)
    square = 0.0
    for i in range(states):
        row, total = read[observed + i * size : observed + (i + 1) * size], 0.0
        for j in range(size):
            total += row[j] * solution[j]
        belief[i] = total
        square += total * total
    if square > cap * cap:
        belief *= cap / np.sqrt(square)


@in_place
def expect(read: Array, narx: Array, row: Array, stop: int, own: Predictor, out: Array) -> None:
    """Write expected observations (d_o,): of ARX and NARX term, and of u."""
    window = row[stop - own.arx.shape[1] : stop]
    for o in range(len(out)):
        low, high = own.output_bounds[0, o], own.output_bounds[1, o]
        total = own.constant[o] + read[o] + narx[o]
        for i in range(len(window)):
            total += window[i] * own.arx[o, i]
        out[o] = low if total < low else high if total > high else total


@compiled
def tick(packed: Array, belief: Array, past: Array, after: Array) -> tuple[float, int]:
    """Write a state after a tick; return its mean squared innovation, and what was unusual.

    ``after`` holds belief and past (p + P d,), and in place of the newest tick (action,
    observation) as received, NaN where missing. Unusual were, added up: 1 a limited observation, 2
    a limited action, 4 a missing observation; -1: values that are infinite, or the belief's size,
    and nothing written counts. The innovation is NaN if all was missing.
    """
    predictor = unpacked(packed)
    before, columns = past.shape
    observed, states = len(predictor.arx), len(belief)
    next_belief, ticks = after[:states], after[states:]
    older, newest = ticks[: (before - 1) * columns], ticks[(before - 1) * columns :]
    older[:] = past[1:].reshape(-1)
    acted, unusual, seen = columns - observed, 0, 0
    for i in range(columns):
        newest[i] = (newest[i] - predictor.scaling[0, i]) / predictor.scaling[1, i]
        if i >= acted and np.isnan(newest[i]):
            unusual |= 4
        elif not np.isfinite(newest[i]):
            return 0.0, -1
        elif not predictor.limits[0, i] <= newest[i] <= predictor.limits[1, i]:
            unusual |= 2 if i < acted else 1
    rows, limits, stop = ticks.reshape(1, -1), predictor.limits, len(ticks) - observed
    narx = np.empty((1, observed), np.float32)
    features = np.empty((1, len(predictor.observation[1])), np.float32)
    read = np.empty((1, predictor.read.shape[1]), np.float32)
    evaluate(rows, stop, predictor.narx, limits, narx)
    read_off(rows, stop, belief.reshape(1, -1), predictor, read)
    expected = np.empty(observed)
    expect(read[0], narx[0], ticks, stop, predictor, expected)
    innovation = 0.0
    for o in range(observed):
        if np.isnan(newest[acted + o]):
            newest[acted + o] = expected[o]
        else:
            error = newest[acted + o] - expected[o]
            innovation += error * error * predictor.innovation_weights[o]
            seen += 1
    size = features.shape[1]
    known = observed + states * size + size * (size + 1) // 2
    if seen == 0 and read.shape[1] > known:
        features[0] = read[0, known:]
    else:
        evaluate(rows, len(ticks), predictor.observation, limits, features)
    condition(read[0], observed, features[0], predictor.bounds, next_belief)
    usual = predictor.bounds[2] <= np.dot(next_belief, next_belief) <= predictor.bounds[3]
    mean = innovation * observed / seen if seen else np.nan
    return mean, unusual if usual else -1


@compiled
def roll_out(packed: Array, beliefs: Array, pasts: Array, plans: Array, forecasts: Array) -> None:
    """Write forecasts (N, H, d_o) given actions (N, H, d_a), all in their own units.

    One belief (1, p) and past (1, P, d) are those of all plans; else each has its own.
    """
    predictor = unpacked(packed)
    for start in range(0, len(plans), TOGETHER):
        group = slice(start, min(start + TOGETHER, len(plans)))
        own = group if len(beliefs) > 1 else slice(0, 1)
        _roll_out_together(predictor, beliefs[own], pasts[own], plans[group], forecasts[group])


@compiled
def _roll_out_together(
    predictor: Predictor, beliefs: Array, pasts: Array, plans: Array, forecasts: Array
) -> None:
    count, horizon, acted = plans.shape
    before, columns = pasts.shape[1:]
    observed = columns - acted
    (mean, deviation), limits = predictor.scaling[:, acted:], predictor.limits
    rows = np.empty((count, (before + horizon) * columns))
    belief = np.empty((count, beliefs.shape[1]))
    _begin(beliefs, pasts, plans, predictor.scaling, belief, rows)
    narx = np.empty((count, observed), np.float32)
    features = np.empty((count, len(predictor.observation[1])), np.float32)
    read = np.empty((count, predictor.read.shape[1]), np.float32)
    for h in range(horizon):
        start = (before + h) * columns
        stop = start + acted
        if h:
            evaluate(rows, start, predictor.observation, limits, features)
            for n in range(count):
                condition(read[n], observed, features[n], predictor.bounds, belief[n])
        evaluate(rows, stop, predictor.narx, limits, narx)
        read_off(rows, stop, belief, predictor, read)
        for n in range(count):
            expected = rows[n, stop : stop + observed]
            expect(read[n], narx[n], rows[n], stop, predictor, expected)
            for o in range(observed):
                forecasts[n, h, o] = expected[o] * deviation[o] + mean[o]


@compiled
def _begin(
    beliefs: Array, pasts: Array, plans: Array, scaling: Array, belief: Array, rows: Array
) -> None:
    """Write each plan's belief (N, p), and its past and actions as rows of ticks (N, T d)."""
    (before, columns), acted = pasts.shape[1:], plans.shape[2]
    for n in range(len(plans)):
        own = n if len(beliefs) > 1 else 0
        belief[n] = beliefs[own]
        ticks = rows[n].reshape(-1, columns)
        ticks[:before] = pasts[own]
        ticks[before:, :acted] = (plans[n] - scaling[0, :acted]) / scaling[1, :acted]
