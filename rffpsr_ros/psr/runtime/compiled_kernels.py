"""The parts of a predictor's tick as loops that numba compiles: features, products, conditioning.

Imported only where numba is installed. Features and products are in single precision, ARX term
and conditioning in double precision. A predictor is a place in an array that holds all of its
parts, and room to work in: functions look up what they need, which costs nothing, see `raw_views`.
"""

from __future__ import annotations

import math

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.compiling import compiled, part
from rffpsr_ros.psr.runtime.lanes import LANES, room_of_lanes
from rffpsr_ros.psr.runtime.packed_parts import (
    ACTED,
    ACTION,
    ARX,
    BOUNDS,
    COMMAND,
    COMMANDED,
    CONSTANT,
    LIMITS,
    OUTPUT_BOUNDS,
    PHASES,
    POINT,
    READ,
    READ_OFF,
    WAVES,
)
from rffpsr_ros.psr.runtime.raw_views import doubles, integers, singles

# Taylor series of sine and cosine of x quarter turns: at half a quarter turn to 3e-8.
SIN = [np.float32((np.pi / 2) ** n / math.factorial(n)) for n in range(1, 10, 2)]
COS = [np.float32((np.pi / 2) ** n / math.factorial(n)) for n in range(2, 9, 2)]
(SIN_1, SIN_3, SIN_5, SIN_7, SIN_9), (COS_2, COS_4, COS_6, COS_8) = SIN, COS
HALF, ONE = np.float32(0.5), np.float32(1)


@part
def single(packed: Array, base: int, place: int) -> Array:
    """Return a part in single precision of the predictor that begins at ``base``."""
    header = integers(packed, base + 3 * place, 1, 3)
    found: Array = singles(packed, 2 * base + header[0, 0], header[0, 1], header[0, 2])
    return found


@part
def double(packed: Array, base: int, place: int) -> Array:
    """Return a part in double precision."""
    header = integers(packed, base + 3 * place, 1, 3)
    found: Array = doubles(packed, base + header[0, 0], header[0, 1], header[0, 2])
    return found


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
def tangents_of(sums: Array, offsets: Array, tangents: Array) -> None:
    """Write hyperbolic tangents (D,) of sums and offsets (D,)."""
    for j in range(len(sums)):
        tangents[j] = np.tanh(sums[j] + offsets[j])


@part
def add_up(rows: Array, weights: Array, total: Array) -> None:
    """Write the weighted sum of rows: for so small a product a library call costs more."""
    whole = len(rows) // 4 * 4
    total[:] = 0
    for i in range(0, whole, 4):  # four at a time, as the sums are read and written each time
        p, q = np.float32(weights[i]), np.float32(weights[i + 1])
        r, s = np.float32(weights[i + 2]), np.float32(weights[i + 3])
        for j in range(len(total)):
            total[j] += (p * rows[i, j] + q * rows[i + 1, j]) + (
                r * rows[i + 2, j] + s * rows[i + 3, j]
            )
    for i in range(whole, len(rows)):
        weight = np.float32(weights[i])
        for j in range(len(total)):
            total[j] += weight * rows[i, j]


@part
def project(rows: Array, values: Array, products: Array) -> None:
    """Write the products of rows and a vector: four at a time, as that is read each time."""
    whole = len(rows) // 4 * 4
    for i in range(0, whole, 4):
        a = b = c = d = np.float32(0)
        for k in range(len(values)):
            value = values[k]
            a += value * rows[i, k]
            b += value * rows[i + 1, k]
            c += value * rows[i + 2, k]
            d += value * rows[i + 3, k]
        products[i], products[i + 1], products[i + 2], products[i + 3] = a, b, c, d
    for i in range(whole, len(rows)):
        a = np.float32(0)
        for k in range(len(values)):
            a += values[k] * rows[i, k]
        products[i] = a


@part
def limited(row: Array, stop: int, limits: Array, point: Array) -> None:
    """Write the values before ``stop`` in a row of ticks, held between limits."""
    size, columns = len(point), limits.shape[1]
    column, values = (stop - size) % columns, row[stop - size : stop]
    for i in range(size):
        value = values[i]
        point[i] = min(max(value, limits[0, column]), limits[1, column])
        column = column + 1 if column + 1 < columns else 0


@part
def evaluate(packed: Array, base: int, place: int, row: Array, stop: int, features: Array) -> None:
    """Write features (r,) of the values before ``stop`` in a row of ticks (T d,)."""
    directions, output = single(packed, base, place), single(packed, base, place + 1)
    size, count = directions.shape
    if count == 0:
        features[:] = 0
        return
    bent = output.shape[1] == count  # sigmoids, their offsets in the last row
    point = single(packed, base, POINT)[0, : size - 1 if bent else size]
    sums = single(packed, base, PHASES)[0, :count]
    values = single(packed, base, WAVES)[0, : output.shape[1]]
    limited(row, stop, double(packed, base, LIMITS), point)
    add_up(directions[: len(point)], point, sums)
    if bent:
        tangents_of(sums, directions[size - 1], values)
    else:
        waves_of(sums, values)
    project(output, values, features)


@part
def evaluate_many(
    packed: Array, base: int, place: int, rows: Array, stop: int, features: Array
) -> None:
    """Write features (N, r) of the values before ``stop`` in rows of ticks (N, T d)."""
    directions, output = single(packed, base, place), single(packed, base, place + 1)
    size, count = directions.shape
    if count == 0:
        features[:] = 0
        return
    bent = output.shape[1] == count
    points = np.empty((len(rows), size - 1 if bent else size), np.float32)
    sums = np.empty((len(rows), count), np.float32)
    values = np.empty((len(rows), output.shape[1]), np.float32)
    limits = double(packed, base, LIMITS)
    for n in range(len(rows)):
        limited(rows[n], stop, limits, points[n])
    np.dot(points, directions[: points.shape[1]], sums)
    for n in range(len(rows)):
        if bent:
            tangents_of(sums[n], directions[size - 1], values[n])
        else:
            waves_of(sums[n], values[n])
    np.dot(values, output.T, features)


@part
def read_off(packed: Array, base: int, row: Array, stop: int, belief: Array) -> Array:
    """Return u W (columns,), u = phi^a x q, for the action before ``stop`` in a row (T d,)."""
    states, read = len(belief), single(packed, base, READ)[0]
    place = states * remembered(packed, base, row, stop)
    add_up(single(packed, base, COMMANDED)[place : place + states], belief, read)
    result: Array = read
    return result


@part
def told_by_state(packed: Array, base: int) -> bool:
    """Tell whether the state has a say in what is expected: else none is needed to forecast."""
    return bool(double(packed, base, BOUNDS)[0, -1] > 0)


@part
def remembered(packed: Array, base: int, row: Array, stop: int) -> int:
    """Return which of the two commands that are remembered stands before ``stop`` in a row.

    One that does not takes the place of the one that was looked at longer ago.
    """
    commands = double(packed, base, COMMAND)
    acted = commands.shape[1] - 1
    given = row[stop - acted : stop]
    newest = 0 if commands[0, acted] > 0 else 1
    for place in (newest, 1 - newest):
        same = True
        for i in range(acted):
            same &= given[i] == commands[place, i]
        if same:
            commands[place, acted], commands[1 - place, acted] = 1, 0
            return place
    place = 1 - newest
    for i in range(acted):
        commands[place, i] = given[i]
    commands[place, acted], commands[newest, acted] = 1, 0
    action, weights = single(packed, base, ACTED), single(packed, base, READ_OFF)
    evaluate(packed, base, ACTION, row, stop, action[0])
    size, together = action.shape[1], single(packed, base, COMMANDED)
    states = len(together) // 2
    own = together[place * states : (place + 1) * states].reshape(-1)
    add_up(weights.reshape(size, len(own)), action[0], own)
    return place


@part
def read_off_many(
    packed: Array, base: int, rows: Array, stop: int, beliefs: Array, read: Array
) -> None:
    """Write u W (N, columns) for the actions before ``stop`` in rows (N, T d)."""
    weights, count = single(packed, base, READ_OFF), len(rows)
    size, states = single(packed, base, ACTED).shape[1], beliefs.shape[1]
    action = np.empty((count, size), np.float32)
    evaluate_many(packed, base, ACTION, rows, stop, action)
    joined = np.empty((count, size * states), np.float32)
    for n in range(count):
        for a in range(size):
            for i in range(states):
                joined[n, a * states + i] = action[n, a] * beliefs[n, i]
    np.dot(joined, weights, read)


@part
def expect(packed: Array, base: int, read: Array, narx: Array, row: Array, stop: int) -> None:
    """Write into the row, behind ``stop``, the expected observations (d_o,).

    They are those of ARX and NARX term and of what u ``read``, held between their bounds.
    """
    arx, constant = double(packed, base, ARX), double(packed, base, CONSTANT)
    held = double(packed, base, OUTPUT_BOUNDS)
    window = row[stop - arx.shape[1] : stop]  # of which no place can be negative, so it is a vector
    for o in range(len(arx)):
        total = constant[0, o] + read[o] + narx[o]
        for i in range(len(window)):
            total += window[i] * arx[o, i]
        low, high = held[0, o], held[1, o]
        row[stop + o] = low if total < low else high if total > high else total


@part
def fill_lane(
    packed: Array, base: int, read: Array, features: Array, lane: int, given: Array, size: int
) -> None:
    """Write the covariance that u ``read``, and phi^o below it, into a lane of ``given``.

    The lane is of systems of ``size`` rows; what this one lacks is left as it is.
    """
    own, states = len(features), single(packed, base, COMMANDED).shape[0] // 2
    width = room_of_lanes(size)[0]
    half, place = read[double(packed, base, ARX).shape[0] + states * own :], 0
    rows = given[lane:]
    for i in range(own):
        for j in range(i, own):
            value = half[place]
            rows[i * width + LANES * j] = value
            rows[j * width + LANES * i] = value
            place += 1
        rows[size * width + LANES * i] = features[i]


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
        total = 0.0
        for k in range(size):
            total += covariance[i, k] * features[k]
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


@part
def believe(packed: Array, base: int, read: Array, solution: Array, belief: Array) -> None:
    """Write the next belief (p,), from what u ``read`` and the solution (r_o,)."""
    size, states, square = len(solution), len(belief), 0.0
    place, cap = double(packed, base, ARX).shape[0], double(packed, base, BOUNDS)[0, 1]
    for i in range(states):
        total, row = 0.0, read[place + i * size : place + (i + 1) * size]
        for j in range(size):
            total += row[j] * solution[j]
        belief[i] = total
        square += total * total
    if square > cap * cap:
        belief *= cap / np.sqrt(square)


@part
def condition(packed: Array, base: int, read: Array, features: Array, belief: Array) -> None:
    """Write the next belief (p,), from what u ``read`` and phi^o (r_o,); see `filter_step`."""
    observed, size, states = double(packed, base, ARX).shape[0], len(features), len(belief)
    solution = np.empty(size)
    half = read[observed + states * size :]
    conditioner(half, double(packed, base, BOUNDS)[0, 0], features, solution)
    believe(packed, base, read, solution, belief)
