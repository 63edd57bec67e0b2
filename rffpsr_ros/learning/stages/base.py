"""The linear base: one-step regression on a window of the past, and gaps filled by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.learning.features.fourier_features import FeatureMap
from rffpsr_ros.learning.filtering.filter_step import Conditioning
from rffpsr_ros.learning.filtering.predictor import Frame, Start, base_input
from rffpsr_ros.learning.windows.arrays import Array
from rffpsr_ros.learning.windows.moments import Regression
from rffpsr_ros.learning.windows.scaling import Run
from rffpsr_ros.learning.windows.windows import CHUNK

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


def fit_base(runs: Sequence[Run], observed: Sequence[Array], past: int, ridge: float) -> Array:
    """Return W_base: one-step linear regression on the window.

    Only ticks whose observation and window were all seen take part.
    """
    frame = _linear_frame(past)
    columns, acted = runs[0].observations.shape[1], runs[0].actions.shape[1]
    regression = Regression.zeros(columns, past * (columns + acted) + acted + 1)
    for run, seen in zip(runs, observed, strict=True):
        for ticks in tick_chunks(settled_ticks(seen, past)):
            windows = tick_windows(run, past, ticks)
            inputs = base_input(frame, windows.observations, windows.actions)
            regression.add(inputs, windows.target)
    return regression.solve(ridge).T


def fill_missing(run: Run, base: Array, past: int) -> Run:
    """Return the run with missing observations replaced by the linear base's one-step forecast."""
    missing = np.isnan(run.observations)
    if not missing.any():
        return run
    frame = _linear_frame(past)
    filled = np.where(missing, 0.0, run.observations)
    for t in np.flatnonzero(missing.any(axis=1)):
        windows = tick_windows(Run(filled, run.actions), past, np.array([t]))
        expected = (base_input(frame, windows.observations, windows.actions) @ base)[0]
        filled[t] = np.where(missing[t], expected, filled[t])
    return Run(filled, run.actions)


def _linear_frame(past: int) -> Frame:
    nothing = FeatureMap(np.zeros((0, 0)), np.zeros((0, 0)))
    nowhere = Start(np.zeros(0), np.zeros(0))
    return Frame(nothing, nothing, None, past, 0, Conditioning(0.0), nowhere)
