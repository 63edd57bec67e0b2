"""One tick of a predictor, and forecasts rolled out from it, as numba compiles them."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.compiled_kernels import (
    believe,
    condition,
    double,
    evaluate,
    evaluate_many,
    expect,
    fill_lane,
    read_off,
    read_off_many,
    single,
    told_by_state,
)
from rffpsr_ros.psr.runtime.compiling import compiled, in_place, part
from rffpsr_ros.psr.runtime.lanes import LANES, room_of_lanes, solve_side_by_side
from rffpsr_ros.psr.runtime.packed_parts import (
    ARX,
    BOUNDS,
    COMMANDED,
    FEATURES,
    FIRST,
    INNOVATION_WEIGHTS,
    LIMITS,
    NARX,
    NARX_VALUES,
    OBSERVATION,
    READ,
    SCALING,
)

TOGETHER = 16
"""Plans rolled out side by side: matrices are read once for all, what they need stays in cache."""


@in_place
def shift(packed: Array, base: int, past: Array, ticks: Array) -> int:
    """Write the past (P d,) but for its oldest tick, then the newest one, standardised.

    The newest stands already at the end of ``ticks``, as received. Return what is unusual of it, as
    `tick` does; -1: a value that is infinite.
    """
    scaling, limits = double(packed, base, SCALING), double(packed, base, LIMITS)
    columns = scaling.shape[1]
    acted, older = columns - double(packed, base, ARX).shape[0], len(ticks) - columns
    for i in range(older):
        ticks[i] = past[columns + i]
    unusual = 0
    for i in range(columns):
        value = (ticks[older + i] - scaling[0, i]) / scaling[1, i]
        ticks[older + i] = value
        if i >= acted and np.isnan(value):
            unusual |= 4
        elif not np.isfinite(value):
            return -1
        elif not limits[0, i] <= value <= limits[1, i]:
            unusual |= 2 if i < acted else 1
    return unusual


@in_place
def begin_tick(packed: Array, base: int, belief: Array, ticks: Array) -> float:
    """Fill what is missing in the newest tick; return the mean squared innovation.

    What u read, and phi^o, are left in the predictor's rooms `READ` and `FEATURES`.
    """
    observed, states = double(packed, base, ARX).shape[0], len(belief)
    weights = double(packed, base, INNOVATION_WEIGHTS)
    narx, features = single(packed, base, NARX_VALUES)[0], single(packed, base, FEATURES)[0]
    stop = len(ticks) - observed
    evaluate(packed, base, NARX, ticks, stop, narx)
    read = read_off(packed, base, ticks, stop, belief)
    received = np.empty(observed)
    for o in range(observed):
        received[o] = ticks[stop + o]
    expect(packed, base, read, narx, ticks, stop)
    innovation, seen = 0.0, 0
    for o in range(observed):
        if not np.isnan(received[o]):
            error = received[o] - ticks[stop + o]
            innovation += error * error * weights[0, o]
            ticks[stop + o] = received[o]
            seen += 1
    size = len(features)
    known = observed + states * size + size * (size + 1) // 2
    if seen == 0 and len(read) > known:
        for i in range(size):
            features[i] = read[known + i]
    else:
        evaluate(packed, base, OBSERVATION, ticks, len(ticks), features)
    return innovation * observed / seen if seen else np.nan


@in_place
def usual_belief(packed: Array, base: int, belief: Array) -> bool:
    """Tell whether a belief's size is one of training."""
    square, bounds = 0.0, double(packed, base, BOUNDS)
    for i in range(len(belief)):
        square += belief[i] * belief[i]
    return bool(bounds[0, 2] <= square <= bounds[0, 3])


@compiled
def tick(packed: Array, belief: Array, past: Array, after: Array) -> tuple[float, int]:
    """Write a state after a tick; return its mean squared innovation, and what was unusual.

    ``after`` holds belief and past (p + P d,), and in place of the newest tick (action,
    observation) as received, NaN where missing. Unusual were, added up: 1 a limited observation, 2
    a limited action, 4 a missing observation; -1: values that are infinite, or the belief's size,
    and nothing written counts. The innovation is NaN if all was missing.
    """
    states = len(belief)
    following, ticks = after[:states], after[states:]
    unusual = shift(packed, FIRST, past, ticks)
    if unusual < 0:
        return 0.0, -1
    innovation = begin_tick(packed, FIRST, belief, ticks)
    read, features = single(packed, FIRST, READ)[0], single(packed, FIRST, FEATURES)[0]
    condition(packed, FIRST, read, features, following)
    return innovation, unusual if usual_belief(packed, FIRST, following) else -1


@part
def write_plan(packed: Array, base: int, past: Array, plan: Array, row: Array) -> None:
    """Write a past (P d,) and a plan (H, d_a), in its own units, as a row of ticks."""
    scaling, before = double(packed, base, SCALING), len(past)
    columns, (horizon, acted) = scaling.shape[1], plan.shape
    for i in range(before):
        row[i] = past[i]
    for h in range(horizon):
        for a in range(acted):
            row[before + h * columns + a] = (plan[h, a] - scaling[0, a]) / scaling[1, a]


@part
def write_forecast(packed: Array, base: int, row: Array, before: int, forecast: Array) -> None:
    """Write the forecast (H, d_o) in its own units from a row whose past has ``before`` values."""
    scaling, (horizon, observed) = double(packed, base, SCALING), forecast.shape
    columns = scaling.shape[1]
    acted = columns - observed
    for h in range(horizon):
        for o in range(observed):
            value = row[before + h * columns + acted + o]
            forecast[h, o] = value * scaling[1, acted + o] + scaling[0, acted + o]


@compiled
def roll_out(packed: Array, belief: Array, past: Array, plan: Array, forecast: Array) -> None:
    """Write the forecast (H, d_o) given a plan (H, d_a), all in their own units."""
    horizon, acted = plan.shape
    columns, before = acted + forecast.shape[1], len(past)
    row, believed = np.empty(before + horizon * columns), belief.copy()
    write_plan(packed, FIRST, past, plan, row)
    narx, features = single(packed, FIRST, NARX_VALUES)[0], single(packed, FIRST, FEATURES)[0]
    told, read = told_by_state(packed, FIRST), single(packed, FIRST, READ)[0]
    read[: len(narx)] = 0
    for h in range(horizon):
        start = before + h * columns
        if told and h:
            evaluate(packed, FIRST, OBSERVATION, row, start, features)
            condition(packed, FIRST, read, features, believed)
        evaluate(packed, FIRST, NARX, row, start + acted, narx)
        if told:
            read_off(packed, FIRST, row, start + acted, believed)
        expect(packed, FIRST, read, narx, row, start + acted)
    write_forecast(packed, FIRST, row, before, forecast)


@compiled
def roll_out_many(
    packed: Array, base: int, beliefs: Array, pasts: Array, plans: Array, forecasts: Array
) -> None:
    """Write forecasts (N, H, d_o) given plans (N, H, d_a), of the predictor at ``base``.

    One belief (1, p) and past (1, P d) are those of all plans; else each has its own.
    """
    count = min(TOGETHER, len(plans))
    size = single(packed, base, FEATURES).shape[1]
    width = single(packed, base, COMMANDED).shape[1]
    room = room_of_lanes(size)[1]
    rows = np.empty(
        (count, pasts.shape[1] + plans.shape[1] * double(packed, base, SCALING).shape[1])
    )
    read = np.empty((count, width), np.float32)
    given, work = np.zeros(room), np.empty(room)
    for start in range(0, len(plans), TOGETHER):
        group = slice(start, min(start + TOGETHER, len(plans)))
        own = group if len(beliefs) > 1 else slice(0, 1)
        many = group.stop - group.start
        roll_out_group(
            packed,
            base,
            beliefs[own],
            pasts[own],
            plans[group],
            forecasts[group],
            rows[:many],
            read[:many],
            given,
            work,
        )


@in_place
def roll_out_group(
    packed: Array,
    base: int,
    beliefs: Array,
    pasts: Array,
    plans: Array,
    forecasts: Array,
    rows: Array,
    read: Array,
    given: Array,
    work: Array,
) -> None:
    """Write the forecasts of some plans, features by products of matrices."""
    count, horizon, acted = plans.shape
    observed, before = forecasts.shape[2], pasts.shape[1]
    belief = np.empty((count, beliefs.shape[1]))
    for n in range(count):
        own = n if len(beliefs) > 1 else 0
        belief[n] = beliefs[own]
        write_plan(packed, base, pasts[own], plans[n], rows[n])
    narx = np.empty((count, observed), np.float32)
    features = np.empty((count, single(packed, base, FEATURES).shape[1]), np.float32)
    told = told_by_state(packed, base)
    read[:, :observed] = 0
    for h in range(horizon):
        start = before + h * (acted + observed)
        if told and h:
            evaluate_many(packed, base, OBSERVATION, rows, start, features)
            condition_many(packed, base, read, features, belief, given, work)
        evaluate_many(packed, base, NARX, rows, start + acted, narx)
        if told:
            read_off_many(packed, base, rows, start + acted, belief, read)
        for n in range(count):
            expect(packed, base, read[n], narx[n], rows[n], start + acted)
    for n in range(count):
        write_forecast(packed, base, rows[n], before, forecasts[n])


@in_place
def condition_many(
    packed: Array,
    base: int,
    read: Array,
    features: Array,
    beliefs: Array,
    given: Array,
    work: Array,
) -> None:
    """Write the next beliefs (N, p), from what u read (N, columns) and phi^o (N, r_o)."""
    count, size = features.shape
    width, solution = room_of_lanes(size)[0], np.empty(size)
    ridge = np.full(LANES, double(packed, base, BOUNDS)[0, 0])
    for start in range(0, count, LANES):
        stop = min(start + LANES, count)
        for n in range(start, stop):
            fill_lane(packed, base, read[n], features[n], n - start, given, size)
        solve_side_by_side(given, ridge, size, work)
        for n in range(start, stop):
            for i in range(size):
                solution[i] = work[i * width + LANES * size + n - start]
            believe(packed, base, read[n], solution, beliefs[n])
