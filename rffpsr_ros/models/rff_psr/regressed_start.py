"""Where refinement starts: terms regressed around the learned dynamics, ridges chosen by score."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.data.preparation import Prepared
from rffpsr_ros.models.rff_psr.fit_segments import judged_segments
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.filter_step import Dynamics
from rffpsr_ros.psr.initialisation import InitialPredictor, Starts, predictor_regression
from rffpsr_ros.psr.narx_term import NarxDraw
from rffpsr_ros.psr.predictor import FixedStructure
from rffpsr_ros.psr.refinement.rollout_loss import filter_segments, unpacked
from rffpsr_ros.psr.refinement.rollout_refinement import validation_score
from rffpsr_ros.psr.refinement.segments import Segments
from rffpsr_ros.psr.ridge_choice import Score, choose_ridges


def regressed_starts(
    prepared: Prepared,
    structure: FixedStructure,
    dynamics: Dynamics,
    options: RFFPSROptions,
    settings: FitSettings,
    generator: np.random.Generator,
) -> Starts:
    """Fit ARX term, NARX term and prediction weights around the learned dynamics.

    Where the options leave open what the NARX term sees, it is what does best.
    """
    choice = structure.narx_past and len(prepared.validation.filled) > 0
    tried = {"off": [False], "on": [True], "auto": [False, True] if choice else [False]}
    draws = [
        NarxDraw(options.narx_features, one, options.narx_bandwidth)
        for one in tried[options.narx_affine]
    ]
    starts = [
        _start(prepared, structure, dynamics, one, options, settings, generator) for one in draws
    ]
    return min(starts, key=lambda start: start.score)


def _start(
    prepared: Prepared,
    structure: FixedStructure,
    dynamics: Dynamics,
    drawn: NarxDraw,
    options: RFFPSROptions,
    settings: FitSettings,
    generator: np.random.Generator,
) -> Starts:
    """Return starts whose NARX term has features that are drawn like this."""
    runs, seen = prepared.train.filled, prepared.train.seen
    whiten = options.refinement == "rollout"
    regression = predictor_regression(runs, seen, structure, dynamics, drawn, whiten, generator)
    # Scores need no double precision, and its cosines cost ten times as much.
    structure = regression.structure.astype(np.float32)
    further = prepared.validation.scaled(settings.beyond)
    within, beyond = (
        judged_segments(part, structure, options, settings)
        for part in (prepared.validation, further)
    )

    def score_on(judged: Segments) -> Score:
        states: list[Array] = []  # Predictors differ in what reads the filter's states alone.

        def score(predictor: InitialPredictor) -> float:
            single = predictor.parameters.astype(np.float32)
            if single.prediction.any() and not states:
                full = unpacked(single, structure)
                states.append(filter_segments(full, structure, judged, keep=False)[0])
            known = states[0] if states else None
            return validation_score(single, structure, judged, options.rollout_horizon, known)

        return score

    return choose_ridges(regression, settings.ridges, score_on(within), score_on(beyond))
