"""Segments: recordings cut into stretches of one length, side by side, for refinement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.scaling import Run
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.predictor import FixedStructure


class Segments(NamedTuple):
    """S stretches of recordings of L ticks, with the ``past`` ticks before them.

    Observations and actions are standardised and finite; before a recording's start they are those
    of its first tick, after its end zero.
    """

    observations: Array  # (S, past + L, d_o)
    actions: Array  # (S, past + L, d_a)
    target: Array  # (S, L, d_o): which observations count
    observation_features: Array  # phi^o of the L ticks (S, L, r_o)
    action_features: Array  # phi^a of the L ticks (S, L, r_a)
    first: Array  # (S,): which segments start a recording

    def pick(self, chosen: Array) -> Segments:
        """Return some of the segments."""
        return Segments(*(part[chosen] for part in self))

    def astype(self, dtype: type[np.floating]) -> Segments:
        """Return the same segments in another precision."""
        cast = (part if part.dtype == bool else part.astype(dtype) for part in self)
        return Segments(*cast)


class Origins(NamedTuple):
    """Where rollouts start: B pairs of a segment and a tick within it."""

    segment: Array
    tick: Array

    def pick(self, chosen: Array) -> Origins:
        """Return some of the origins."""
        return Origins(self.segment[chosen], self.tick[chosen])


def cut_segments(
    runs: Sequence[Run],
    observed: Sequence[Array],
    structure: FixedStructure,
    length: int,
    burn_in: int,
    shortest: int = 0,
    dtype: type[np.floating] = np.float64,
) -> Segments:
    """Cut runs into segments of at most ``length`` ticks, padded to one length.

    A run's first segment starts at its start. Later ones start ``burn_in`` ticks early, from the
    initial state, and count only from there on, so that no tick counts twice and none before the
    state has settled. ``observed`` (T, d_o) says for each run what was seen; the rest carries
    stand-ins and does not count. Segments are padded to ``shortest`` ticks at the least.
    Everything is computed in the precision ``dtype``, which should be the structure's.
    """
    length = max(shortest, min(length, max(len(run.actions) for run in runs)))
    pieces = [
        (index, start)
        for index, run in enumerate(runs)
        for start in range(0, max(1, len(run.actions) - burn_in), length - burn_in)
    ]
    past, columns = structure.past, runs[0].observations.shape[1]
    observations = np.zeros((len(pieces), past + length, columns), dtype)
    actions = np.zeros((len(pieces), past + length, runs[0].actions.shape[1]), dtype)
    target = np.zeros((len(pieces), length, columns), bool)
    for row, (index, start) in enumerate(pieces):
        first, last = max(0, start - past), min(start + length, len(runs[index].actions))
        place = slice(past - (start - first), past - start + last)
        observations[row, place] = runs[index].observations[first:last]
        observations[row, : place.start] = runs[index].observations[0]
        actions[row, place] = runs[index].actions[first:last]
        actions[row, : place.start] = runs[index].actions[0]
        settled = start + burn_in if start else 0
        target[row, settled - start : last - start] = observed[index][settled:last]
    return Segments(
        observations,
        actions,
        target,
        structure.observation(observations[:, past:]),
        structure.action(actions[:, past:]),
        np.array([start == 0 for _, start in pieces]),
    )


def origins(segments: Segments, horizon: int, stride: int = 1, offset: int = 0) -> Origins:
    """Return every ``stride``-th origin, from ``offset`` on, with a target on its first tick."""
    ticks = segments.target.shape[1]
    seen = segments.target.any(2)
    allowed = np.zeros_like(seen)
    allowed[:, offset : max(ticks - horizon + 1, 1) : stride] = True
    return Origins(*np.nonzero(allowed & seen))


def settled_origins(segments: Segments, horizon: int, past: int, stride: int = 1) -> Origins:
    """Return every ``stride``-th origin that has ``past`` ticks of its recording before it.

    Forecasts from a recording's first ticks, before there is anything to forecast from, err a
    thousand times more than later ones; in a mean they would be all that counts. In short
    recordings the last three quarters count.
    """
    ticks = segments.target.shape[1]
    every = origins(segments, horizon, stride)
    settled = ~segments.first[every.segment] | (every.tick >= min(past, ticks // 4))
    return every.pick(settled) if settled.any() else every


def thin_early(
    chosen: Origins, segments: Segments, age: Array, generator: np.random.Generator
) -> Origins:
    """Keep origins among a recording's first ticks with the probability ``age`` (past,).

    If chance keeps none, all are.
    """
    if not len(age):
        return chosen
    early = segments.first[chosen.segment] & (chosen.tick < len(age))
    share = np.where(early, age[np.minimum(chosen.tick, len(age) - 1)], 1.0)
    kept = generator.random(len(share)) < share
    return chosen.pick(kept) if kept.any() else chosen
