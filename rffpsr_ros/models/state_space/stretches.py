"""Stretches of recordings that are simulated side by side: multiple shooting.

A stretch begins with some ticks in which the state is corrected by what was seen; from then on it
is simulated, and compared. Or the state that a stretch begins with is free: then correction only
finds a first guess of it, in the ticks before.
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

    def only(self, chosen: Array) -> Stretches:
        """Return the stretches of these numbers."""
        return Stretches(*(part[:, chosen] for part in self))


class FreeStretches(NamedTuple):
    """N stretches whose first states are free, and the ticks before that tell about these."""

    before: Stretches
    """`SETTLING` ticks, or none where a recording begins; nothing is compared there."""
    simulated: Stretches
    """Nothing is corrected there."""
    first: Array  # (N,): whether the recording begins here

    def only(self, chosen: Array) -> FreeStretches:
        """Return the stretches of these numbers."""
        before, simulated = self.before.only(chosen), self.simulated.only(chosen)
        return FreeStretches(before, simulated, self.first[chosen])


class _Place(NamedTuple):
    """A stretch of a recording."""

    run: Run
    start: int
    stop: int


def cut_stretches(
    runs: Sequence[Run], length: int, most: int, at_start: int = AT_START
) -> Stretches:
    """Cut stretches of at most ``length`` ticks beyond those of correction, ``most`` at the most.

    Every recording that has more than `AT_START` ticks is cut from its beginning to its end, with
    as little overlap as that takes. Of many stretches some are taken, evenly spread. Where a
    recording begins, the first ``at_start`` ticks are those of correction.
    """
    places = _places(runs, length, most)
    ticks = max((place.stop - place.start for place in places), default=0)
    settling = [SETTLING if place.start else at_start for place in places]
    corrected = np.arange(ticks)[:, None] < np.array(settling, int)
    return _filled(runs, places, corrected)


def cut_free_stretches(runs: Sequence[Run], length: int, most: int) -> FreeStretches:
    """Cut stretches as `cut_stretches` does, of free first states."""
    whole = _places(runs, length, most)
    first = np.array([place.start == 0 for place in whole], bool)
    cuts = [place.start + SETTLING * (place.start > 0) for place in whole]
    before = [place._replace(stop=cut) for place, cut in zip(whole, cuts, strict=True)]
    after = [place._replace(start=cut) for place, cut in zip(whole, cuts, strict=True)]
    corrected = np.repeat(~first[None], SETTLING, axis=0)
    settling = _filled(runs, before, corrected)
    ticks = max((place.stop - place.start for place in after), default=0)
    simulated = _filled(runs, after, np.zeros((ticks, len(after)), bool))
    return FreeStretches(settling, simulated, first)


def _places(runs: Sequence[Run], length: int, most: int) -> list[_Place]:
    whole = SETTLING + length
    every = [
        _Place(run, int(start), min(int(start) + whole, len(run.actions)))
        for run in runs
        if len(run.actions) > AT_START
        for start in _starts(len(run.actions), whole)
    ]
    return evenly_spread(every, most)


def _filled(runs: Sequence[Run], places: Sequence[_Place], corrected: Array) -> Stretches:
    """Return the stretches at places, of which the first ticks may be corrected (T, N)."""
    ticks, observed, acted = len(corrected), runs[0].observations.shape[1], runs[0].actions.shape[1]
    observations = np.full((ticks, len(places), observed), np.nan)
    actions = np.zeros((ticks, len(places), acted))
    for row, (run, start, stop) in enumerate(places):
        observations[: stop - start, row] = run.observations[start:stop]
        actions[: stop - start, row] = run.actions[start:stop]
    counted = np.isfinite(observations) & ~corrected[:, :, None]
    return Stretches(observations, actions, corrected, counted)


def _starts(ticks: int, length: int) -> Array:
    """Return where stretches of a run begin, the last one so that it ends with the run."""
    last = max(ticks - length, 0)
    count = -(-last // max(length - SETTLING, 1)) + 1
    return np.unique(np.linspace(0, last, count).astype(int))
