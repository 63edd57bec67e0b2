"""Refinement of the rolled-out prediction error: the default form.

Adam on whitened coordinates over minibatches of segments, a cosine schedule, and the parameters
that did best on the validation recordings. Where no step improves, the step is halved and
refinement starts over; values that are not finite end a try. Workers share a step's minibatches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.scores import group_errors, robust_score
from rffpsr_ros.parallel.workers import THIS_PROCESS, Broadcast, Workers, merged
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.initialisation import InitialPredictor
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.refinement.loss_weights import loss_weights
from rffpsr_ros.psr.refinement.minibatches import (
    GradientData,
    MinibatchSampling,
    draw_minibatches,
    minibatch_gradient,
)
from rffpsr_ros.psr.refinement.optimiser import Adam, cosine_rate
from rffpsr_ros.psr.refinement.rollout_loss import rollout_errors
from rffpsr_ros.psr.refinement.segments import Origins, Segments, settled_origins
from rffpsr_ros.psr.refinement.step_coordinates import Coordinates, step_scales

JUDGED_STEPS = 10_000
"""Predictions in a validation score, about; of many columns, fewer."""

FEW_COLUMNS = 40
"""With more columns than these fewer predictions are enough."""


@dataclass(frozen=True)
class RefinementOptions:
    """How to refine; see `RFFPSROptions` for what users choose.

    Attributes
    ----------
    horizon, iterations, learning_rate, batch, minibatches
        As the options of these names say.
    stride
        Of a segment's origins each n-th is taken in a step.
    check_every
        Iterations from one validation score to the next.
    tries
        One that finds nothing better is followed by a more careful one, up to so many.
    output_step
        Steps of what predicts are so many one-step errors, times the learning rate.
    rival
        The validation score of another model; to stay far behind it is of no use.
    averaging
        Weight of the past in the running mean of iterates, which is what is judged.
    patience
        A try ends that has not improved for this fraction of the iterations.
    hopeless
        So does one whose score is then still so many times the rival's.
    rises
        And one that has become worse at so many scores in a row: it fits the noise.
    """

    horizon: int = 10
    iterations: int = 300
    learning_rate: float = 1e-2
    batch: int = 8
    minibatches: int = 1
    stride: int = 4
    check_every: int = 20
    tries: int = 3
    output_step: float = 2.0
    rival: float = float("inf")
    averaging: float = 0.9
    patience: float = 0.2
    hopeless: float = 1.7
    rises: int = 2


class Refined(NamedTuple):
    """Refined parameters, their validation score, and how they were reached."""

    parameters: TrainableParameters
    score: float
    initial_score: float
    iterations: int
    rate: float
    withstood: float = 0.0
    """The largest score that was held against the rival's: with one so many times better (the
    option ``hopeless``) refinement would have been given up there."""

    def notes(self) -> dict[str, float]:
        """Return what is noted in a model file."""
        return {
            "score_before": self.initial_score,
            "score_after": self.score,
            "iterations": self.iterations,
            "learning_rate": self.rate,
        }


def judged_origins(segments: Segments, horizon: int, past: int) -> Origins:
    """Return the settled origins of the validation score: of very many, only every n-th."""
    columns = segments.target.shape[2]
    count = max(1, JUDGED_STEPS // (horizon * max(1, columns // FEW_COLUMNS)))
    stride = max(1, int(segments.target.any(axis=2).sum()) // count)
    return settled_origins(segments, horizon, past, stride)


def validation_score(
    parameters: TrainableParameters,
    structure: FixedStructure,
    segments: Segments,
    horizon: int,
    states: Array | None = None,
) -> float:
    """Return the robust score of the rolled-out errors on validation segments.

    The filter's states there (L, S, p) are computed, if they are not given.
    """
    starts = judged_origins(segments, horizon, structure.past)
    with np.errstate(over="ignore", invalid="ignore"):
        squared = rollout_errors(parameters, structure, segments, starts, horizon, states)
        return robust_score(group_errors(squared.astype(float), starts.segment))


def refine_rollout(
    starts: Sequence[InitialPredictor],
    train: Segments,
    validation: Segments,
    options: RefinementOptions,
    generator: np.random.Generator,
    progress: Progress | None = None,
    reference: InitialPredictor | None = None,
    workers: Workers = THIS_PROCESS,
) -> Refined:
    """Return the parameters refined on ``train`` that did best on ``validation``.

    The first try begins at the first start with the full learning rate. Where it finds nothing
    better than the best start, the next one begins at the next start with half the rate. Steps
    are scaled alike in every try. Coordinates, and what counts how much, are those of
    ``reference``, by default the first start. A step's minibatches are shared by the ``workers``;
    the training segments travel to them once. A single minibatch stays in this process.
    """
    reference = reference or starts[0]
    structure = reference.structure.astype(np.float32)
    train, validation = train.astype(np.float32), validation.astype(np.float32)
    loss_weighting = loss_weights(
        structure, reference.parameters.astype(np.float32), train, options.horizon
    )
    sampling = MinibatchSampling(
        options.batch, options.minibatches, options.horizon, options.stride, loss_weighting.age
    )
    if sampling.minibatches(len(train.observations)) == 1:
        workers = THIS_PROCESS
    broadcast = workers.broadcast(GradientData(structure, train, loss_weighting.horizon))
    problem = RefinementProblem(
        structure, train, validation, Coordinates(reference), options, sampling, broadcast
    )
    scores = [problem.score(start.parameters) for start in starts]
    lowest = int(np.argmin(scores))
    best = Refined(starts[lowest].parameters, scores[lowest], scores[lowest], 0, 0.0)
    scales = step_scales(
        problem.coordinates.inward(starts[0].parameters),
        options.output_step * loss_weighting.residual,
    )
    rate = options.learning_rate
    for attempt in range(options.tries):
        start = starts[min(attempt, len(starts) - 1)]
        adam = Adam(scales)
        best = _descend(problem, start.parameters, adam, rate, generator, best, progress)
        if best.iterations:
            break
        rate /= 2
    return best


class RefinementProblem(NamedTuple):
    """What stays the same in every try, in single precision."""

    structure: FixedStructure
    train: Segments
    validation: Segments
    coordinates: Coordinates
    options: RefinementOptions
    sampling: MinibatchSampling
    broadcast: Broadcast[GradientData]

    def score(self, parameters: TrainableParameters) -> float:
        """Return the validation score."""
        single = parameters.astype(np.float32)
        return validation_score(single, self.structure, self.validation, self.options.horizon)

    def gradient(
        self, point: list[Array], generator: np.random.Generator
    ) -> tuple[float, list[Array]]:
        """Return loss and gradient on minibatches of segments, from random sets of origins."""
        drawn = draw_minibatches(self.train, self.sampling, generator)
        parameters = self.coordinates.outward(point).astype(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            total = merged(self.broadcast.map(partial(minibatch_gradient, parameters), drawn))
            return total.loss, self.coordinates.gradient(total.gradient)


def _descend(
    problem: RefinementProblem,
    start: TrainableParameters,
    adam: Adam,
    rate: float,
    generator: np.random.Generator,
    best: Refined,
    progress: Progress | None,
) -> Refined:
    """Run one schedule; return the best parameters, or ``best`` if none is better.

    What is judged is a running mean of the iterates, which minibatches do not shake.
    """
    point, options = problem.coordinates.inward(start), problem.options
    average, before, rises, withstood = point, best.score, 0, best.withstood
    for iteration in range(1, options.iterations + 1):
        loss, gradient = problem.gradient(point, generator)
        if not np.isfinite(loss):
            break
        point = adam.step(point, gradient, cosine_rate(rate, iteration - 1, options.iterations))
        average = _towards(point, average, min(options.averaging, iteration / (iteration + 10)))
        if iteration % options.check_every and iteration < options.iterations:
            continue
        parameters = problem.coordinates.outward(average)
        score = problem.score(parameters)
        if score < best.score:
            best = Refined(parameters, score, best.initial_score, iteration, rate)
        if progress is not None:
            error = float(np.sqrt(best.score / problem.validation.target.shape[2]))
            progress("refinement", iteration / options.iterations, error)
        rises, before = (rises + 1 if score > before else 0), score
        patience = options.patience * options.iterations
        if iteration >= patience:
            withstood = max(withstood, best.score)
        hopeless = iteration >= patience and best.score > options.hopeless * options.rival
        if rises == options.rises or iteration - best.iterations >= patience or hopeless:
            break
    return best._replace(withstood=withstood)


def _towards(point: list[Array], average: list[Array], kept: float) -> list[Array]:
    """Return the running mean after one more iterate."""
    return [kept * old + (1 - kept) * new for old, new in zip(average, point, strict=True)]
