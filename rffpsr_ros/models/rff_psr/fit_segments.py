"""Recordings as segments that predictors are rolled out on: to learn from, and to judge by."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.data.preparation import PreparedRecordings
from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.psr.initialisation import InitialPredictor
from rffpsr_ros.psr.predictor import FixedStructure
from rffpsr_ros.psr.refinement.rollout_refinement import validation_score
from rffpsr_ros.psr.refinement.segments import Segments, cut_segments


def training_segments(
    part: PreparedRecordings,
    structure: FixedStructure,
    options: RFFPSROptions,
    settings: FitSettings,
) -> Segments:
    """Return recordings as segments for rolling out; the structure is in single precision.

    Of few data they are so short that they fill a batch: fewer ticks one after the other. Not where
    a state forecasts alone, without an ARX term: it has to learn not to lose its way.
    """
    counted = settings.segment
    if options.arx_past:
        counted = min(counted, sum(len(run.actions) for run in part.filled) // options.batch)
    return _cut(part, structure, options, counted)


def _cut(
    part: PreparedRecordings, structure: FixedStructure, options: RFFPSROptions, counted: int
) -> Segments:
    horizon = options.rollout_horizon
    length = options.past + max(counted, 2 * horizon)
    return cut_segments(
        part.filled, part.seen, structure, length, options.past, horizon, np.float32
    )


def judged_segments(
    part: PreparedRecordings,
    structure: FixedStructure,
    options: RFFPSROptions,
    settings: FitSettings,
) -> Segments:
    """Return a limited number of segments, evenly spread, to judge parameters by."""
    segments = _cut(part, structure, options, settings.segment)
    count = len(segments.observations)
    if count <= settings.judged_segments:
        return segments
    return segments.pick(np.array(evenly_spread(range(count), settings.judged_segments)))


def held_out_score(predictor: InitialPredictor, judged: Segments, horizon: int) -> float:
    """Return the score of a predictor, rolled out so far on what was held out.

    In single precision: scores need no double, and its cosines cost ten times as much.
    """
    structure = predictor.structure.astype(np.float32)
    return validation_score(predictor.parameters.astype(np.float32), structure, judged, horizon)
