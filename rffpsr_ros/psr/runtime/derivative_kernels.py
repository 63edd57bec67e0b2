"""The derivatives of one forecast as loops that numba compiles; see `RolloutDerivatives`.

Imported only where numba is installed. Features and what they read are in single precision, as they
are in live forecasts; conditioning and the chain along the horizon in double precision.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.compiling import compiled, part
from rffpsr_ros.psr.runtime.step_derivative_kernels import capped, next_by, step_derivatives


class MapSlopes(NamedTuple):
    """Features of waves or of sigmoids and their derivatives, in single precision."""

    directions: Array  # (d, D)
    offsets: Array  # (D,) of sigmoids
    output: Array  # (2 D, r), of cosines and sines; or (D, r), of tangents
    slopes: Array  # (2 D, r d), of cosines and sines; or (D, r d), of the tangents' own slopes


class Predictor(NamedTuple):
    """A predictor as its derivatives need it; rows of ticks are (action, observation)."""

    read: Array  # (p, r_a, c), single precision: prediction, extended state, packed covariance
    action: MapSlopes
    observation: MapSlopes
    narx: MapSlopes  # of its window, to expected observations
    places: Array  # of the window's values in the NARX term's row of ticks
    arx: Array  # (d_o, w), of a row of ticks that ends with an action
    limits: Array  # (2, d): of what features represent
    window_limits: Array  # (2, n): the same of the window
    bounds: Array  # (2, d_o): of what is predicted
    conditioning: Array  # lambda, the cap


@part
def _mapped(points: Array, mapping: MapSlopes) -> tuple[Array, Array]:
    """Return features (H, r) and derivatives (H, r d) of points (H, d), held within limits."""
    sums = np.dot(points, mapping.directions)
    count, width = sums.shape[1], len(mapping.output)
    values = np.empty((len(points), width), np.float32)
    if width == 2 * count:
        for h in range(len(points)):
            for j in range(count):
                values[h, j] = np.cos(sums[h, j])
                values[h, count + j] = np.sin(sums[h, j])
        return np.dot(values, mapping.output), np.dot(values, mapping.slopes)
    for h in range(len(points)):
        for j in range(count):
            values[h, j] = np.tanh(sums[h, j] + mapping.offsets[j])
            sums[h, j] = 1 - values[h, j] * values[h, j]
    return np.dot(values, mapping.output), np.dot(sums, mapping.slopes)


@part
def _held(values: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return values (H, d) held within limits, in single precision, and where they are not."""
    held = np.empty(values.shape, np.float32)
    free = np.ones(values.shape, np.float32)
    for h in range(len(values)):
        for i in range(values.shape[1]):
            value = values[h, i]
            if value < low[i]:
                value, free[h, i] = low[i], 0
            elif value > high[i]:
                value, free[h, i] = high[i], 0
            held[h, i] = value
    return held, free


@part
def _slopes_of(slopes: Array, free: Array, size: int) -> Array:
    """Return the derivatives (r, d) of one tick's features, zero where its input was held."""
    found = np.empty((size, len(free)))
    for i in range(size):
        for o in range(len(free)):
            found[i, o] = slopes[i * len(free) + o] * free[o]
    return found


@part
def _looked_at(before: Array, plan: Array, forecast: Array, own: Predictor) -> tuple[Array, Array]:
    """Return the NARX term's derivatives (H, d_o w) by its windows, and where these are not held.

    The windows are those of m ticks before and of a forecast of a plan.
    """
    acted, first, places = plan.shape[1], len(before), own.places
    ticks = np.empty((first + len(plan), acted + forecast.shape[1]))
    ticks[:first] = before
    ticks[first:, :acted] = plan
    ticks[first:, acted:] = forecast
    window, flat = np.empty((len(plan), len(places))), ticks.reshape(-1)
    for h in range(len(plan)):
        for i in range(len(places)):
            window[h, i] = flat[h * ticks.shape[1] + places[i]]
    held, free = _held(window, own.window_limits[0], own.window_limits[1])
    return _mapped(held, own.narx)[1], free


@part
def _hold_at_bounds(change: Array, values: Array, bounds: Array) -> None:
    """Let no prediction (d_o,) that is at a bound change (d_o, K)."""
    for o in range(len(values)):
        if not bounds[0, o] < values[o] < bounds[1, o]:
            change[o] = 0.0


@part
def _read_all(own: Predictor, belief: Array, action: Array, reads: Array) -> None:
    """Write what is read for each number of the belief, then for each feature of the action."""
    states, size, width = own.read.shape
    for p in range(states):
        reads[p] = np.dot(action, own.read[p])
    reads[states:] = np.dot(belief, own.read.reshape(states, -1)).reshape(size, width)


@part
def _moved_forecast(
    by_row: Array, own: Array, reads: Array, moved: Array, trail: Array, now: int
) -> Array:
    """Return how a tick's prediction changes (d_o, K), of what was moved before and its action.

    ``trail`` (ticks d, K) are the ticks before, of which ``by_row`` (d_o, w) sees the last.
    """
    (observed, width), acted = by_row.shape, own.shape[1]
    change = np.zeros((observed, trail.shape[1]))
    seen = min(len(trail), width)
    if seen:
        change += np.dot(
            np.ascontiguousarray(by_row[:, width - seen :]), trail[len(trail) - seen :]
        )
    for o in range(observed):
        for p in range(len(moved)):
            slope = reads[p, o]
            for k in range(now):
                change[o, k] += slope * moved[p, k]
        for a in range(acted):
            change[o, now + a] = own[o, a]
    return change


@part
def _row_slopes(arx: Array, narx: Array, places: Array, width: int, span: int) -> Array:
    """Return the derivatives (d_o, w) of a prediction by a row of ticks that ends with its action.

    ``narx`` (d_o, n) are those by the NARX term's window, whose ``places`` count in a row of
    ``span``.
    """
    by_row = np.zeros((len(arx), width))
    by_row[:, width - arx.shape[1] :] += arx
    for o in range(len(arx)):
        for i in range(len(places)):
            by_row[o, width - span + places[i]] += narx[o, i]
    return by_row


@compiled
def rollout_jacobian(
    own: Predictor, belief: Array, before: Array, plan: Array, forecast: Array, jacobian: Array
) -> None:
    """Write the derivatives (H, d_o, H d_a) of a forecast (H, d_o) of a plan (H, d_a).

    ``before`` (m, d) are the ticks that the NARX term sees before the first.
    """
    (horizon, acted), observed = plan.shape, forecast.shape[1]
    (states, size, width), columns = own.read.shape, acted + observed
    plan_held, plan_free = _held(plan, own.limits[0, :acted], own.limits[1, :acted])
    seen_held, seen_free = _held(forecast, own.limits[0, acted:], own.limits[1, acted:])
    actions, action_slopes = _mapped(plan_held, own.action)
    seen, seen_slopes = _mapped(seen_held, own.observation)
    window, free = _looked_at(before, plan, forecast, own)
    span = len(before) * columns + acted
    row_width = max(own.arx.shape[1], span)
    trail = np.zeros((horizon * columns, horizon * acted))
    moved, state = np.zeros((states, horizon * acted)), belief.copy()
    following, by_seen = np.empty(states), np.empty((states, seen.shape[1]))
    half = seen.shape[1] * (seen.shape[1] + 1) // 2
    packed, reads = np.empty((states, half)), np.empty((states + size, width), np.float32)
    for h in range(horizon):
        now = h * acted
        narrow = state.astype(np.float32)
        _read_all(own, narrow, actions[h], reads)
        slopes = _slopes_of(action_slopes[h], plan_free[h], size)
        by_row = _row_slopes(
            own.arx,
            _slopes_of(window[h], free[h], observed),
            own.places,
            row_width,
            span,
        )
        by_own = reads[states:, :observed].astype(np.float64).T.copy()
        change = _moved_forecast(
            by_row[:, : row_width - acted],
            by_row[:, row_width - acted :] + np.dot(by_own, slopes),
            reads,
            moved,
            trail[: h * columns],
            now,
        )
        _hold_at_bounds(change, forecast[h], own.bounds)
        for a in range(acted):
            trail[h * columns + a, now + a] = 1.0
        trail[h * columns + acted : (h + 1) * columns] = change
        jacobian[h] = change
        if h + 1 == horizon:
            break
        found = np.dot(narrow, reads[:states]).astype(np.float64)
        shrink, conditioner = step_derivatives(
            found,
            observed,
            seen[h].astype(np.float64),
            own.conditioning,
            following,
            by_seen,
            packed,
        )
        by_input = next_by(reads, observed, conditioner, packed)
        by_value = np.dot(by_seen, _slopes_of(seen_slopes[h], seen_free[h], seen.shape[1]))
        after = np.dot(by_value, change)
        after += np.dot(np.ascontiguousarray(by_input[:, :states]), moved)
        after[:, now : now + acted] += np.dot(np.ascontiguousarray(by_input[:, states:]), slopes)
        if shrink < 1:
            capped(after, following, shrink)
        moved = after
        state[:] = following * shrink
