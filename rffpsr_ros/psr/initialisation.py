"""The predictor before refinement: weights of state, ARX and NARX term by one ridge regression.

For the state alone this is the paper's regression of W_pred on the filtered states of the training
recordings ("Model refinement by local optimization").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.data.arx_term import ArxTerm
from rffpsr_ros.data.moments import Regression, ridge_regression
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.tick_windows import settled_ticks, tick_chunks, tick_windows
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao
from rffpsr_ros.psr.coordinates import change_state_basis, whitening
from rffpsr_ros.psr.filter_step import Conditioning, Dynamics, filter_runs
from rffpsr_ros.psr.narx_term import NarxDraw, NarxTerm, draw_narx_features, narx_whitening
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters

STATE_CAP = 5.0
"""States are held within so many times the largest training state."""

STATE_FLOOR = 1e-6
"""State directions weaker than this, relative to the strongest, are not amplified further."""

ARX_FLOOR = 1e-9
"""The same of the ARX term's inputs, which are nearly collinear where signals are smooth."""


class Ridges(NamedTuple):
    """The ridge of each term's weights in one regression; None: the term has none."""

    arx: float
    state: float | None
    """In coordinates in which training states are white, of a model whose forecasts roll out."""
    narx: float | None
    """Of features as they are drawn: what is rough costs more than what is smooth, as it does in
    the Gaussian kernel's own norm (kernel ridge regression)."""


class InitialPredictor(NamedTuple):
    """A predictor ready for refinement, and the coordinates to refine it in."""

    structure: FixedStructure
    parameters: TrainableParameters
    coordinates: dict[str, Array]  # T of a term's weights, by their name: weights = T weights'


class Starts(NamedTuple):
    """Where refinement can start."""

    light: InitialPredictor
    best: InitialPredictor
    reference: InitialPredictor
    """Gives the weights of the loss: its ARX term was fitted alone, if there is one."""
    score: float  # of the best one
    notes: dict[str, Any]
    learned: bool = False
    """Whether features were learned."""


class PredictorRegression(NamedTuple):
    """Moments from which the weights of ARX term, state and NARX term follow for any ridges.

    Inputs are [ARX term's | u = q x phi^a | z], the target is the tick's observation.
    """

    structure: FixedStructure
    dynamics: Dynamics
    regression: Regression
    arx_size: int
    joint_size: int
    narx_coordinates: Array

    def predictor(self, ridges: Ridges) -> InitialPredictor:
        """Return the predictor: all terms by one regression, each with its own ridge.

        Fitted first and alone the ARX term would take from old ticks what is a nonlinear function
        of the newest ones, and leave over what a short window cannot explain.
        """
        cross = self.regression.target_input.mean
        inner = self.regression.input_input.mean
        sizes = self.arx_size, self.joint_size, len(inner) - self.arx_size - self.joint_size
        used = np.repeat([ridge is not None for ridge in ridges], sizes)
        each = np.repeat([ridge or 0.0 for ridge in ridges], sizes)[used]
        weights = np.zeros_like(cross)
        weights[:, used] = ridge_regression(cross[:, used], inner[np.ix_(used, used)], each)
        arx, prediction, narx = np.split(weights.T, np.cumsum(sizes)[:-1])
        parameters = TrainableParameters(*self.dynamics, prediction, arx, narx)
        coordinates = {"narx": self.narx_coordinates}
        if self.arx_size:
            ours = inner[: self.arx_size, : self.arx_size]
            coordinates["arx"] = whitening(ours, ARX_FLOOR, ridges.arx)
        return InitialPredictor(self.structure, parameters, coordinates)


def predictor_regression(
    runs: Sequence[Run],
    observed: Sequence[Array],
    structure: FixedStructure,
    dynamics: Dynamics,
    drawn: NarxDraw,
    whiten: bool,
    generator: np.random.Generator,
) -> PredictorRegression:
    """Draw the NARX term's features, if it has none, and add up the moments of all that predicts.

    ``runs`` have no missing values; ``observed`` (T, d_o) says what was seen. With ``whiten`` the
    state's basis is changed to one in which the training states are white.
    """
    if structure.narx_past and structure.narx is None:
        features = draw_narx_features(runs, structure.narx_past, drawn, generator)
        structure = structure._replace(narx=features)
    states = np.concatenate(
        filter_runs(
            dynamics,
            structure.conditioning,
            [structure.action(run.actions) for run in runs],
            [structure.observation(run.observations) for run in runs],
        )
    )
    if whiten:
        dynamics, states = change_state_basis(dynamics, states, STATE_FLOOR)
    longest = float(np.linalg.norm(states, axis=1).max())
    conditioning = Conditioning(structure.conditioning.regularisation, STATE_CAP * longest)
    structure = structure._replace(conditioning=conditioning)
    coordinates = np.zeros((0, 0))
    if structure.narx is not None:
        coordinates = narx_whitening(runs, NarxTerm(structure.narx, structure.narx_past))
    regression, sizes = _add_up(runs, observed, structure, states)
    return PredictorRegression(structure, dynamics, regression, *sizes, coordinates)


def _add_up(
    runs: Sequence[Run],
    observed: Sequence[Array],
    structure: FixedStructure,
    states: Array,
) -> tuple[Regression, tuple[int, int]]:
    """Return the moments over all settled ticks; how many inputs are the ARX term's, and u's."""
    columns, acted = runs[0].observations.shape[1], runs[0].actions.shape[1]
    arx_size = ArxTerm(structure.arx_past).size(columns, acted) if structure.arx_past else 0
    joint_size = states.shape[1] * structure.action.size
    narx_size = 0 if structure.narx is None else structure.narx.size
    regression = Regression.zeros(columns, arx_size + joint_size + narx_size)
    position = 0
    for run, seen in zip(runs, observed, strict=True):
        for ticks in tick_chunks(settled_ticks(seen, structure.arx_past)):
            windows = tick_windows(run, structure.past, ticks)
            features = {
                name: term.inputs(windows.observations, windows.actions)
                for name, term in structure.terms().items()
            }
            inputs = [khatri_rao(states[position + ticks], structure.action(run.actions[ticks]))]
            if "arx" in features:
                inputs.insert(0, features["arx"])
            if "narx" in features:
                inputs.append(features["narx"])
            regression.add(np.hstack(inputs), windows.target)
        position += len(run.actions)
    return regression, (arx_size, joint_size)
