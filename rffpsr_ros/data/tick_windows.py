"""The ticks before a tick: windows for one-step regressions, and gaps filled by a linear one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.moments import Regression
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.windows import CHUNK
from rffpsr_ros.numerics.arrays import Array

WHITENING_FLOOR = 1e-9


class TickWindows(NamedTuple):
    """What precedes N ticks, the first tick's values before a run's start, and their targets."""

    observations: Array  # (N, past, d_o)
    actions: Array  # (N, past + 1, d_a)
    target: Array  # (N, d_o)


def tick_windows(run: Run, past: int, ticks: Array) -> TickWindows:
    """Return the windows that precede the chosen ticks (N,) of a run."""
    before = np.maximum(ticks[:, None] + np.arange(-past, 0), 0)
    through = np.maximum(ticks[:, None] + np.arange(-past, 1), 0)
    return TickWindows(run.observations[before], run.actions[through], run.observations[ticks])


def tick_chunks(ticks: Array) -> Iterator[Array]:
    """Yield ticks (N,) in chunks, so that their windows need not all be held."""
    for start in range(0, len(ticks), CHUNK):
        yield ticks[start : start + CHUNK]


def settled_ticks(seen: Array, past: int) -> Array:
    """Return the ticks of a run that were seen, and all ``past`` ticks before them.

    ``seen`` (T, d_o) says what was observed. What stands in for the past before a run's start
    would teach every tick's regression something false; only runs so short that hardly a whole
    window fits into them take part from their start.
    """
    complete = np.asarray(seen.all(axis=1))
    before = np.full(past, len(seen) < 2 * past)
    padded = np.concatenate([before, complete])
    whole = np.lib.stride_tricks.sliding_window_view(padded, past + 1).all(axis=1)
    return np.flatnonzero(whole)


def arx_input(past: int, observations: Array, actions: Array) -> Array:
    """Return [last n (o, a), a_t, 1] as rows (N, n (d_o + d_a) + d_a + 1), n = ``past``.

    Takes windows of ``past`` ticks or more: observations (N, m, d_o), and the actions with the
    tick's own (N, m + 1, d_a).
    """
    ones = np.ones((len(observations), 1), dtype=observations.dtype)
    return np.concatenate([*newest_ticks(past, observations, actions), ones], axis=1)


def newest_ticks(past: int, observations: Array, actions: Array) -> tuple[Array, Array]:
    """Return the last ``past`` observations, and actions with the tick's own, as rows each."""
    skip = observations.shape[1] - past
    return (
        observations[:, skip:].reshape(len(observations), -1),
        actions[:, skip:].reshape(len(actions), -1),
    )


def fit_arx(runs: Sequence[Run], observed: Sequence[Array], past: int, ridge: float) -> Array:
    """Return W_base: one-step linear regression on the window.

    Only ticks whose observation and window were all seen take part.
    """
    columns, acted = runs[0].observations.shape[1], runs[0].actions.shape[1]
    regression = Regression.zeros(columns, past * (columns + acted) + acted + 1)
    for run, seen in zip(runs, observed, strict=True):
        for ticks in tick_chunks(settled_ticks(seen, past)):
            windows = tick_windows(run, past, ticks)
            inputs = arx_input(past, windows.observations, windows.actions)
            regression.add(inputs, windows.target)
    return regression.solve(ridge).T


def fill_missing(run: Run, base: Array, past: int) -> Run:
    """Return the run with missing observations replaced by the ARX term's one-step forecast."""
    missing = np.isnan(run.observations)
    if not missing.any():
        return run
    filled = np.where(missing, 0.0, run.observations)
    for t in np.flatnonzero(missing.any(axis=1)):
        windows = tick_windows(Run(filled, run.actions), past, np.array([t]))
        expected = (arx_input(past, windows.observations, windows.actions) @ base)[0]
        filled[t] = np.where(missing[t], expected, filled[t])
    return Run(filled, run.actions)
