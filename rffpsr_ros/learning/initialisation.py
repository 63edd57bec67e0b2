"""The predictor before refinement: base, direct term and prediction weights by regression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rffpsr_ros.learning.arrays import Array, khatri_rao
from rffpsr_ros.learning.coordinates import change_state_basis, whitening
from rffpsr_ros.learning.features import (
    MEDIAN_POINTS,
    FeatureMap,
    draw_frequencies,
    median_distance,
    random_fourier_features,
)
from rffpsr_ros.learning.filtering import Conditioning, Dynamics, filter_run
from rffpsr_ros.learning.moments import Regression
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


class TickWindows(NamedTuple):
    """What precedes N ticks, zero before a run's start, and what was seen on them."""

    observations: Array  # (N, past, d_o)
    actions: Array  # (N, past + 1, d_a)
    target: Array  # (N, d_o)


class InitialPredictor(NamedTuple):
    """A predictor ready for refinement, and the coordinates to refine it in."""

    frame: Frame
    weights: Weights
    base_coordinates: Array  # T: base = T base'
    direct_coordinates: Array


def tick_windows(run: Run, past: int, chosen: Array) -> TickWindows:
    """Return the windows that precede the chosen ticks (N,) of a run."""
    columns, acted = run.observations.shape[1], run.actions.shape[1]
    observations = np.concatenate([np.zeros((past, columns)), run.observations])
    actions = np.concatenate([np.zeros((past, acted)), run.actions])
    before = chosen[:, None] + np.arange(past)
    through = chosen[:, None] + np.arange(past + 1)
    return TickWindows(observations[before], actions[through], run.observations[chosen])


def fit_base(
    runs: Sequence[Run], observed: Sequence[Array], past: int, ridge: float
) -> tuple[Array, Array]:
    """Return W_base and its whitened coordinates: one-step linear regression on the window.

    Only ticks whose observation and window were all seen take part.
    """
    frame = _linear_frame(past)
    size = past * (runs[0].observations.shape[1] + runs[0].actions.shape[1])
    regression = Regression.zeros(
        runs[0].observations.shape[1], size + runs[0].actions.shape[1] + 1
    )
    for run, seen in zip(runs, observed, strict=True):
        padded = np.concatenate([np.ones((past, seen.shape[1]), bool), seen])
        complete = np.lib.stride_tricks.sliding_window_view(padded, past + 1, axis=0).all((1, 2))
        windows = tick_windows(run, past, np.flatnonzero(complete))
        inputs = base_input(frame, windows.observations, windows.actions)
        regression.add(inputs, windows.target)
    return regression.solve(ridge).T, whitening(regression.input_input.mean, 1e-9)


def fill_missing(run: Run, base: Array, past: int) -> Run:
    """Return the run with missing observations replaced by the linear base's one-step forecast."""
    missing = np.isnan(run.observations)
    if not missing.any():
        return run
    frame = _linear_frame(past)
    filled = np.where(missing, 0.0, run.observations)
    for t in np.flatnonzero(missing.any(1)):
        windows = tick_windows(Run(filled, run.actions), past, np.array([t]))
        expected = (base_input(frame, windows.observations, windows.actions) @ base)[0]
        filled[t] = np.where(missing[t], expected, filled[t])
    return Run(filled, run.actions)


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
            windows = tick_windows(run, frame.past, np.arange(len(run.actions)))
            yield direct_input(frame, windows.observations, windows.actions)

    points = np.concatenate(list(inputs()))
    points = points[generator.permutation(len(points))[:MEDIAN_POINTS]]
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
        here = states[position : position + len(run.actions)]
        position += len(run.actions)
        windows = tick_windows(run, frame.past, np.arange(len(run.actions)))
        target = windows.target
        if len(base):
            target = target - base_input(frame, windows.observations, windows.actions) @ base
        direct, _ = direct_features(frame, windows.observations, windows.actions)
        inputs = np.hstack([khatri_rao(here, frame.action(run.actions)), direct @ whiten])
        complete = seen.all(1)
        regression.add(inputs[complete], target[complete])
    weights = regression.solve(ridge).T
    return weights[:joint], whiten @ weights[joint:], whiten


def _direct_whitening(runs: Sequence[Run], frame: Frame) -> Array:
    if frame.direct is None:
        return np.zeros((0, 0))
    total = np.zeros((frame.direct.size,) * 2)
    count = 0
    for run in runs:
        windows = tick_windows(run, frame.past, np.arange(len(run.actions)))
        features, _ = direct_features(frame, windows.observations, windows.actions)
        total += features.T @ features
        count += len(features)
    return whitening(total / count, 1e-4)


def _linear_frame(past: int) -> Frame:
    nothing = FeatureMap(np.zeros((0, 0)), np.zeros((0, 0)))
    return Frame(nothing, nothing, None, past, 0, Conditioning(0.0))
