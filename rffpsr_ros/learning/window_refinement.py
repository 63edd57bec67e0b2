"""Refinement as in the paper: gradient descent on the window error, with its schedule.

One step per trajectory in turn on W_xi, W_o and the k-step head; the step is halved when the
validation error does not improve, and refinement stops at a step of 1e-5 or at a relative change
of 1e-3 ("Tested Methods and Evaluation Procedure"). Rounds are judged in batches of five.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rffpsr_ros.learning.arrays import Array
from rffpsr_ros.learning.predictor import Frame, Weights
from rffpsr_ros.learning.segments import Segments
from rffpsr_ros.learning.stage_two import Contraction
from rffpsr_ros.learning.window_loss import WindowTargets, window_loss

ROUNDS_PER_VERDICT = 5
SMALLEST_STEP = 1e-5
INSIGNIFICANT = 1e-3


@dataclass(frozen=True)
class WindowRefinementOptions:
    """How to refine in the paper's form."""

    rounds: int = 100
    step: float = 0.01
    clip: float = 10.0
    ridge: float = 1e-3


class Point(NamedTuple):
    """What the paper's refinement moves."""

    extended: Array  # W_xi
    immediate: Array  # W_o
    head: Array


class WindowRefined(NamedTuple):
    """Where refinement ended: the best point, validation errors, and rounds used."""

    point: Point
    error: float
    initial_error: float
    rounds: int

    def notes(self) -> dict[str, float]:
        """Return what a model file tells of it."""
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


def refine_window(
    start: Point,
    weights: Weights,
    contraction: Contraction,
    frame: Frame,
    train: WindowRecordings,
    validation: WindowRecordings,
    options: WindowRefinementOptions,
    progress: Callable[[str, float], None] | None = None,
) -> WindowRefined:
    """Return the point with the least validation error along the paper's schedule."""

    def weights_at(point: Point) -> Weights:
        covariance, extended = contraction.tensors(point.extended, point.immediate)
        return weights._replace(covariance=covariance, extended=extended)

    def error_at(point: Point) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            loss, _, _ = window_loss(weights_at(point), point.head, frame, *validation)
        return loss if np.isfinite(loss) else float("inf")

    def one_round(point: Point, step: float) -> Point:
        for index in range(len(train.segments.observations)):
            recording = train.one(index)
            _, at_weights, at_head = window_loss(weights_at(point), point.head, frame, *recording)
            at_maps = contraction.adjoint(at_weights.covariance, at_weights.extended)
            point = _descend(point, Point(*at_maps, at_head), step, options, recording)
        return point

    initial = error_at(start)
    best, best_error = start, initial
    point, verdict_point, last_verdict = start, start, float("inf")
    step, rounds = options.step, 0
    while rounds < options.rounds:
        lowest = float("inf")
        for _ in range(ROUNDS_PER_VERDICT):
            point = one_round(point, step)
            rounds += 1
            error = error_at(point)
            lowest = min(lowest, error)
            if error < best_error:
                best, best_error = point, error
            if progress is not None:
                progress("refinement", rounds / options.rounds)
        if not lowest <= (1 + INSIGNIFICANT) * last_verdict:
            step /= 2
            if step < SMALLEST_STEP:
                break
            point = verdict_point
        elif lowest > (1 - INSIGNIFICANT) * last_verdict:
            break
        else:
            last_verdict, verdict_point = lowest, best
    return WindowRefined(best, best_error, initial, rounds)


def _descend(
    point: Point,
    gradient: Point,
    step: float,
    options: WindowRefinementOptions,
    recording: WindowRecordings,
) -> Point:
    """Return the point one clipped gradient step on, shrunk by the ridge as the authors do."""
    count = max(int(recording.targets.complete.sum()), 1)
    pulled = [g + options.ridge / count * p for g, p in zip(gradient, point, strict=True)]
    norm = float(np.sqrt(sum(float(np.sum(part * part)) for part in pulled)))
    if not np.isfinite(norm):
        return point
    scale = step * min(1.0, options.clip / max(norm, 1e-300))
    return Point(*(p - scale * g for p, g in zip(point, pulled, strict=True)))
