"""Where refinement starts if the NARX term's features are learned, and not only drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rffpsr_ros.data.change_coordinates import changes_alone, usual_changes
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
from rffpsr_ros.psr.predictor import TrainableParameters
from rffpsr_ros.psr.refinement.feature_learning import LearnedFeatures, learn_features
from rffpsr_ros.psr.refinement.learned_units import learned_as
from rffpsr_ros.psr.refinement.learning_effort import FeatureLearningOptions, affordable
from rffpsr_ros.psr.refinement.loss_weights import loss_weights
from rffpsr_ros.psr.refinement.whole_turns import radians


def with_learned_features(
    prepared: Prepared,
    starts: Starts,
    options: RFFPSROptions,
    settings: FitSettings,
    generator: np.random.Generator,
    progress: Progress,
) -> Starts:
    """Return starts with learned features, or those given where learning them does not pay.

    In them the state has no weight yet. The weights of the loss in the refinement that follows are
    those of the ARX term as it was fitted alone: the learned one, which has the NARX term beside
    it, may not stand alone.
    """
    plain, alone = starts.best, starts.reference.parameters
    kind = "waves" if options.narx_units == "auto" else options.narx_units
    learning = settings.features.of(kind).within(options.iterations)
    if not (plain.structure.arx_past and plain.structure.narx_past and learning.steps):
        return starts
    found = _learned(prepared, plain, alone, options, settings, learning, generator, progress)
    if found is None:
        return starts
    best, learned = found
    told_by = best._replace(parameters=best.parameters._replace(arx=alone.arx))
    notes = starts.notes | learned.notes()
    made = Starts(best, best, told_by, learned.score, notes, learned=True)
    if options.narx_learning == "on" or _pays(made, starts, prepared, options, settings):
        return made
    return starts


def with_features_learned_on(
    prepared: Prepared,
    start: InitialPredictor,
    alone: TrainableParameters,
    options: RFFPSROptions,
    settings: FitSettings,
    generator: np.random.Generator,
    progress: Progress,
) -> InitialPredictor | None:
    """Return a model whose learned features have learned on; None where it has none.

    ``alone`` has the ARX term as it is fitted alone. The state has no weight, as at first.
    """
    narx = start.structure.narx
    known = None if narx is None else learned_as(narx)
    if known is None or not settings.features.steps:
        return None
    kind, units = known
    columns = len(prepared.observation_scaling.mean)
    free = changes_alone(units, start.structure.narx_past, columns)
    learning = replace(settings.features, kind=kind, changes_only=free)
    found = _learned(prepared, start, alone, options, settings, learning, generator, progress)
    return None if found is None else found[0]


def _pays(
    learned: Starts,
    drawn: Starts,
    prepared: Prepared,
    options: RFFPSROptions,
    settings: FitSettings,
) -> bool:
    """Tell whether learned features are clearly better, and no worse far beyond the horizon.

    There, nothing but a model itself keeps forecasts that are fed back from running away.
    """
    if not learned.score < settings.clearly * drawn.score:
        return False
    single = drawn.best.structure.astype(np.float32)
    judged = judged_segments(prepared.validation, single, options, settings)
    horizon = options.rollout_horizon
    far = min(settings.far * horizon, judged.target.shape[1] // 2)
    if far <= horizon:
        return True
    return held_out_score(learned.best, judged, far) <= held_out_score(drawn.best, judged, far)


def _learned(
    prepared: Prepared,
    start: InitialPredictor,
    alone: TrainableParameters,
    options: RFFPSROptions,
    settings: FitSettings,
    learning: FeatureLearningOptions,
    generator: np.random.Generator,
    progress: Progress,
) -> tuple[InitialPredictor, LearnedFeatures] | None:
    """Return the predictor with learned features, and how they were learned.

    None where columns are so many that a step would cost too much.
    """
    single = start.structure.astype(np.float32)
    train = training_segments(prepared.train, single, options, settings)
    validation = judged_segments(prepared.validation, single, options, settings)
    columns, acted = train.observations.shape[2], train.actions.shape[2]
    learning = replace(
        learning,
        horizon=min(options.rollout_horizon, options.future),
        turns=_turns(prepared, learning.changes_only),
    )
    past = start.structure.arx_past, start.structure.narx_past
    fitting = affordable(learning, *past, columns, acted)
    if fitting is None:
        return None
    structure = start.structure._replace(limits=standard_limits(prepared, options.margin))
    weights = loss_weights(single, alone.astype(np.float32), train, fitting.horizon)
    learned = learn_features(
        start.parameters,
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
    coordinates = {**start.coordinates, "narx": narx_whitening(prepared.train.filled, term)}
    return InitialPredictor(found, learned.parameters, coordinates), learned


def _turns(prepared: Prepared, changes_only: Sequence[int]) -> tuple[float, ...]:
    """Return the radians in a standard unit of each observation that winds up, else 0.

    Not of those whose size features do not see.
    """
    seen = [run.observations for run in prepared.train.filled]
    rows = np.concatenate(seen)
    span = rows.max(axis=0) - rows.min(axis=0)
    span[list(changes_only)] = 0.0
    return radians(span, prepared.observation_scaling.deviation)
