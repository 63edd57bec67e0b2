"""Stretches of recordings that are simulated side by side: multiple shooting.

A stretch begins with some ticks in which the state is corrected by what was seen; from then on it
is simulated, and compared. The correction finds the state that a stretch begins with, and so it is
learned with all the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.numerics.arrays import Array

SETTLING = 30
"""Ticks of correction in the middle of a recording."""

AT_START = 5
"""Ticks of correction where a recording begins: there the learned start helps."""


class Stretches(NamedTuple):
    """N stretches of T ticks, time first: steps go through them all at once."""

    observations: Array  # (T, N, d_o); NaN where nothing was seen
    actions: Array  # (T, N, d_a)
    corrected: Array  # (T, N): whether what was seen corrects the state
    counted: Array  # (T, N, d_o): what is compared


def cut_stretches(runs: Sequence[Run], length: int, most: int) -> Stretches:
    """Cut stretches of at most ``length`` ticks beyond those of correction, ``most`` at the most.

    Every recording that has more than `AT_START` ticks is cut from its beginning to its end, with
    as little overlap as that takes. Of many stretches some are taken, evenly spread.
    """
    whole = SETTLING + length
    places = [
        (run, int(start))
        for run in runs
        if len(run.actions) > AT_START
        for start in _starts(len(run.actions), whole)
    ]
    places = evenly_spread(places, most)
    ticks = max((min(whole, len(run.actions)) for run, _ in places), default=0)
    observed, acted = runs[0].observations.shape[1], runs[0].actions.shape[1]
    observations = np.full((ticks, len(places), observed), np.nan)
    actions = np.zeros((ticks, len(places), acted))
    corrected = np.zeros((ticks, len(places)), bool)
    for row, (run, start) in enumerate(places):
        seen = run.observations[start : start + whole]
        observations[: len(seen), row] = seen
        actions[: len(seen), row] = run.actions[start : start + whole]
        corrected[: SETTLING if start else AT_START, row] = True
    counted = np.isfinite(observations) & ~corrected[:, :, None]
    return Stretches(observations, actions, corrected, counted)


def _starts(ticks: int, length: int) -> Array:
    """Return where stretches of a run begin, the last one so that it ends with the run."""
    last = max(ticks - length, 0)
    count = -(-last // max(length - SETTLING, 1)) + 1
    return np.unique(np.linspace(0, last, count).astype(int))
