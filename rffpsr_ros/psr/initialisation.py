"""The predictor before refinement: base, NARX term and prediction weights by regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.data.moments import Moment, Regression, ridge_regression
from rffpsr_ros.data.principal_directions import principal_directions
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.tick_windows import (
    WHITENING_FLOOR,
    arx_input,
    settled_ticks,
    tick_chunks,
    tick_windows,
)
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao
from rffpsr_ros.psr.coordinates import change_state_basis, whitening
from rffpsr_ros.psr.filter_step import Conditioning, Dynamics, filter_runs
from rffpsr_ros.psr.fourier_features import (
    MEDIAN_POINTS,
    FeatureMap,
    draw_frequencies,
    median_distance,
    random_fourier_features,
)
from rffpsr_ros.psr.predictor import (
    FixedStructure,
    TrainableParameters,
    narx_features,
    narx_input,
)

STATE_CAP = 5.0
"""States are held within so many times the largest training state."""


DIRECT_RANK = 2 / 3
"""Cap on the directions kept of the NARX term's features, relative to its frequencies."""

DIRECT_TOLERANCE = 1e-7
"""Weak directions of smooth features tell much where there is no noise; the ridge judges them."""

DIRECT_BANDWIDTH = 2.0
"""Bandwidth of the NARX term's features, as a multiple of the median distance."""

BASE_RIDGES = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""The less noise in a recording, the smaller the best one."""

LIGHT_RIDGE = 1e-3
"""Where refinement first starts: more would hold back what gradient steps can still correct."""

REMAINDER_RIDGES = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


class InitialPredictor(NamedTuple):
    """A predictor ready for refinement, and the coordinates to refine it in."""

    structure: FixedStructure
    parameters: TrainableParameters
    base_coordinates: Array  # T: base = T base'
    direct_coordinates: Array


class Starts(NamedTuple):
    """Where refinement can start."""

    light: InitialPredictor
    best: InitialPredictor
    score: float  # of the best one
    notes: dict[str, Any]


class PredictorRegression(NamedTuple):
    """Moments from which base, NARX term and prediction weights follow for any ridges.

    Inputs are [base window | u = q x phi^a | whitened z], the target is the tick's observation.
    """

    structure: FixedStructure
    dynamics: Dynamics
    regression: Regression
    base_size: int
    joint_size: int
    direct_coordinates: Array

    def predictor(self, base_ridge: float, remainder_ridge: float | None) -> InitialPredictor:
        """Return the predictor: base and the rest by one regression, each with its own ridge.

        Without a remainder's ridge the base stands alone. Fitted first and alone it would take
        from old ticks what is a nonlinear function of the newest ones, and leave over what a short
        window cannot explain.
        """
        cross = self.regression.target_input.mean
        inner = self.regression.input_input.mean
        ours, rest = slice(0, self.base_size), slice(self.base_size, None)
        if remainder_ridge is None:
            base = ridge_regression(cross[:, ours], inner[ours, ours], base_ridge)
            remainder = np.zeros_like(cross[:, rest])
        else:
            ridges = np.full(len(inner), remainder_ridge)
            ridges[ours] = base_ridge
            both = ridge_regression(cross, inner, ridges)
            base, remainder = both[:, ours], both[:, rest]
        prediction, direct = np.split(remainder.T, [self.joint_size])
        direct = self.direct_coordinates @ direct
        parameters = TrainableParameters(*self.dynamics, prediction, base.T, direct)
        coordinates = np.zeros((0, 0))
        if self.base_size:
            coordinates = whitening(inner[ours, ours], WHITENING_FLOOR, base_ridge)
        return InitialPredictor(self.structure, parameters, coordinates, self.direct_coordinates)


def predictor_regression(
    runs: Sequence[Run],
    observed: Sequence[Array],
    structure: FixedStructure,
    dynamics: Dynamics,
    direct_frequencies: int,
    whiten: bool,
    generator: np.random.Generator,
) -> PredictorRegression:
    """Draw the NARX term's features and add up the moments of everything that predicts.

    ``runs`` have no missing values; ``observed`` (T, d_o) says what was seen. With ``whiten`` the
    state's basis is changed to one in which the training states are white.
    """
    if structure.narx_past:
        structure = structure._replace(
            narx=_draw_direct(runs, structure, direct_frequencies, generator)
        )
    states = np.concatenate(
        filter_runs(
            dynamics,
            structure.conditioning,
            [structure.action(run.actions) for run in runs],
            [structure.observation(run.observations) for run in runs],
        )
    )
    if whiten:
        dynamics, states = change_state_basis(dynamics, states, 1e-6)
    longest = float(np.linalg.norm(states, axis=1).max())
    conditioning = Conditioning(structure.conditioning.regularisation, STATE_CAP * longest)
    structure = structure._replace(conditioning=conditioning)
    coordinates = _direct_whitening(runs, structure)
    regression, base_size = _add_up(runs, observed, structure, states, coordinates)
    joint_size = states.shape[1] * structure.action.size
    return PredictorRegression(structure, dynamics, regression, base_size, joint_size, coordinates)


def choose_ridges(
    regression: PredictorRegression, score: Callable[[InitialPredictor], float]
) -> Starts:
    """Return a lightly regularised predictor, the one with the least score, and what was chosen.

    First the base's ridge is chosen, with the base alone; then the remainder's, or none, so that
    the second predictor is never worse than the ARX term.
    """
    base_ridges = BASE_RIDGES if regression.base_size else BASE_RIDGES[:1]
    alone = {ridge: score(regression.predictor(ridge, None)) for ridge in base_ridges}
    base_ridge = min(alone, key=lambda ridge: alone[ridge])
    together = {ridge: score(regression.predictor(base_ridge, ridge)) for ridge in REMAINDER_RIDGES}
    remainder: float | None = min(together, key=lambda ridge: together[ridge or 0.0])
    if regression.base_size and not together[remainder or 0.0] < alone[base_ridge]:
        remainder = None
    notes = {
        "base_ridge": base_ridge if regression.base_size else None,
        "base_score": alone[base_ridge] if regression.base_size else None,
        "remainder_ridge": remainder,
        "remainder_scores": {str(ridge): value for ridge, value in together.items()},
    }
    light = LIGHT_RIDGE if remainder is None else min(LIGHT_RIDGE, remainder)
    lowest = alone[base_ridge] if remainder is None else together[remainder]
    return Starts(
        regression.predictor(base_ridge, light),
        regression.predictor(base_ridge, remainder),
        lowest,
        notes,
    )


def _draw_direct(
    runs: Sequence[Run], structure: FixedStructure, frequencies: int, generator: np.random.Generator
) -> FeatureMap:
    def inputs() -> Iterator[Array]:
        for run in runs:
            for ticks in tick_chunks(np.arange(len(run.actions))):
                windows = tick_windows(run, structure.past, ticks)
                yield narx_input(structure, windows.observations, windows.actions)

    points = _sample(inputs, sum(len(run.actions) for run in runs), generator)
    bandwidth = DIRECT_BANDWIDTH * median_distance(points, generator)
    drawn = draw_frequencies(points.shape[1], frequencies, bandwidth, generator)
    projection = principal_directions(
        lambda: (random_fourier_features(rows, drawn) for rows in inputs()),
        2 * frequencies,
        max(1, round(DIRECT_RANK * frequencies)),
        DIRECT_TOLERANCE,
        generator,
    )
    return FeatureMap(drawn, projection)


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


def _add_up(
    runs: Sequence[Run],
    observed: Sequence[Array],
    structure: FixedStructure,
    states: Array,
    direct_coordinates: Array,
) -> tuple[Regression, int]:
    """Return the moments over all settled ticks, and how many of the inputs are the base's."""
    columns, acted = runs[0].observations.shape[1], runs[0].actions.shape[1]
    base_size = structure.arx_past * (columns + acted) + acted + 1 if structure.arx_past else 0
    joint = states.shape[1] * structure.action.size
    regression = Regression.zeros(columns, base_size + joint + len(direct_coordinates))
    position = 0
    for run, seen in zip(runs, observed, strict=True):
        for ticks in tick_chunks(settled_ticks(seen, structure.arx_past)):
            windows = tick_windows(run, structure.past, ticks)
            direct, _ = narx_features(structure, windows.observations, windows.actions)
            inputs = [
                khatri_rao(states[position + ticks], structure.action(run.actions[ticks])),
                direct @ direct_coordinates,
            ]
            if structure.arx_past:
                inputs.insert(0, arx_input(structure.arx_past, *windows[:2]))
            regression.add(np.hstack(inputs), windows.target)
        position += len(run.actions)
    return regression, base_size


def _direct_whitening(runs: Sequence[Run], structure: FixedStructure) -> Array:
    if structure.narx is None:
        return np.zeros((0, 0))
    moment = Moment.zeros(structure.narx.size, structure.narx.size)
    for run in runs:
        for ticks in tick_chunks(np.arange(len(run.actions))):
            windows = tick_windows(run, structure.past, ticks)
            features, _ = narx_features(structure, windows.observations, windows.actions)
            moment.add(features, features)
    return whitening(moment.mean, 1e-4)
