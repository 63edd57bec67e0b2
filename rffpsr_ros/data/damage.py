"""Damaged recordings: what is impossible by the scale of the others, judged robustly.

One corrupted log among many - a decoder that lost its place, a sensor that died, degrees among
radians - makes a standard deviation that describes nothing, and every model that is learned with it
is ruined. A recording is judged by the range of all others, of which some may be damaged too.

What a robot was merely made to do for the first time is no damage. So columns that others never
moved judge nothing; where others show nothing but noise, only what is absurdly far is impossible;
and what is off in all of a recording is impossible only as long as its commands are usual ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.recording_look import Look, Stay, quantiles
from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.numerics.arrays import Array

JUDGES = 200
"""Recordings that others are judged by, at the most: more would tell the same."""


@dataclass(frozen=True)
class DamageThresholds:
    """From when on values are impossible, and what is done then.

    Attributes
    ----------
    far
        Values so many times the others' range beyond it are impossible: manoeuvres differ by five
        or ten, degrees and radians by 57.
    far_of_noise, noise
        The same where a column's roughness in the others (2 in white noise) is larger than
        ``noise``: perhaps they only stood still, and what moves is far from all that they show.
    comparable, fewest_others
        A recording is judged by others of at least so large a share of its length: far positions
        are reached in long ones only. There must be so many of these.
    odd_share
        Of the others, so large a share may be odd themselves, at either end of the range; and no
        larger share of all recordings (but one in any case) is thrown away.
    usual
        Commands that span so large a share of what they do in any of the others, and no more than
        its inverse, are usual ones.
    isolated
        At most so many impossible ticks in a row are missing samples; more of them are cut out.
    all_of_it
        Where a larger share of a recording lies outside the others' range, not a stretch of it is
        damaged: all of it has another unit, or another origin.
    edge, margin
        Cut out is from where values leave the others' range, widened by so large a share of it,
        and so many ticks more on both sides: what corrupts a log begins before it shows.
    shortest
        Ticks of a piece that is worth keeping.
    most_cut
        What loses a larger share of its ticks is left out as a whole.
    stay, longer_stay
        A value that does not change by a digit for so many ticks, and so many times longer than
        anything stays in the others, between their extremes and under moving commands, is stuck.
    """

    far: float = 20.0
    far_of_noise: float = 1000.0
    noise: float = 1.0
    comparable: float = 0.25
    fewest_others: int = 2
    odd_share: float = 0.25
    usual: float = 0.5
    isolated: int = 5
    all_of_it: float = 0.8
    edge: float = 0.1
    margin: int = 20
    shortest: int = 50
    most_cut: float = 0.5
    stay: int = 50
    longer_stay: float = 10.0


class Scale(NamedTuple):
    """The range (d,) of other recordings, and how far beyond it values are impossible."""

    low: Array
    high: Array
    reach: Array
    """How far beyond; infinite where nothing can be said."""
    least_span: Array
    """What a column spans in the quietest of the others."""
    least_spread: Array
    """What half of a column's values span there, which a damaged stretch does not change."""
    longest_stay: Array
    by_others: bool
    """False: the range of the bulk of all recordings, for want of others."""

    @property
    def span(self) -> Array:
        """Return high - low (d,)."""
        return self.high - self.low

    def impossible(self, rows: Array) -> Array:
        """Return which values of rows (..., d) are impossible; missing ones are not."""
        with np.errstate(over="ignore", invalid="ignore"):
            low, high = self.low - self.reach, self.high + self.reach
            return np.asarray((rows < low) | (rows > high))

    def outside(self, rows: Array, edge: float) -> Array:
        """Return which values of rows (..., d) are outside the range, widened by a share of it."""
        with np.errstate(over="ignore", invalid="ignore"):
            slack = edge * self.span
            return np.asarray((rows < self.low - slack) | (rows > self.high + slack))

    def times(self, look: Look) -> Array:
        """Return how many times the range the recording's columns (d,) are beyond it."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return np.asarray(np.fmax(self.low - look.low, look.high - self.high) / self.span)


def scales(looks: Sequence[Look], limits: DamageThresholds) -> list[Scale]:
    """Return for each recording the scale it is judged by: that of others, or that of all."""
    pooled = None
    found = []
    judges = evenly_spread(list(enumerate(looks)), JUDGES)
    for number, look in enumerate(looks):
        others = [
            other
            for place, other in judges
            if place != number and other.ticks >= limits.comparable * look.ticks
        ]
        if len(others) >= limits.fewest_others:
            found.append(_of_others(others, limits))
        else:
            pooled = pooled or _of_all(looks, limits)
            found.append(pooled)
    return found


def _of_others(others: Sequence[Look], limits: DamageThresholds) -> Scale:
    odd = int(limits.odd_share * len(others))
    lows, highs = np.stack([one.low for one in others]), np.stack([one.high for one in others])
    low, high = np.sort(lows, axis=0)[odd], -np.sort(-highs, axis=0)[odd]
    with np.errstate(over="ignore", invalid="ignore"):
        span = high - low
        spans = np.sort(highs - lows, axis=0)
    roughness = np.median([one.roughness for one in others], axis=0)
    # What never moves in the others has no roughness, and nothing can be said of it.
    factor = np.where(roughness <= limits.noise, limits.far, limits.far_of_noise)
    moves = span > 1e-9 * np.maximum(np.abs(low), np.abs(high))
    reach = np.where(moves & np.isfinite(span), factor * span, np.inf)
    stays = -np.sort(-np.stack([one.longest for one in others]), axis=0)[odd]
    halves = [other.middle() for other in others]
    spreads = np.sort([above - below for below, above in halves], axis=0)
    return Scale(low, high, reach, spans[odd], spreads[odd], stays, True)


def _of_all(looks: Sequence[Look], limits: DamageThresholds) -> Scale:
    """Return the range of nearly all values of all recordings, from which only spikes stand out."""
    rows = np.concatenate([look.sample for look in looks])
    low, high = quantiles(rows, 0.05), quantiles(rows, 0.95)
    with np.errstate(over="ignore", invalid="ignore"):
        span = high - low
    moves = span > 1e-9 * np.maximum(np.abs(low), np.abs(high))
    reach = np.where(moves & np.isfinite(span), limits.far_of_noise * span, np.inf)
    nothing = np.zeros(len(low))
    return Scale(low, high, reach, nothing, nothing, np.full(len(low), np.inf), False)


def in_question(look: Look, scale: Scale, observations: int, limits: DamageThresholds) -> bool:
    """Return whether there is anything in a recording that must be looked at tick by tick."""
    ends = np.stack([look.low, look.high])
    return bool(
        scale.impossible(ends).any()
        or still(look, scale, observations, limits).any()
        or stuck(look, scale, observations, limits)
    )


def newly_moved(look: Look, scale: Scale, observations: int) -> bool:
    """Return whether a recording moves an action that no other one does."""
    never = ~np.isfinite(scale.reach)
    moved = look.high - look.low > 1e-9 * np.maximum(np.abs(look.low), np.abs(look.high))
    return bool((never & moved)[observations:].any())


def moves_as_usual(look: Look, scale: Scale, observations: int, limits: DamageThresholds) -> bool:
    """Return whether the actions span about what they do in the others."""
    with np.errstate(over="ignore", invalid="ignore"):
        span = (look.high - look.low)[observations:]
        enough = span >= limits.usual * scale.least_span[observations:]
        most = span <= scale.span[observations:] / limits.usual
    return bool(np.all(enough & most)) and bool(np.any(span > 0))


def still(look: Look, scale: Scale, observations: int, limits: DamageThresholds) -> Array:
    """Return which observations hardly move, under usual commands, though they do in the others."""
    nothing = np.zeros(observations, bool)
    if not scale.by_others or look.ticks < limits.shortest:
        return nothing
    if not moves_as_usual(look, scale, observations, limits):
        return nothing
    with np.errstate(over="ignore", invalid="ignore"):
        span = (look.high - look.low)[:observations]
        return np.asarray(limits.far * span < scale.least_spread[:observations])


def stuck(look: Look, scale: Scale, observations: int, limits: DamageThresholds) -> list[Stay]:
    """Return where observations are stuck between the extremes of the others.

    At an extreme they are saturated, as any sensor may be.
    """
    if not scale.by_others:
        return []
    return [
        stay
        for stay in look.stays
        if stay.column < observations
        and len(stay) >= limits.longer_stay * scale.longest_stay[stay.column]
        and scale.low[stay.column] < stay.value < scale.high[stay.column]
    ]
