"""The NARX term: an observation as a linear function of features of a short window.

    o_t = W_narx z,   z = features of [last m o, last m a, a_t]

Random Fourier features of the newest ticks resolve what is nonlinear in them better than a state
does, which has to remember all of the past. Not the paper's, and off in `RFFPSR.paper()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.moments import Moment
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.tick_windows import TickWindows, newest_ticks, tick_chunks, tick_windows
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.coordinates import whitening
from rffpsr_ros.psr.feature_maps import Features
from rffpsr_ros.psr.fourier_features import (
    MEDIAN_POINTS,
    FeatureMap,
    draw_feature_map,
)

RANK = 2 / 3
"""Cap on the directions kept of the features, relative to their frequencies."""

TOLERANCE = 1e-7
"""Weak directions of smooth features matter where there is no noise; the ridge damps the others."""

WHITENING_FLOOR = 1e-4
"""Directions weaker than this, relative to the strongest, are not amplified further."""

TOLD_BY = 4000
"""Ticks that tell directions and second moments of features, about: evenly spread, of many."""

Box = tuple[Array, Array, Array, Array]
"""Low and high of observations, then of actions."""


class NarxDraw(NamedTuple):
    """What features are drawn for the term."""

    frequencies: int
    affine: bool = False
    """Whether they see observations only, so that the term does not vary with the actions."""
    bandwidth: float = 2.0
    """Of their kernel, as a multiple of the median distance between windows."""


class NarxTerm(NamedTuple):
    """Inputs and gradient of the NARX term; its weights (r_z, d_o) are kept elsewhere."""

    features: Features  # z
    past: int  # m
    limits: Box | None = None  # within which features see the window

    def inputs(self, observations: Array, actions: Array) -> Array:
        """Return z (N, r_z).

        Takes windows of m ticks or more: observations (N, n, d_o), and the actions with the
        tick's own (N, n + 1, d_a).
        """
        return self.features(narx_inputs(self.past, observations, actions, self.limits))

    def predict(self, weights: Array, observations: Array, actions: Array) -> tuple[Array, Array]:
        """Return the term (N, d_o), and what `gradients` needs: features before they are projected.

        Projected they are never, which would be most of the work.
        """
        window = narx_inputs(self.past, observations, actions, self.limits)
        return self.features.weighted(weights).with_pullback(window)

    def gradients(self, weights: Array, kept: Array, at_predicted: Array) -> tuple[Array, Array]:
        """Return the gradients at the weights and at the last m observations (N, m, d_o).

        Limits are for models in use; refinement, which needs the gradients, goes without.
        """
        columns = at_predicted.shape[1]
        at_window = self.features.weighted(weights).pullback(kept, at_predicted)
        of_observations = at_window[:, : self.past * columns].reshape(-1, self.past, columns)
        return self.features.weights_gradient(kept, at_predicted), of_observations


def narx_inputs(past: int, observations: Array, actions: Array, limits: Box | None = None) -> Array:
    """Return [last m o, last m a, a_t] as rows (N, m (d_o + d_a) + d_a), held within the limits."""
    if limits is not None:
        skip = observations.shape[1] - past  # what is not seen need not be held
        observations = np.clip(observations[:, skip:], *limits[:2])
        actions = np.clip(actions[:, skip:], *limits[2:])
    return np.concatenate(newest_ticks(past, observations, actions), axis=1)


def draw_narx_features(
    runs: Sequence[Run], past: int, wanted: NarxDraw, generator: np.random.Generator
) -> FeatureMap:
    """Draw the features of the windows of ``past`` ticks before every tick of the runs.

    Frequencies of an affine term are 0 where actions are: the fewer dimensions are left, the better
    as many features resolve a function of these.
    """
    columns, acted = runs[0].observations.shape[1], runs[0].actions.shape[1]
    whole = past * (columns + acted) + acted
    seen = past * columns if wanted.affine else whole

    def inputs(every: int) -> Iterator[Array]:
        for windows in _windows(runs, past, every):
            yield narx_inputs(past, windows.observations, windows.actions)[:, :seen]

    points = _sample(partial(inputs, 1), _ticks(runs), generator)
    count = wanted.frequencies
    rank = max(1, round(RANK * count))
    told_by = partial(inputs, _stride(runs))
    drawn = draw_feature_map(points, count, wanted.bandwidth, rank, TOLERANCE, generator, told_by)
    return drawn._replace(frequencies=np.pad(drawn.frequencies, ((0, 0), (0, whole - seen))))


def _sample(
    rows: Callable[[], Iterator[Array]], count: int, generator: np.random.Generator
) -> Array:
    """Return at most `MEDIAN_POINTS` of ``count`` rows, which are yielded in chunks."""
    chosen = np.sort(generator.permutation(count)[:MEDIAN_POINTS])
    picked, position = [], 0
    for chunk in rows():
        here = chosen[(chosen >= position) & (chosen < position + len(chunk))]
        picked.append(chunk[here - position])
        position += len(chunk)
    return np.concatenate(picked)


def narx_whitening(runs: Sequence[Run], term: NarxTerm) -> Array:
    """Return T (r_z, r_z) such that the features of the runs' ticks times T are nearly white."""
    moment = Moment.zeros(term.features.size, term.features.size)
    for windows in _windows(runs, term.past, _stride(runs)):
        features = term.inputs(windows.observations, windows.actions)
        moment.add(features, features)
    return whitening(moment.mean, WHITENING_FLOOR)


def _windows(runs: Sequence[Run], past: int, every: int) -> Iterator[TickWindows]:
    """Yield the windows before every n-th tick of each run, in chunks."""
    for run in runs:
        for ticks in tick_chunks(np.arange(0, len(run.actions), every)):
            yield tick_windows(run, past, ticks)


def _ticks(runs: Sequence[Run]) -> int:
    return sum(len(run.actions) for run in runs)


def _stride(runs: Sequence[Run]) -> int:
    return max(1, _ticks(runs) // TOLD_BY)
