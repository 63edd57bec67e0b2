"""The predictor before refinement: weights of state, ARX and NARX term by one ridge regression.

For the state alone this is the paper's regression of W_pred on the filtered states of the training
recordings ("Model refinement by local optimization").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class RidgeChoices:
    """Among which ridges those of the regression before refinement are chosen.

    Attributes
    ----------
    arx
        Of the ARX term: the less noise in a recording, the smaller the best one.
    remainder
        Of state and NARX term, of which the largest is tried first.
    patience
        After so many smaller ones without a better score none is.
    light
        Where refinement from lightly regularised weights starts: more would hold back what gradient
        steps can still correct.
    steady
        Where the robot goes further than it did, a predictor's score is at most so many times that
        of the ARX term alone: without noise the smallest ridges do best within the recordings, and
        beyond them forecasts may run away.
    """

    arx: tuple[float, ...] = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    remainder: tuple[float, ...] = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    patience: int = 3
    light: float = 1e-3
    steady: float = 5.0


class InitialPredictor(NamedTuple):
    """A predictor ready for refinement, and the coordinates to refine it in."""

    structure: FixedStructure
    parameters: TrainableParameters
    coordinates: dict[str, Array]  # T of a term's weights, by their name: weights = T weights'


class Starts(NamedTuple):
    """Where refinement can start."""

    light: InitialPredictor
    best: InitialPredictor
    score: float  # of the best one
    notes: dict[str, Any]
    reference: InitialPredictor | None = None
    """Gives the weights of the loss, if it is not where refinement starts first."""


class PredictorRegression(NamedTuple):
    """Moments from which the weights of ARX term, state and NARX term follow for any ridges.

    Inputs are [ARX term's | u = q x phi^a | whitened z], the target is the tick's observation.
    """

    structure: FixedStructure
    dynamics: Dynamics
    regression: Regression
    arx_size: int
    joint_size: int
    narx_coordinates: Array

    def predictor(self, arx_ridge: float, remainder_ridge: float | None) -> InitialPredictor:
        """Return the predictor: ARX term and the rest by one regression, each with its own ridge.

        Without a remainder's ridge the ARX term stands alone. Fitted first and alone it would take
        from old ticks what is a nonlinear function of the newest ones, and leave over what a short
        window cannot explain.
        """
        cross = self.regression.target_input.mean
        inner = self.regression.input_input.mean
        ours, rest = slice(0, self.arx_size), slice(self.arx_size, None)
        if remainder_ridge is None:
            arx = ridge_regression(cross[:, ours], inner[ours, ours], arx_ridge)
            remainder = np.zeros_like(cross[:, rest])
        else:
            ridges = np.full(len(inner), remainder_ridge)
            ridges[ours] = arx_ridge
            both = ridge_regression(cross, inner, ridges)
            arx, remainder = both[:, ours], both[:, rest]
        prediction, narx = np.split(remainder.T, [self.joint_size])
        narx = self.narx_coordinates @ narx
        parameters = TrainableParameters(*self.dynamics, prediction, arx.T, narx)
        coordinates = {"narx": self.narx_coordinates}
        if self.arx_size:
            coordinates["arx"] = whitening(inner[ours, ours], ARX_FLOOR, arx_ridge)
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
    regression, sizes = _add_up(runs, observed, structure, states, coordinates)
    return PredictorRegression(structure, dynamics, regression, *sizes, coordinates)


def choose_ridges(
    regression: PredictorRegression,
    choices: RidgeChoices,
    score: Callable[[InitialPredictor], float],
    score_beyond: Callable[[InitialPredictor], float],
) -> Starts:
    """Return a lightly regularised predictor, the one with the least score, and what was chosen.

    First the ARX term's ridge is chosen, with that term alone; then the remainder's, or none, so
    that the second predictor is never worse than the ARX term. ``score_beyond`` tells how it does
    further out than ``score`` does: what is not steady there is not chosen.
    """
    has_arx = regression.arx_size > 0
    arx_ridges = choices.arx if has_arx else choices.arx[:1]
    alone = {ridge: score(regression.predictor(ridge, None)) for ridge in arx_ridges}
    arx_ridge = min(alone, key=lambda ridge: alone[ridge])
    together = _until_it_gets_worse(
        choices.remainder,
        choices.patience,
        lambda ridge: score(regression.predictor(arx_ridge, ridge)),
    )
    better = sorted(together, key=lambda ridge: together[ridge])
    remainder = better[0] if better else None
    if has_arx:
        better = [ridge for ridge in better if together[ridge] < alone[arx_ridge]]
        most = choices.steady * score_beyond(regression.predictor(arx_ridge, None))
        remainder = next(
            (r for r in better if score_beyond(regression.predictor(arx_ridge, r)) <= most), None
        )
    notes = {
        "arx_ridge": arx_ridge if has_arx else None,
        "arx_score": alone[arx_ridge] if has_arx else None,
        "remainder_ridge": remainder,
        "remainder_scores": {str(ridge): value for ridge, value in together.items()},
    }
    light = choices.light if remainder is None else min(choices.light, remainder)
    lowest = alone[arx_ridge] if remainder is None else together[remainder]
    return Starts(
        regression.predictor(arx_ridge, light),
        regression.predictor(arx_ridge, remainder),
        lowest,
        notes,
    )


def _until_it_gets_worse(
    ridges: Sequence[float], patience: int, score: Callable[[float], float]
) -> dict[float, float]:
    """Return the scores of ever smaller ridges, until so many in a row have not been better."""
    scores: dict[float, float] = {}
    waited = 0
    for ridge in sorted(ridges, reverse=True):
        best = min(scores.values(), default=float("inf"))
        scores[ridge] = score(ridge)
        waited = 0 if scores[ridge] < best else waited + 1
        if waited == patience:
            break
    return scores


def _add_up(
    runs: Sequence[Run],
    observed: Sequence[Array],
    structure: FixedStructure,
    states: Array,
    narx_coordinates: Array,
) -> tuple[Regression, tuple[int, int]]:
    """Return the moments over all settled ticks; how many inputs are the ARX term's, and u's."""
    columns, acted = runs[0].observations.shape[1], runs[0].actions.shape[1]
    arx_size = ArxTerm(structure.arx_past).size(columns, acted) if structure.arx_past else 0
    joint_size = states.shape[1] * structure.action.size
    regression = Regression.zeros(columns, arx_size + joint_size + len(narx_coordinates))
    position = 0
    for run, seen in zip(runs, observed, strict=True):
        for ticks in tick_chunks(settled_ticks(seen, structure.arx_past)):
            windows = tick_windows(run, structure.past, ticks)
            features = {
                name: term.with_pullback(windows.observations, windows.actions)[0]
                for name, term in structure.terms().items()
            }
            inputs = [khatri_rao(states[position + ticks], structure.action(run.actions[ticks]))]
            if "arx" in features:
                inputs.insert(0, features["arx"])
            if "narx" in features:
                inputs.append(features["narx"] @ narx_coordinates)
            regression.add(np.hstack(inputs), windows.target)
        position += len(run.actions)
    return regression, (arx_size, joint_size)
