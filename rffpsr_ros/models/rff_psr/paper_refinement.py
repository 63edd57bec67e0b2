"""Refinement of the window error and the one-shot head of the paper, around what was prepared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rffpsr_ros.data.preparation import Prepared, PreparedRecordings
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.filter_step import Dynamics
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.refinement.segments import Segments, cut_segments
from rffpsr_ros.psr.refinement.window_loss import fit_head, window_targets
from rffpsr_ros.psr.refinement.window_refinement import (
    WindowProblem,
    WindowRecordings,
    WindowRefinementOptions,
    WindowWeights,
    refine_window,
)
from rffpsr_ros.psr.system_map import contract, contraction
from rffpsr_ros.psr.two_stage import TwoStageResult


def refine_as_in_the_paper(
    prepared: Prepared,
    stages: TwoStageResult,
    structure: FixedStructure,
    options: RFFPSROptions,
    progress: Progress,
) -> tuple[Dynamics, dict[str, Any]]:
    """Return dynamics refined on the window error."""
    maps = contraction(stages.features, stages.system.state_projection)
    start = _dynamics_alone(contract(stages.features, stages.system), prepared)

    def recordings(part: PreparedRecordings) -> WindowRecordings:
        segments = _whole_runs(part.filled, part.seen, structure)
        return WindowRecordings(
            segments,
            window_targets(segments, structure, stages.features.future_action, options.future),
        )

    train, validation = recordings(prepared.train), recordings(prepared.validation)
    head = fit_head(start, structure, *train, options.ridge)
    refinement = WindowRefinementOptions(options.rounds, options.step)
    refined = refine_window(
        WindowWeights(stages.system.extended, stages.system.immediate, head),
        WindowProblem(start, maps, structure, train, validation, refinement),
        progress,
    )
    covariance, extended = maps.tensors(refined.point.extended, refined.point.immediate)
    return Dynamics(covariance, extended, start.initial), refined.notes()


def regressed_head(
    prepared: Prepared,
    stages: TwoStageResult,
    structure: FixedStructure,
    parameters: TrainableParameters,
    options: RFFPSROptions,
) -> Array:
    """Return the head regressed on the states that the parameters lead through."""
    segments = _whole_runs(prepared.train.filled, prepared.train.seen, structure)
    targets = window_targets(segments, structure, stages.features.future_action, options.future)
    return fit_head(parameters, structure, segments, targets, options.ridge)


def _whole_runs(runs: Sequence[Run], seen: Sequence[Array], structure: FixedStructure) -> Segments:
    """Return every run as one segment."""
    longest = max(len(run.actions) for run in runs)
    return cut_segments(runs, seen, structure, longest, 0)


def _dynamics_alone(dynamics: Dynamics, prepared: Prepared) -> TrainableParameters:
    """Return parameters of which only the dynamics matter."""
    columns = len(prepared.observation_scaling.mean)
    nothing = np.zeros((0, columns))
    return TrainableParameters(
        *dynamics, np.zeros((len(dynamics.covariance), columns)), nothing, nothing
    )
