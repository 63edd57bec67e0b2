"""From prepared recordings to a fitted RFF-PSR, one step a function."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.data.preparation import Prepared
from rffpsr_ros.data.saturation import learned_bounds
from rffpsr_ros.models.rff_psr.finalise import finalise
from rffpsr_ros.models.rff_psr.fit_segments import (
    held_out_score,
    judged_segments,
    training_segments,
)
from rffpsr_ros.models.rff_psr.learned_start import with_learned_features
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.rff_psr.paper_refinement import refine_as_in_the_paper, regressed_head
from rffpsr_ros.models.rff_psr.parts import RFFPSRParts, WindowHead
from rffpsr_ros.models.rff_psr.regressed_start import regressed_starts
from rffpsr_ros.models.rff_psr.settings import FitSettings
from rffpsr_ros.models.rff_psr.two_stage_fit import TwoStageFit
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.filter_step import Conditioning, Dynamics
from rffpsr_ros.psr.initialisation import InitialPredictor, Starts
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.refinement.rollout_loss import rollout_errors
from rffpsr_ros.psr.refinement.rollout_refinement import (
    Refined,
    RefinementOptions,
    judged_origins,
    refine_rollout,
)
from rffpsr_ros.psr.system_map import contract

STATE_BLOW_UP = 1e3
"""Before the training states' size is known, they are held within so many times |Q_0|."""


class RefinedPredictor(NamedTuple):
    """A predictor after refinement, and notes on how it was trained."""

    structure: FixedStructure
    parameters: TrainableParameters
    head: WindowHead | None
    notes: dict[str, Any]
    withstood: float = 0.0
    """The largest score that was held against a rival's; see `Refined`."""


class Initialisation(NamedTuple):
    """Predictors by regression, from which refinement can start."""

    starts: Starts
    generator: np.random.Generator
    """As regression left it; whoever goes on takes a copy."""
    notes: dict[str, Any]


def unstarted_structure(
    structure: FixedStructure, dynamics: Dynamics, options: RFFPSROptions
) -> FixedStructure:
    """Return a structure for dynamics of the two stages, whose states' size is not known yet."""
    longest = STATE_BLOW_UP * float(np.linalg.norm(dynamics.initial))
    return structure._replace(conditioning=Conditioning(options.regularisation, longest))


def start_score(
    predictor: InitialPredictor, prepared: Prepared, options: RFFPSROptions, settings: FitSettings
) -> float:
    """Return the score of a predictor on what was held out."""
    structure = predictor.structure.astype(np.float32)
    judged = judged_segments(prepared.validation, structure, options, settings)
    return held_out_score(predictor, judged, options.rollout_horizon)


def initialise(
    two_stage_fit: TwoStageFit, options: RFFPSROptions, settings: FitSettings, progress: Progress
) -> Initialisation:
    """Return where refinement by rolling out starts; the paper's own is done here."""
    progress("refinement", 0.0)
    prepared, stages = two_stage_fit.prepared, two_stage_fit.stages
    dynamics = contract(stages.features, stages.system)
    structure = FixedStructure(
        stages.features.observation,
        stages.features.action,
        None,
        options.arx_past,
        options.narx_past if options.narx_features else 0,
        Conditioning(options.regularisation),
        prepared.train.start(),
    )
    structure = unstarted_structure(structure, dynamics, options)
    if options.forecast == "rollout":
        # What a sensor can show is the same in all recordings: those held out tell of it too.
        together = [*prepared.train.recorded, *prepared.validation.recorded]
        structure = structure._replace(
            bounds=learned_bounds([run.observations for run in together])
        )
    notes: dict[str, Any] = {}
    if options.refinement == "window":
        dynamics, notes = refine_as_in_the_paper(prepared, stages, structure, options, progress)
    generator = two_stage_fit.numbers(options.seed)
    starts = regressed_starts(prepared, structure, dynamics, options, settings, generator)
    wanted = options.narx_learning == "on" or (
        options.narx_learning == "auto" and two_stage_fit.holds_out
    )
    if wanted and options.refinement == "rollout":
        starts = with_learned_features(prepared, starts, options, settings, generator, progress)
    return Initialisation(starts, generator, notes | starts.notes)


def refine(
    two_stage_fit: TwoStageFit,
    initialisation: Initialisation,
    options: RFFPSROptions,
    settings: FitSettings,
    progress: Progress,
    workers: Workers = THIS_PROCESS,
) -> RefinedPredictor:
    """Return the predictor refined in the form that the options ask for.

    The ``workers`` share the minibatches of refinement by rolling out.
    """
    prepared, stages = two_stage_fit.prepared, two_stage_fit.stages
    start, notes = initialisation.starts.best, initialisation.notes
    structure, parameters, withstood = start.structure, start.parameters, 0.0
    if options.refinement == "rollout":
        generator = copy.deepcopy(initialisation.generator)
        refined = _refine_in_stages(
            prepared, initialisation.starts, options, settings, generator, progress, workers
        )
        parameters, notes = refined.parameters, refined.notes() | notes
        withstood = refined.withstood
    if options.forecast != "window":
        return RefinedPredictor(structure, parameters, None, notes, withstood)
    futures = stages.features.future_action
    # The head that gradient descent found is regressed anew on the final states, as the authors do.
    head = regressed_head(prepared, stages, structure, parameters, options)
    window_head = WindowHead(futures, head, options.future)
    return RefinedPredictor(structure, parameters, window_head, notes, withstood)


def as_started(initialisation: Initialisation) -> RefinedPredictor:
    """Return the predictor by regression as it is."""
    start = initialisation.starts.best
    notes = {"iterations": 0, **initialisation.notes}
    return RefinedPredictor(start.structure, start.parameters, None, notes)


def complete(
    two_stage_fit: TwoStageFit,
    refined: RefinedPredictor,
    options: RFFPSROptions,
    settings: FitSettings,
    progress: Progress,
) -> tuple[RFFPSRParts, dict[str, Any]]:
    """Return the fitted parts around the final parameters, monitor included, and metrics."""
    progress("monitor and metrics", 0.0)
    prepared, history = two_stage_fit.prepared, two_stage_fit.stages.features.history
    predictor = refined.structure, refined.parameters, refined.head
    parts = finalise(prepared, history, *predictor, options, settings)
    return parts, _metrics(prepared, refined, options, settings)


def _refine_in_stages(
    prepared: Prepared,
    starts: Starts,
    options: RFFPSROptions,
    settings: FitSettings,
    generator: np.random.Generator,
    progress: Progress,
    workers: Workers,
) -> Refined:
    """Refine by rolling out; a horizon longer than ``future`` after that one, and more gently.

    Rolled out far from where regression left it, a predictor mostly diverges, and the gradient
    says nothing.
    """
    gentle = options.refine_from == "regularised"
    first = [starts.best] if gentle else [starts.light, starts.best]
    structure = starts.reference.structure.astype(np.float32)
    horizon = options.rollout_horizon
    train = training_segments(prepared.train, structure, options, settings)
    validation = judged_segments(prepared.validation, structure, options, settings)
    stage = _first_stage(options, settings, train.target.shape[2])
    if starts.learned:
        stage = replace(stage, patience=settings.learned_patience)
    refined = refine_rollout(
        first, train, validation, stage, generator, progress, starts.reference, workers
    )
    if horizon <= options.future:
        return refined
    stage = replace(
        stage,
        horizon=horizon,
        learning_rate=settings.later_rate * stage.learning_rate,
        stride=max(stage.stride, horizon // 4),
    )
    later = [first[0]._replace(parameters=refined.parameters)]
    further = refine_rollout(
        later, train, validation, stage, generator, progress, starts.reference, workers
    )
    return further._replace(withstood=max(refined.withstood, further.withstood))


def _first_stage(options: RFFPSROptions, settings: FitSettings, columns: int) -> RefinementOptions:
    """Return how the horizons within ``future`` are refined, with so many observations."""
    usual = settings.refinement
    stage = replace(
        usual,
        horizon=min(options.rollout_horizon, options.future),
        iterations=options.iterations,
        learning_rate=options.learning_rate,
        batch=options.batch,
        minibatches=options.minibatches,
        stride=max(usual.stride, columns // settings.columns_per_stride),
    )
    if options.refine_from != "regularised":
        return stage
    return replace(
        stage,
        learning_rate=settings.gentle_rate * options.learning_rate,
        output_step=settings.gentle_output_step,
        tries=settings.gentle_tries,
    )


def _metrics(
    prepared: Prepared, refined: RefinedPredictor, options: RFFPSROptions, settings: FitSettings
) -> dict[str, Any]:
    """Return mean squared errors (H, d_o) of rolled-out forecasts, in the observations' units."""
    horizon = options.rollout_horizon
    metrics: dict[str, Any] = {"refinement": refined.notes}
    structure = refined.structure.astype(np.float32)
    parameters = refined.parameters.astype(np.float32)
    for name, part in (("training", prepared.train), ("validation", prepared.validation)):
        segments = judged_segments(part, structure, options, settings)
        starts = judged_origins(segments, horizon, structure.past)
        with np.errstate(over="ignore", invalid="ignore"):
            squared = rollout_errors(parameters, structure, segments, starts, horizon)
        errors = (
            np.nanmean(squared.astype(float), axis=0) * prepared.observation_scaling.deviation**2
        )
        metrics[f"{name}_mse"] = errors.sum(1).tolist()
        metrics[f"{name}_mse_by_observation"] = errors.tolist()
    return metrics
