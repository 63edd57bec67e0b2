"""The predictor before refinement: base, direct term and prediction weights by regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rffpsr_ros.learning.arrays import Array, khatri_rao
from rffpsr_ros.learning.base import settled_ticks, tick_chunks, tick_windows
from rffpsr_ros.learning.coordinates import change_state_basis, whitening
from rffpsr_ros.learning.features import (
    MEDIAN_POINTS,
    FeatureMap,
    draw_frequencies,
    median_distance,
    random_fourier_features,
)
from rffpsr_ros.learning.filtering import Conditioning, Dynamics, filter_run
from rffpsr_ros.learning.moments import Moment, Regression
from rffpsr_ros.learning.predictor import (
    Frame,
    Weights,
    base_input,
    direct_features,
    direct_input,
)
from rffpsr_ros.learning.projection import principal_directions
from rffpsr_ros.learning.scaling import Run

STATE_CAP = 5.0
"""States are held within so many times the largest training state."""


@dataclass(frozen=True)
class PredictorOptions:
    """Which parts a predictor has, and their sizes; see `RFFPSR` for their meaning to a user."""

    base_past: int = 20
    direct_past: int = 4
    direct_features: int = 100
    direct_rank: int = 60
    base_ridge: float = 1e-8
    prediction_ridge: float = 1e-3
    direct_bandwidth: float = 1.0


class InitialPredictor(NamedTuple):
    """A predictor ready for refinement, and the coordinates to refine it in."""

    frame: Frame
    weights: Weights
    base_coordinates: Array  # T: base = T base'
    direct_coordinates: Array


def initial_predictor(
    runs: Sequence[Run],
    observed: Sequence[Array],
    frame: Frame,
    dynamics: Dynamics,
    base: Array,
    base_coordinates: Array,
    options: PredictorOptions,
    generator: np.random.Generator,
    whiten: bool = True,
) -> InitialPredictor:
    """Fit direct term and prediction weights to what the base leaves over.

    ``runs`` have no missing values; ``observed`` (T, d_o) says what was seen. With ``whiten`` the
    state's basis is changed to one in which the training states are white.
    """
    if options.direct_features and options.direct_past:
        frame = frame._replace(direct=_draw_direct(runs, frame, options, generator))
    states = np.concatenate(
        [
            filter_run(
                dynamics,
                frame.conditioning,
                frame.action(r.actions),
                frame.observation(r.observations),
            )
            for r in runs
        ]
    )
    if whiten:
        dynamics, states = change_state_basis(dynamics, states, 1e-6)
    longest = float(np.linalg.norm(states, axis=1).max())
    conditioning = Conditioning(frame.conditioning.regularisation, STATE_CAP * longest)
    frame = frame._replace(conditioning=conditioning)
    prediction, direct, coordinates = _fit_remainder(
        runs, observed, frame, states, base, options.prediction_ridge
    )
    weights = Weights(*dynamics, prediction, base, direct)
    return InitialPredictor(frame, weights, base_coordinates, coordinates)


def _draw_direct(
    runs: Sequence[Run], frame: Frame, options: PredictorOptions, generator: np.random.Generator
) -> FeatureMap:
    def inputs() -> Iterator[Array]:
        for run in runs:
            for ticks in tick_chunks(np.arange(len(run.actions))):
                windows = tick_windows(run, frame.past, ticks)
                yield direct_input(frame, windows.observations, windows.actions)

    points = _sample(inputs, sum(len(run.actions) for run in runs), generator)
    bandwidth = options.direct_bandwidth * median_distance(points, generator)
    frequencies = draw_frequencies(points.shape[1], options.direct_features, bandwidth, generator)
    projection = principal_directions(
        lambda: (random_fourier_features(rows, frequencies) for rows in inputs()),
        2 * options.direct_features,
        options.direct_rank,
        1e-4,
        generator,
    )
    return FeatureMap(frequencies, projection)


def _sample(
    rows: Callable[[], Iterator[Array]], count: int, generator: np.random.Generator
) -> Array:
    """Return at most `MEDIAN_POINTS` of ``count`` rows that come in chunks."""
    chosen = np.sort(generator.permutation(count)[:MEDIAN_POINTS])
    picked, position = [], 0
    for chunk in rows():
        here = chosen[(chosen >= position) & (chosen < position + len(chunk))]
        picked.append(chunk[here - position])
        position += len(chunk)
    return np.concatenate(picked)


def _fit_remainder(
    runs: Sequence[Run],
    observed: Sequence[Array],
    frame: Frame,
    states: Array,
    base: Array,
    ridge: float,
) -> tuple[Array, Array, Array]:
    """Return W_1, W_direct and the direct term's coordinates, by one ridge regression."""
    whiten = _direct_whitening(runs, frame)
    joint = states.shape[1] * frame.action.size
    regression = Regression.zeros(runs[0].observations.shape[1], joint + len(whiten))
    position = 0
    for run, seen in zip(runs, observed, strict=True):
        for ticks in tick_chunks(settled_ticks(seen, frame.base_past)):
            windows = tick_windows(run, frame.past, ticks)
            target = windows.target
            if len(base):
                target = target - base_input(frame, windows.observations, windows.actions) @ base
            direct, _ = direct_features(frame, windows.observations, windows.actions)
            joined = khatri_rao(states[position + ticks], frame.action(run.actions[ticks]))
            regression.add(np.hstack([joined, direct @ whiten]), target)
        position += len(run.actions)
    weights = regression.solve(ridge).T
    return weights[:joint], whiten @ weights[joint:], whiten


def _direct_whitening(runs: Sequence[Run], frame: Frame) -> Array:
    if frame.direct is None:
        return np.zeros((0, 0))
    moment = Moment.zeros(frame.direct.size, frame.direct.size)
    for run in runs:
        for ticks in tick_chunks(np.arange(len(run.actions))):
            windows = tick_windows(run, frame.past, ticks)
            features, _ = direct_features(frame, windows.observations, windows.actions)
            moment.add(features, features)
    return whitening(moment.mean, 1e-4)
