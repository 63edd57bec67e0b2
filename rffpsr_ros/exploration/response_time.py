"""How long an observation takes to respond to an action, and how long the response lasts.

For each observation o, an ARX regression on its own past and on the latest L actions,

    o_t = sum_i f_i o_(t-i) + sum_k b_k a_(t-k) + c.

The dead time is the first lag k at which b_k, or the sum of all b up to it, stands clear of its
own uncertainty and is no mere trifle beside the largest. The impulse response g that f and b make
lasts for a mean time m = sum_k (k - dead) |g_k| / sum_k |g_k|, which of a first-order lag is
r / (1 - r) with r its decay per tick: so the time constant is -period / ln r with r = m / (1 + m).
Uncertainties are those of the jackknife over ten blocks of the recordings, and of times that are
whole ticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

OWN = 4
"""Past values of the observation itself in the regression."""
LAGS = 30
"""Actions in the regression: the longest dead time that is found is a little less."""
RESPONSE = 2000
"""Ticks of the impulse response."""
BLOCKS = 10
CLEAR = 4.0
"""Standard errors that the first response must stand out by: of thirty lags none does by chance in
499 cases of 500."""
TRIFLE = 0.1
"""Share of the largest b that the first one must reach."""
FEWEST_TICKS = 400
MOST_COLUMNS = 32
"""Of more observations, as of images, none is looked at."""
SETTLED = 0.02
"""A response that is still as large a share of its peak at the end does not settle."""


class ResponseTime(NamedTuple):
    """How an observation responds to an action; times in seconds, with standard errors."""

    action: str
    observation: str
    dead_time: float
    dead_time_error: float
    time_constant: float
    """Infinite: the response stays, as a position's to a velocity does."""
    time_constant_error: float


def response_times(trajectories: Sequence[Trajectory]) -> tuple[ResponseTime, ...]:
    """Return what responds to what, and when; pairs without a clear response are left out."""
    first = trajectories[0]
    observed, acted = len(first.observation_names), len(first.action_names)
    if sum(map(len, trajectories)) < FEWEST_TICKS or observed > MOST_COLUMNS:
        return ()
    found = []
    for column, observation in enumerate(first.observation_names):
        blocks = _blocks(trajectories, column)
        if blocks is None:
            continue
        whole = _Regression.of(blocks)
        parts = [_Regression.of(np.delete(blocks, left, axis=0)) for left in range(BLOCKS)]
        for place, action in enumerate(first.action_names):
            times = _times(whole, parts, place, acted, first.period)
            if times is not None:
                found.append(ResponseTime(action, observation, *times))
    return tuple(found)


def _blocks(trajectories: Sequence[Trajectory], column: int) -> Array | None:
    """Return the sums of products (BLOCKS, n, n) of regressors and what they explain, last."""
    rows = np.concatenate([_rows(one, column) for one in trajectories])
    if len(rows) < 2 * rows.shape[1] + BLOCKS or np.ptp(rows[:, -1]) == 0:
        return None
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.stack([part.T @ part for part in np.array_split(rows, BLOCKS)])


def _rows(run: Trajectory, column: int) -> Array:
    """Return for every tick its own past, the latest actions, newest first, and the observation."""
    seen = run.observations[:, column]
    ticks = np.arange(max(LAGS - 1, OWN), len(run))
    own = seen[ticks[:, None] - np.arange(1, OWN + 1)]
    acted = run.actions[ticks[:, None] - np.arange(LAGS)].reshape(len(ticks), -1)
    rows = np.hstack([own, acted, seen[ticks, None]])
    return np.asarray(rows[np.isfinite(rows).all(axis=1)])


class _Regression(NamedTuple):
    own: Array
    acted: Array
    """(LAGS * d_a,)."""
    covariance: Array
    """Of these."""

    @classmethod
    def of(cls, blocks: Array) -> _Regression:
        sums = blocks.sum(axis=0)
        count = len(sums) - 1
        kernel = sums[:-1, :-1] + 1e-9 * np.trace(sums) / count * np.eye(count)
        inverse = np.linalg.inv(kernel)
        # By the inverse, rounding would leave nothing where there is no noise: all would be clear.
        found = np.linalg.solve(kernel, sums[:-1, -1])
        left = max(float(sums[-1, -1] - found @ sums[:-1, -1]), 0.0)
        rows = float(sums[-1, -1])  # of standard variance each
        covariance = inverse[OWN:, OWN:] * left / max(rows - count, 1.0)
        return cls(found[:OWN], found[OWN:], covariance)


def _times(
    whole: _Regression, parts: Sequence[_Regression], place: int, acted: int, period: float
) -> tuple[float, float, float, float] | None:
    """Return dead time and time constant (s), each with its error; None: no clear response."""
    own = slice(place, None, acted)
    dead = _dead(whole, own)
    if dead is None:
        return None
    found = [_dead(one, own) for one in parts]
    deads = np.array([dead if one is None else one for one in found])
    constants = np.array([_constant(one, own, dead) for one in parts])
    constant = _constant(whole, own, dead)
    dead_error = np.hypot(period * _jackknife(deads), period / np.sqrt(12))
    with np.errstate(invalid="ignore"):
        constant_error = period * _jackknife(constants) if np.isfinite(constants).all() else np.inf
    return dead * period, float(dead_error), constant * period, float(constant_error)


def _dead(one: _Regression, own: slice) -> int | None:
    """Return the first lag with a clear response, no trifle; None: there is none."""
    direct, covariance = one.acted[own], one.covariance[own, own]
    adding = np.tri(len(direct))
    together = adding @ direct
    clear = np.zeros(len(direct), dtype=bool)
    for values, spread in ((direct, covariance), (together, adding @ covariance @ adding.T)):
        error = np.sqrt(np.maximum(np.diag(spread), 1e-24))
        large = np.abs(values) >= TRIFLE * np.abs(values).max()
        clear |= large & (np.abs(values) > CLEAR * error)
    return int(clear.argmax()) if clear.any() else None


def _constant(one: _Regression, own: slice, dead: int) -> float:
    """Return the time constant in ticks; infinite where the response does not settle."""
    impulse = np.zeros(RESPONSE)
    direct = one.acted[own]
    for tick in range(RESPONSE):
        past = impulse[max(0, tick - OWN) : tick][::-1]
        given = direct[tick] if tick < len(direct) else 0.0
        impulse[tick] = given + one.own[: len(past)] @ past
        if not abs(impulse[tick]) < 1e6:
            return np.inf
    size = np.abs(impulse[dead:])
    if size[-RESPONSE // 8 :].max() > SETTLED * size.max():
        return np.inf
    mean = float((np.arange(len(size)) * size).sum() / size.sum())
    return -1.0 / np.log(mean / (1 + mean)) if mean > 0 else 0.0


def _jackknife(values: Array) -> float:
    """Return the standard error of a figure, by what it is without each block."""
    count = len(values)
    return float(np.sqrt((count - 1) / count * ((values - values.mean()) ** 2).sum()))
