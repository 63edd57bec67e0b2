"""Refinement as in the paper: gradient descent on the window error, with its schedule.

One step per trajectory in turn on W_xi, W_o and the k-step head; the step is halved when the
validation error does not improve, and refinement stops at a step of 1e-5 or at a relative change
of 1e-3 ("Tested Methods and Evaluation Procedure"). Rounds are judged in batches of five.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.refinement.segments import Segments
from rffpsr_ros.psr.refinement.window_loss import WindowTargets, window_loss
from rffpsr_ros.psr.system_map import Contraction

ROUNDS_PER_CHECK = 5
SMALLEST_STEP = 1e-5
INSIGNIFICANT = 1e-3


@dataclass(frozen=True)
class WindowRefinementOptions:
    """How to refine in the paper's form."""

    rounds: int = 100
    step: float = 0.01
    clip: float = 10.0
    ridge: float = 1e-3


class WindowWeights(NamedTuple):
    """What the paper's refinement moves."""

    extended: Array  # W_xi
    immediate: Array  # W_o
    head: Array


class WindowRefined(NamedTuple):
    """The best point, its validation error and the first one's, and the round it was found in."""

    point: WindowWeights
    error: float
    initial_error: float
    rounds: int

    def notes(self) -> dict[str, float]:
        """Return what is noted in a model file."""
        return {
            "error_before": self.initial_error,
            "error_after": self.error,
            "rounds": self.rounds,
        }


class WindowRecordings(NamedTuple):
    """Segments with their window targets, one segment per trajectory."""

    segments: Segments
    targets: WindowTargets

    def one(self, index: int) -> WindowRecordings:
        """Return a single trajectory."""
        chosen = np.array([index])
        return WindowRecordings(
            self.segments.pick(chosen), WindowTargets(*(part[:, chosen] for part in self.targets))
        )


class WindowProblem(NamedTuple):
    """What stays the same during refinement."""

    parameters: TrainableParameters
    contraction: Contraction
    structure: FixedStructure
    train: WindowRecordings
    validation: WindowRecordings
    options: WindowRefinementOptions

    def parameters_at(self, point: WindowWeights) -> TrainableParameters:
        """Return the parameters with the point's maps contracted into them."""
        covariance, extended = self.contraction.tensors(point.extended, point.immediate)
        return self.parameters._replace(covariance=covariance, extended=extended)

    def validation_error(self, point: WindowWeights) -> float:
        """Return the validation recordings' window error; infinite where the filter diverged."""
        with np.errstate(over="ignore", invalid="ignore"):
            parameters = self.parameters_at(point)
            loss, _, _ = window_loss(parameters, point.head, self.structure, *self.validation)
        return loss if np.isfinite(loss) else float("inf")

    def one_round(self, point: WindowWeights, step: float) -> WindowWeights:
        """Return the point after a gradient step on each training trajectory in turn."""
        for index in range(len(self.train.segments.observations)):
            recording = self.train.one(index)
            _, at_parameters, at_head = window_loss(
                self.parameters_at(point), point.head, self.structure, *recording
            )
            at_maps = self.contraction.adjoint(at_parameters.covariance, at_parameters.extended)
            point = _descend(point, WindowWeights(*at_maps, at_head), step, self.options, recording)
        return point


def refine_window(
    start: WindowWeights, problem: WindowProblem, progress: Progress | None = None
) -> WindowRefined:
    """Return the point with the least validation error along the paper's schedule."""
    options = problem.options
    initial = problem.validation_error(start)
    best = WindowRefined(start, initial, initial, 0)
    point, checked_point, last_check = start, start, float("inf")
    step, rounds = options.step, 0
    while rounds < options.rounds and step >= SMALLEST_STEP:
        lowest = float("inf")
        for _ in range(ROUNDS_PER_CHECK):
            point = problem.one_round(point, step)
            rounds += 1
            error = problem.validation_error(point)
            lowest = min(lowest, error)
            if error < best.error:
                best = WindowRefined(point, error, initial, rounds)
        if progress is not None:
            values = problem.validation.targets.observations.shape[-1]
            done = min(1.0, rounds / options.rounds)
            progress("refinement", done, float(np.sqrt(best.error / values)))
        if not lowest <= (1 + INSIGNIFICANT) * last_check:
            step, point = step / 2, checked_point
        elif lowest > (1 - INSIGNIFICANT) * last_check:
            break
        else:
            last_check, checked_point = lowest, best.point
    return best


def _descend(
    point: WindowWeights,
    gradient: WindowWeights,
    step: float,
    options: WindowRefinementOptions,
    recording: WindowRecordings,
) -> WindowWeights:
    """Return the point one clipped gradient step on, shrunk by the ridge as the authors do."""
    count = max(int(recording.targets.complete.sum()), 1)
    pulled = [g + options.ridge / count * p for g, p in zip(gradient, point, strict=True)]
    norm = float(np.sqrt(sum(float(np.sum(part * part)) for part in pulled)))
    if not np.isfinite(norm):
        return point
    scale = step * min(1.0, options.clip / max(norm, 1e-300))
    return WindowWeights(*(p - scale * g for p, g in zip(point, pulled, strict=True)))
