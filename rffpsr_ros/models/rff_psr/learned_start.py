"""Where refinement starts if the NARX term's features are learned, and not only drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rffpsr_ros.data.change_coordinates import usual_changes
from rffpsr_ros.data.preparation import Prepared
from rffpsr_ros.models.rff_psr.finalise import standard_limits
from rffpsr_ros.models.rff_psr.fit_segments import (
    held_out_score,
    judged_segments,
    training_segments,
)
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.initialisation import InitialPredictor, Starts
from rffpsr_ros.psr.narx_term import NarxTerm, narx_whitening
from rffpsr_ros.psr.refinement.feature_learning import learn_features
from rffpsr_ros.psr.refinement.learning_effort import FeatureLearningOptions, affordable
from rffpsr_ros.psr.refinement.loss_weights import loss_weights
from rffpsr_ros.psr.refinement.segments import Segments


def with_learned_features(
    prepared: Prepared,
    starts: Starts,
    options: RFFPSROptions,
    settings: FitSettings,
    generator: np.random.Generator,
    progress: Progress,
) -> Starts:
    """Return starts with learned features, or those given where learning them does not pay."""
    structure = starts.best.structure.astype(np.float32)
    kind = "waves" if options.narx_units == "auto" else options.narx_units
    learning = settings.features.of(kind).within(options.iterations)
    if not (structure.arx_past and structure.narx_past and learning.steps):
        return starts
    train = training_segments(prepared.train, structure, options, settings)
    validation = judged_segments(prepared.validation, structure, options, settings)
    learned = _learned_starts(
        prepared, starts, train, validation, options, learning, generator, progress
    )
    if learned is None:
        return starts
    if options.narx_learning == "on" or _pays(learned, starts, validation, options, settings):
        return learned
    return starts


def _pays(
    learned: Starts, drawn: Starts, judged: Segments, options: RFFPSROptions, settings: FitSettings
) -> bool:
    """Tell whether learned features are clearly better, and no worse far beyond the horizon.

    There, nothing but a model itself keeps forecasts that are fed back from running away.
    """
    if not learned.score < settings.clearly * drawn.score:
        return False
    horizon = options.rollout_horizon
    far = min(settings.far * horizon, judged.target.shape[1] // 2)
    if far <= horizon:
        return True
    return held_out_score(learned.best, judged, far) <= held_out_score(drawn.best, judged, far)


def _learned_starts(
    prepared: Prepared,
    starts: Starts,
    train: Segments,
    validation: Segments,
    options: RFFPSROptions,
    learning: FeatureLearningOptions,
    generator: np.random.Generator,
    progress: Progress,
) -> Starts | None:
    """Return starts with learned features, in which the state has no weight yet.

    None where columns are so many that a step would cost too much. The weights of the loss in the
    refinement that follows are those of the ARX term as it was fitted alone: the learned one, which
    has the NARX term beside it, may not stand alone.
    """
    plain, alone = starts.best, starts.reference.parameters
    columns, acted = train.observations.shape[2], train.actions.shape[2]
    learning = replace(learning, horizon=min(options.rollout_horizon, options.future))
    arx_past, narx_past = plain.structure.arx_past, plain.structure.narx_past
    fitting = affordable(learning, arx_past, narx_past, columns, acted)
    if fitting is None:
        return None
    structure = plain.structure._replace(limits=standard_limits(prepared, options.margin))
    single = plain.structure.astype(np.float32)
    weights = loss_weights(single, alone.astype(np.float32), train, fitting.horizon)
    learned = learn_features(
        plain.parameters,
        structure,
        usual_changes(prepared.train.filled),
        train,
        validation,
        weights.age,
        fitting,
        generator,
        progress,
    )
    found = learned.structure._replace(limits=None)
    assert found.narx is not None
    term = NarxTerm(found.narx, found.narx_past)
    coordinates = {**plain.coordinates, "narx": narx_whitening(prepared.train.filled, term)}
    best = InitialPredictor(found, learned.parameters, coordinates)
    told_by = best._replace(parameters=learned.parameters._replace(arx=alone.arx))
    notes = starts.notes | learned.notes()
    return Starts(best, best, told_by, learned.score, notes, learned=True)
