"""The linear kinds: Kalman filter with inputs (N4SID's models too), and direct regressions."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.export.graph import (
    Node,
    all_of,
    at_most,
    constant,
    factor,
    join,
    less,
    matmul,
    maximum,
    minimum,
    negation,
    pick,
    product,
    reshape,
    solve,
    take,
    total,
    transpose,
    where,
)
from rffpsr_ros.export.kinds.gaps import mended, silent_after, unbroken
from rffpsr_ros.export.kinds.shared import Vector, put_row, restored, standardised
from rffpsr_ros.export.program import Ahead, Description, SeenTick
from rffpsr_ros.models.arx.model import LinearARXModel
from rffpsr_ros.models.kalman.linear_system import LinearSystem
from rffpsr_ros.models.kalman.model import KalmanModel

REGULAR = 1e-5
"""Least number on the diagonal of a regular Cholesky factor, relative to the largest."""

KNOWN = 1e-14
"""Covariances below this fraction of the innovations' count as nothing."""


def describe_kalman(model: KalmanModel) -> Description:
    """Return what a Kalman filter with inputs computes; the state is mean and covariance.

    Raises
    ------
    InputError
        If its innovations hardly vary, so that gaps need a pseudoinverse.
    """
    system, parts = model.parts.system, model.parts
    if not _regular(system):
        raise InputError(
            "innovations of this linear model are all but exact (its covariance R is singular), and"
            " gaps would need a pseudoinverse; train with 'ridge' larger, or on data with noise"
        )
    states = len(system.start)
    vector = Vector({"mean": states, "covariance": states * states})
    initial = np.concatenate([system.start, system.start_covariance.ravel()])

    def update(state: Node, tick: SeenTick) -> Node:
        mean = vector.part(state, "mean")
        covariance = reshape(vector.part(state, "covariance"), states, states)
        acted = standardised(parts.action_scaling, tick.action)
        seen = standardised(parts.observation_scaling, tick.observation)
        expected = product(system.output, mean) + product(system.feedthrough, acted)
        error = where(tick.missing, constant(np.zeros(seen.size)), seen - expected)
        moved = product(system.transition, mean) + product(system.action, acted)
        steady = constant(system.gain)
        absolute = maximum(covariance, covariance * -1.0)
        settled = at_most(total(less(constant(_nothing(system)), absolute)), 0.5)
        settled = settled * all_of(negation(tick.missing))
        gain = where(settled, steady, _gain(system, covariance, negation(tick.missing)))
        following = where(
            settled,
            constant(np.zeros((states, states))),
            _next_covariance(system, covariance, gain),
        )
        return vector.after(
            mean=moved + matmul(gain, error), covariance=reshape(following, states * states)
        )

    def step(carry: Node, action: Node) -> Ahead:
        acted = standardised(parts.action_scaling, action)
        expected = product(system.output, carry) + product(system.feedthrough, acted)
        following = product(system.transition, carry) + product(system.action, acted)
        return Ahead(following, restored(parts.observation_scaling, expected))

    return Description(initial, update, lambda state: vector.part(state, "mean"), step)


def _regular(system: LinearSystem) -> bool:
    try:
        diagonal = np.linalg.cholesky(system.innovation).diagonal()
    except np.linalg.LinAlgError:
        return False
    return bool(diagonal.min() > REGULAR * diagonal.max())


def _nothing(system: LinearSystem) -> float:
    """Return below what a covariance counts as nothing, as `SteadyStateFilter` does."""
    smallest = float(np.linalg.eigvalsh(system.innovation)[0])
    spread = max(float(np.sum(system.output**2)), np.finfo(float).tiny)
    return KNOWN * max(smallest, 0.0) / spread


def _gain(system: LinearSystem, covariance: Node, seen: Node) -> Node:
    """Return the gain (n, d_o) of the time-varying filter; see `kalman_step`."""
    columns, states = seen.size, len(system.start)
    by_column = take(seen, np.tile(np.arange(columns), (states, 1)), states, columns)
    innovation = constant(system.innovation)
    partly = constant(system.gain @ system.innovation) * by_column
    partly = _divided(partly, _among_seen(innovation, seen))
    known = where(all_of(seen), constant(system.gain), partly)
    rows = take(seen, np.repeat(np.arange(columns), states), columns, states)
    output = constant(system.output) * rows
    closed = constant(system.transition) - matmul(known, output)
    spread = matmul(matmul(closed, covariance), transpose(output))
    whole = matmul(matmul(output, covariance), transpose(output)) + innovation
    return known + _divided(spread, _among_seen(whole, seen))


def _among_seen(covariance: Node, seen: Node) -> Node:
    """Return a covariance with rows and columns of the unseen made those of I."""
    size = seen.size
    rows, columns = np.indices((size, size))
    both = take(seen, rows, size, size) * take(seen, columns, size, size)
    return where(both, covariance, constant(np.eye(size)))


def _divided(left: Node, covariance: Node) -> Node:
    """Return L S^-1 of a symmetric S."""
    return transpose(solve(factor(covariance), transpose(left)))


def _next_covariance(system: LinearSystem, covariance: Node, gain: Node) -> Node:
    closed = constant(system.transition) - matmul(gain, constant(system.output))
    noise = constant(system.gain) - gain
    following = matmul(matmul(closed, covariance), transpose(closed))
    return following + matmul(matmul(noise, constant(system.innovation)), transpose(noise))


def describe_arx(model: LinearARXModel) -> Description:
    """Return what direct regressions compute, horizon by horizon.

    A forecast carries the history before the block at hand, the ticks of it, and how far it is.
    """
    parts, past, future = model.parts, model.past, model.future
    lengths, _, columns, _, observed = parts.history_weights.shape
    acted = columns - observed
    most = float(past + future)
    vector = Vector({"history": past * columns, "ticks": 1, "silent": observed})
    carried = Vector(
        {
            "history": past * columns,
            "ticks": 1,
            "place": 1,
            "plan": future * acted,
            "forecast": future * observed,
        }
    )
    # One matrix for each regression and horizon: (L H, d_o, past d), (L H, d_o, H d_a).
    by_history = parts.history_weights.transpose(0, 3, 4, 1, 2).reshape(
        lengths * future, observed, -1
    )
    by_plan = parts.action_weights.transpose(0, 3, 4, 1, 2).reshape(lengths * future, observed, -1)
    intercept = parts.intercept.reshape(lengths * future, observed)

    def begin(state: Node) -> Node:
        return join([state[: past * columns + 1], constant(np.zeros(1 + future * columns))])

    def ahead(carry: Node, planned: Node) -> tuple[Node, Node]:
        """Return the carry after a tick and its forecast, both in standard units."""
        ticks, place = (carried.number(carry, name) for name in ("ticks", "place"))
        counted = [less(constant(float(n) - 0.5), ticks) for n in parts.lengths]
        chosen = constant(-1.0)
        for one in counted:
            chosen = chosen + one
        row = chosen * float(future) + place
        history = carried.part(carry, "history")
        plan = put_row(carried.part(carry, "plan"), planned, place)
        expected = matmul(pick(by_history, row), history) + matmul(pick(by_plan, row), plan)
        expected = expected + pick(intercept, row)
        forecast = put_row(carried.part(carry, "forecast"), expected, place)
        last = less(constant(future - 1.5), place)
        block = np.arange(past * columns + future * columns)
        ticks_of_block = np.concatenate(
            [
                past * columns + future * acted + np.arange(future * observed).reshape(future, -1),
                past * columns + np.arange(future * acted).reshape(future, -1),
            ],
            axis=1,
        )
        rows = np.concatenate([block[: past * columns].reshape(past, columns), ticks_of_block])
        joined = take(join([history, plan, forecast]), rows[-past:].ravel() if past else rows[:0])
        following = carried.after(
            history=where(last, joined, history) if past else history,
            ticks=reshape(where(last, minimum(ticks + float(future), most), ticks), 1),
            place=reshape(where(last, constant(0.0), place + 1.0), 1),
            plan=plan,
            forecast=forecast,
        )
        return following, expected

    def update(state: Node, tick: SeenTick) -> Node:
        acted_now = standardised(parts.action_scaling, tick.action)
        seen = standardised(parts.observation_scaling, tick.observation)
        history, silent = vector.part(state, "history"), vector.part(state, "silent")
        expected = where(unbroken(silent, tick), seen, ahead(begin(state), acted_now)[1])
        seen = where(tick.missing, expected, seen)
        newest = join([mended(history, seen - expected, silent, columns), seen, acted_now])
        ticks = minimum(vector.number(state, "ticks") + 1.0, most)
        return vector.after(
            history=newest[columns:], ticks=reshape(ticks, 1), silent=silent_after(silent, tick)
        )

    def step(carry: Node, action: Node) -> Ahead:
        following, expected = ahead(carry, standardised(parts.action_scaling, action))
        return Ahead(following, restored(parts.observation_scaling, expected))

    return Description(np.zeros(vector.size), update, begin, step)
