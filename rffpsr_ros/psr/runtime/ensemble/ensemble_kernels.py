"""All members of an ensemble in one call, as numba compiles it: an update, and forecasts.

The ensemble is one array: it begins with a head of integers, then come its own numbers, room to
work in, and the members' parts. A state is one array too, each member's numbers at their place.
Covariances of several members are conditioned on side by side, see `lanes`.
"""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.compiled_kernels import (
    believe,
    double,
    evaluate,
    expect,
    fill_lane,
    read_off,
    single,
    told_by_state,
)
from rffpsr_ros.psr.runtime.compiling import compiled, in_place, part
from rffpsr_ros.psr.runtime.ensemble.blend_kernels import blend
from rffpsr_ros.psr.runtime.ensemble.ensemble_views import (
    head_of,
    lanes_of,
    own_numbers,
    unbroken,
)
from rffpsr_ros.psr.runtime.lanes import LANES, room_of_lanes, solve_side_by_side
from rffpsr_ros.psr.runtime.linear_kernels import (
    forecast_linear,
    update_history,
    update_linear,
    update_window,
)
from rffpsr_ros.psr.runtime.packed_ensemble import (
    ACTED,
    BASE,
    COUNT,
    HISTORY,
    KIND,
    LARGEST,
    LINEAR,
    NIS_MEMORY,
    OUTPUTS,
    RFF_PSR,
    SILENT,
    SIZE,
    STATE,
    STATES,
    SYSTEM,
    TAIL,
    WINDOW,
)
from rffpsr_ros.psr.runtime.packed_parts import (
    BOUNDS,
    FEATURES,
    FIRST,
    NARX,
    NARX_VALUES,
    OBSERVATION,
    READ,
)
from rffpsr_ros.psr.runtime.system_kernels import forecast_system, update_system
from rffpsr_ros.psr.runtime.tick_kernels import (
    begin_tick,
    roll_out_many,
    shift,
    usual_belief,
    write_forecast,
    write_plan,
)


@compiled
def update_all(packed: Array, before: Array, newest: Array, after: Array) -> int:
    """Write the state after a tick (action, observation), NaN where nothing was seen.

    Return which members could not do it here, a bit each: something unusual happened to them. -1:
    there are infinite values, and nothing was done.
    """
    head = head_of(packed)
    acted = head[0, ACTED]
    for k in range(len(newest)):
        if np.isinf(newest[k]) or (k < acted and np.isnan(newest[k])):
            return -1
    left = 0
    for m in range(head[0, COUNT]):
        kind, base, start = head[m + 1, KIND], head[m + 1, BASE], head[m + 1, STATE]
        size = head[m + 1, SIZE]
        state, following = before[start : start + size], after[start : start + size]
        # Predictors are taken together, below, and looked at there.
        done = kind == RFF_PSR or unbroken(head[m + 1], before, newest[acted:], after)
        if not done:
            pass
        elif kind == HISTORY:
            update_history(packed, base, state, newest, acted, following)
        elif kind == LINEAR:
            done = update_linear(packed, base, state, newest, following)
        elif kind == WINDOW:
            update_window(packed, base, state, newest, acted, following)
        elif kind == SYSTEM:
            done = update_system(packed, base, state, newest, acted, following)
        if not done:
            left |= 1 << m
    return left | update_predictors(packed, head, before, newest, after)


@in_place
def update_predictors(
    packed: Array, head: Array, before: Array, newest: Array, after: Array
) -> int:
    """Do of `update_all` what concerns RFF-PSR, and return which members could not."""
    given, work = lanes_of(packed, head)
    members, ridge, used, left = np.empty(LANES, np.int64), np.ones(LANES), FIRST, FIRST
    for m in range(head[0, COUNT]):
        if head[m + 1, KIND] == RFF_PSR:
            if begin_member(packed, head[m + 1], before, newest, after):
                base = head[m + 1, BASE]
                fill(packed, base, used, given, ridge, head[0, LARGEST])
                members[used] = m
                used += 1
            else:
                left |= 1 << m
        if used == LANES or (used and m + 1 == head[0, COUNT]):
            solve_side_by_side(given, ridge, head[0, LARGEST], work)
            for lane in range(used):
                row = head[members[lane] + 1]
                if not end_member(packed, row, lane, work, head[0, LARGEST], before, after):
                    left |= 1 << members[lane]
            used = FIRST
    return left


@in_place
def begin_member(packed: Array, own: Array, before: Array, newest: Array, after: Array) -> bool:
    """Take a tick as far as before the conditioning; tell whether that could be done."""
    start, size = own[STATE], own[SIZE]
    state, following = before[start : start + size], after[start : start + size]
    if not unbroken(own, before, newest[len(newest) - own[SILENT] :], after):
        return False
    states, ticks = own[STATES], following[own[STATES] : size - TAIL]
    ticks[len(ticks) - len(newest) :] = newest
    unusual = shift(packed, own[BASE], state[states : size - TAIL], ticks)
    if unusual < 0:
        return False
    tail, old = following[size - TAIL :], state[size - TAIL :]
    innovation = begin_tick(packed, own[BASE], state[:states], ticks)
    tail[:] = old
    tail[0] = NIS_MEMORY * old[0] + (1 - NIS_MEMORY) * innovation
    tail[1] += 1
    tail[2] += 1
    tail[4] += unusual & 1
    tail[5] += unusual >> 1 & 1
    return bool(tail[0] <= double(packed, own[BASE], BOUNDS)[0, 4])


@part
def fill(packed: Array, base: int, lane: int, given: Array, ridge: Array, size: int) -> None:
    """Write what a predictor's belief is to be conditioned by into a lane."""
    read, features = single(packed, base, READ)[0], single(packed, base, FEATURES)[0]
    if len(features) < size:
        given[lane::LANES] = 0
    fill_lane(packed, base, read, features, lane, given, size)
    ridge[lane] = double(packed, base, BOUNDS)[0, 0]


@in_place
def believe_lane(
    packed: Array, base: int, lane: int, work: Array, size: int, belief: Array
) -> None:
    """Write the next belief from the solution in a lane."""
    read, own = single(packed, base, READ)[0], single(packed, base, FEATURES).shape[1]
    width, solution = room_of_lanes(size)[0], np.empty(own)
    for i in range(own):
        solution[i] = work[i * width + LANES * size + lane]
    believe(packed, base, read, solution, belief)


@in_place
def end_member(
    packed: Array, own: Array, lane: int, work: Array, size: int, before: Array, after: Array
) -> bool:
    """Write the belief after a tick; tell whether it is a usual one."""
    belief = after[own[STATE] : own[STATE] + own[STATES]]
    believe_lane(packed, own[BASE], lane, work, size, belief)
    return usual_belief(packed, own[BASE], belief)


@in_place
def forecast_others(
    packed: Array, head: Array, state: Array, plans: Array, chosen: Array, each: Array
) -> None:
    """Write the forecasts (C, N, H, d_o), given plans (N, H, d_a), of members but RFF-PSR."""
    for c in range(len(chosen)):
        if chosen[c] >= 0 and head[chosen[c] + 1, KIND] != RFF_PSR:
            own = head[chosen[c] + 1]
            numbers = state[own[STATE] : own[STATE] + own[SIZE]]
            if own[KIND] == SYSTEM:
                forecast_system(packed, own[BASE], numbers, plans, each[c])
            else:
                held = double(packed, own[BASE], OUTPUTS).shape[1]
                forecast_linear(packed, own[BASE], numbers[:held], plans, each[c])


@in_place
def roll_out_predictors(
    packed: Array, head: Array, state: Array, plan: Array, chosen: Array, each: Array
) -> None:
    """Write the forecasts for one plan of members that are RFF-PSR, all tick by tick together."""
    (horizon, acted), columns = plan.shape, plan.shape[1] + each.shape[3]
    longest, most = 0, 0
    for m in range(len(chosen)):
        if chosen[m] >= 0:
            longest = max(longest, head[chosen[m] + 1, SIZE])
            most = max(most, head[chosen[m] + 1, STATES])
    rows = np.empty((len(chosen), longest + horizon * columns))
    beliefs = np.empty((len(chosen), most))
    for c in range(len(chosen)):
        if chosen[c] >= 0 and head[chosen[c] + 1, KIND] == RFF_PSR:
            own = head[chosen[c] + 1]
            numbers = state[own[STATE] : own[STATE] + own[SIZE]]
            beliefs[c, : own[STATES]] = numbers[: own[STATES]]
            past = numbers[own[STATES] : own[SIZE] - TAIL]
            write_plan(packed, own[BASE], past, plan, rows[c])
    for h in range(horizon):
        tick_ahead(packed, head, chosen, h, acted, rows, beliefs, h + 1 < horizon)
    for c in range(len(chosen)):
        if chosen[c] >= 0 and head[chosen[c] + 1, KIND] == RFF_PSR:
            own = head[chosen[c] + 1]
            before = own[SIZE] - TAIL - own[STATES]
            write_forecast(packed, own[BASE], rows[c], before, each[c, 0])


@in_place
def tick_ahead(
    packed: Array,
    head: Array,
    chosen: Array,
    h: int,
    acted: int,
    rows: Array,
    beliefs: Array,
    go_on: bool,
) -> None:
    """Write what members expect of a tick into their rows, and their beliefs after it."""
    given, work = lanes_of(packed, head)
    members, ridge, used = np.empty(LANES, np.int64), np.ones(LANES), FIRST
    for c in range(len(chosen)):
        if chosen[c] >= 0 and head[chosen[c] + 1, KIND] == RFF_PSR:
            own = head[chosen[c] + 1]
            base, row = own[BASE], rows[c]
            narx = single(packed, base, NARX_VALUES)[0]
            columns = acted + len(narx)
            stop = own[SIZE] - TAIL - own[STATES] + h * columns + acted
            told, read = told_by_state(packed, base), single(packed, base, READ)[0]
            evaluate(packed, base, NARX, row, stop, narx)
            if told:
                read_off(packed, base, row, stop, beliefs[c])
            else:
                read[: len(narx)] = 0
            expect(packed, base, read, narx, row, stop)
            if told and go_on:
                features = single(packed, base, FEATURES)[0]
                evaluate(packed, base, OBSERVATION, row, stop + len(narx), features)
                fill(packed, base, used, given, ridge, head[0, LARGEST])
                members[used] = c
                used += 1
        if used == LANES or (used and c + 1 == len(chosen)):
            solve_side_by_side(given, ridge, head[0, LARGEST], work)
            for lane in range(used):
                c_of, base_of = members[lane], head[chosen[members[lane]] + 1, BASE]
                states = head[chosen[c_of] + 1, STATES]
                belief = beliefs[c_of, :states]
                believe_lane(packed, base_of, lane, work, head[0, LARGEST], belief)
            used = FIRST


@compiled
def forecast(
    packed: Array,
    state: Array,
    plans: Array,
    chosen: Array,
    weights: Array,
    distance: Array,
    each: Array,
    fallback: int,
    blended: Array,
) -> None:
    """Write the blended forecast (1, H, d_o) for a plan (1, H, d_a).

    ``chosen`` (C,) are the members that take part; forecasts of those chosen as -1 stand in
    ``each`` (C, 1, H, d_o) already.
    """
    head = head_of(packed)
    forecast_others(packed, head, state, plans, chosen, each)
    roll_out_predictors(packed, head, state, plans[0], chosen, each)
    blend(own_numbers(packed, head), weights, distance, each, fallback, blended)


@compiled
def forecast_many(
    packed: Array,
    state: Array,
    plans: Array,
    chosen: Array,
    weights: Array,
    distance: Array,
    each: Array,
    fallback: int,
    blended: Array,
) -> None:
    """Do what `forecast` does for plans (N, H, d_a), features by products of matrices."""
    head = head_of(packed)
    forecast_others(packed, head, state, plans, chosen, each)
    for c in range(len(chosen)):
        if chosen[c] >= 0 and head[chosen[c] + 1, KIND] == RFF_PSR:
            own = head[chosen[c] + 1]
            numbers = state[own[STATE] : own[STATE] + own[SIZE]]
            belief = numbers[: own[STATES]].reshape(1, -1)
            past = numbers[own[STATES] : own[SIZE] - TAIL].reshape(1, -1)
            roll_out_many(packed, own[BASE], belief, past, plans, each[c])
    blend(own_numbers(packed, head), weights, distance, each, fallback, blended)
