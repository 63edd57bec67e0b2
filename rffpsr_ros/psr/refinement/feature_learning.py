"""Refinement that learns the features: units, readout and ARX term in one damped step.

On fixed random features a well-regressed readout is already near its best; what is left to gain
lies in the features. Units are drawn and regressed as ever, and then moved together with what reads
them, by Levenberg-Marquardt on the rolled-out error: its logarithm, summed over horizons and
observations, so that each of them counts alike however large its error is. What did best on the
validation recordings is kept, the start if need be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.change_coordinates import change_map
from rffpsr_ros.data.moments import Regression
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.levenberg_marquardt import DampingRule, damped_step
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.refinement.learned_units import UNITS
from rffpsr_ros.psr.refinement.learning_effort import FeatureLearningOptions
from rffpsr_ros.psr.refinement.learning_objective import Objective, random_mixtures
from rffpsr_ros.psr.refinement.rolling import (
    FeedbackModel,
    Learnable,
    PredictedTick,
    Rollouts,
    roll,
)
from rffpsr_ros.psr.refinement.rollout_loss import filter_segments, recorded
from rffpsr_ros.psr.refinement.rollout_refinement import validation_score
from rffpsr_ros.psr.refinement.segments import Origins, Segments, origins

LEARNING_DAMPING = DampingRule(first=1e-2, easier=1 / 3, harder=4.0, failures=6)

KEPT_CURVATURE = 0.5
"""A step's curvature is that of its mixtures and, by this share, that of the step before: of so few
mixtures alone it is known badly."""

LEAST_MIXTURES = 1000
"""So many cost nothing."""

AT_FIRST = 3
"""Times as many tell a curvature that none goes before."""

RIDGES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
"""Of the regression that learning starts from; in units of the squared change per tick."""

REGRESSED = 20_000
"""Ticks that the start is regressed on, about."""


class LearnedFeatures(NamedTuple):
    """The predictor with learned features, its validation score, and how it went."""

    structure: FixedStructure
    parameters: TrainableParameters
    score: float
    initial_score: float
    steps: int

    def notes(self) -> dict[str, float]:
        """Return what a model file keeps of it."""
        return {
            "feature_score_before": self.initial_score,
            "feature_score_after": self.score,
            "feature_steps": self.steps,
        }


class LearningTask(NamedTuple):
    """What stays the same while features are learned; in double precision."""

    predictor: FeedbackModel
    train: Segments
    states: Array  # (L, S, p) before each tick of the training segments; p = 0: without
    validation: Segments  # in single precision
    horizon: int

    def outward(self, learnable: Learnable) -> tuple[FixedStructure, TrainableParameters]:
        """Return the predictor that the rest of the package knows."""
        units, linear = self.predictor.units, len(self.predictor.arx_map)
        own = self.predictor.own(learnable)
        narx, arx, prediction = np.split(learnable.readout, [own, own + linear])
        features = units.features(learnable.units, self.predictor.window_map)
        tensors = self.predictor.tensors
        if not len(prediction):
            prediction = np.zeros_like(tensors.prediction)
        arx = self.predictor.arx_map.T @ arx
        return (
            self.predictor.structure._replace(narx=features),
            tensors._replace(prediction=prediction, arx=arx, narx=narx),
        )

    def score(self, learnable: Learnable) -> float:
        """Return the validation score."""
        structure, parameters = self.outward(learnable)
        single = structure.astype(np.float32)
        return validation_score(
            parameters.astype(np.float32), single, self.validation, self.horizon
        )

    def rollouts(self, starts: Origins, horizon: int) -> Rollouts:
        """Return what is recorded from these origins on."""
        past = self.predictor.structure.past
        observations, actions = recorded(self.predictor.structure, self.train, starts, horizon)
        rows, ticks = starts.segment[:, None], starts.tick[:, None] + np.arange(horizon)
        counts = self.train.target[rows, ticks]
        target = np.where(counts, observations[:, past:], np.nan)
        acted = self.train.action_features[rows, ticks]
        return Rollouts(
            observations, actions, target, acted, self.states[starts.tick, starts.segment]
        )


def learn_features(
    start: TrainableParameters,
    structure: FixedStructure,
    changes: Array,
    train: Segments,
    validation: Segments,
    age: Array,
    options: FeatureLearningOptions,
    generator: np.random.Generator,
    progress: Progress = silent,
) -> LearnedFeatures:
    """Return the predictor whose features were learned on ``train`` and did best on ``validation``.

    ``changes`` (d_o,) are the usual changes of observations per tick; origins among a recording's
    first ticks take part with the probability ``age`` (past,). The filter's tensors stay as they
    are in ``start``; with `FeatureLearningOptions.state` its state takes part in the readout.
    """
    task = _task(start, structure, changes, train, validation, options)
    learnable = _regressed(task, changes, options, generator)
    initial = task.score(learnable)
    best = _Best(learnable, initial, 0)
    descent = _Descent(task, learnable, changes, age, options, generator, progress)
    steps = 0
    for penalty, patience in zip(options.penalties, options.patience, strict=True):
        best, steps = descent.follow(best, penalty, patience, steps)
    return LearnedFeatures(*task.outward(best.learnable), best.score, initial, best.step)


class _Best(NamedTuple):
    """What did best on the validation recordings, and after how many steps."""

    learnable: Learnable
    score: float
    step: int


class _Descent(NamedTuple):
    """What stays the same in every descent."""

    task: LearningTask
    start: Learnable
    changes: Array
    age: Array
    options: FeatureLearningOptions
    generator: np.random.Generator
    progress: Progress

    def follow(self, best: _Best, penalty: float, patience: int, steps: int) -> tuple[_Best, int]:
        """Descend from the best so far, ``steps`` after the start, until nothing gets better.

        Returns the best, which may be that given, and how many steps were taken by then.
        """
        task, options, like = self.task, self.options, self.start
        every = origins(task.train, options.horizon)
        precision, centre = _prior(task, like, self.changes, penalty)
        point, damping = best.learnable.flat(), LEARNING_DAMPING.first
        newest, before = steps, None
        while steps < options.steps and steps - newest < patience:
            steps += 1
            drawn = _drawn(every, task.train, self.age, options.rollouts, self.generator)
            rollouts = task.rollouts(drawn, options.horizon)
            wanted = max(LEAST_MIXTURES, options.mixtures * len(point))
            wanted *= AT_FIRST if before is None else 1
            mixtures = random_mixtures(rollouts, wanted, self.generator)
            objective = Objective(task.predictor, rollouts, like, precision, centre, mixtures)
            loss, slope, curvature = objective.equations(point)
            if before is not None:
                curvature = (1 - KEPT_CURVATURE) * curvature + KEPT_CURVATURE * before
            if np.isfinite(curvature).all():  # of rollouts that overflow it is not, this once
                before = curvature
            step = damped_step(
                point, loss, slope, curvature, objective.loss, damping, LEARNING_DAMPING
            )
            if step is None:
                damping *= LEARNING_DAMPING.harder
                continue
            point, damping = step.point, step.damping * LEARNING_DAMPING.easier
            score = task.score(like.at(point))
            if score < best.score:
                best, newest = _Best(like.at(point), score, steps), steps
            error = float(np.sqrt(best.score / len(self.changes)))
            self.progress("features", steps / options.steps, error)
        return best, steps


def _task(
    start: TrainableParameters,
    structure: FixedStructure,
    changes: Array,
    train: Segments,
    validation: Segments,
    options: FeatureLearningOptions,
) -> LearningTask:
    acted = train.actions.shape[2]
    arx_map = change_map(structure.arx_past, changes, acted)
    with_one = np.eye(len(arx_map) + 1)
    with_one[:-1, :-1] = arx_map
    window_map = change_map(structure.narx_past, changes, acted)
    train = train.astype(np.float64)
    shape = (train.target.shape[1], len(train.target))
    states = np.zeros((*shape, 0))
    if options.state:
        states, _ = filter_segments(start, structure, train, keep=False)
    return LearningTask(
        FeedbackModel(structure, start, UNITS[options.kind], window_map, with_one, np.float32),
        train,
        states,
        validation,
        options.horizon,
    )


def _regressed(
    task: LearningTask,
    changes: Array,
    options: FeatureLearningOptions,
    generator: np.random.Generator,
) -> Learnable:
    """Return drawn units, and the regressed readout that rolls out best."""
    every = origins(task.train, 1)
    past = task.predictor.structure.past
    every = every.pick(~task.train.first[every.segment] | (every.tick >= past))
    stride = max(1, len(every.tick) // REGRESSED)
    starts = every.pick(np.arange(0, len(every.tick), stride))
    rollouts = task.rollouts(starts, 1)
    units, size, columns = task.predictor.units, len(task.predictor.window_map), len(changes)
    joint = rollouts.state.shape[1] * rollouts.action_features.shape[2]
    none = Learnable(
        np.zeros((0, size + units.offset)), np.zeros((len(task.predictor.arx_map) + joint, columns))
    )
    windows = task.predictor.windows(_first_tick(task, none, rollouts).window)[:, :size]
    drawn = units.drawn(windows, options.units, generator)
    width = units.each * options.units + len(none.readout)
    learnable = Learnable(drawn, np.zeros((width, columns)))
    seen = _first_tick(task, learnable, rollouts).inputs
    inputs = task.predictor.inputs(learnable, seen)
    newest = rollouts.observations[:, past - 1]
    counts = np.isfinite(rollouts.target[:, 0]).all(axis=1)
    regression = Regression.zeros(columns, width)
    regression.add(inputs[counts], (rollouts.target[:, 0] - newest)[counts] / changes)
    same = _newest_readout(task, learnable)
    candidates = [
        learnable._replace(readout=same + regression.solve(ridge).T * changes) for ridge in RIDGES
    ]
    return min(candidates, key=task.score)


def _first_tick(task: LearningTask, learnable: Learnable, rollouts: Rollouts) -> PredictedTick:
    plain = task.predictor.of_windows(learnable)
    tick, _, _ = next(roll(task.predictor, plain, rollouts))
    return tick


def _newest_readout(task: LearningTask, learnable: Learnable) -> Array:
    """Return the readout (K, d_o) that repeats the last observation."""
    columns = learnable.readout.shape[1]
    same = np.zeros_like(learnable.readout)
    first = task.predictor.own(learnable)
    first += (task.predictor.structure.arx_past - 1) * columns
    same[first : first + columns] = np.eye(columns)
    return same


def _prior(
    task: LearningTask, start: Learnable, changes: Array, penalty: float
) -> tuple[Array, Array]:
    """Return precision (P,) and centre (P,) of the penalty: units' weights to zero, else the start.

    A readout counts in units in which changes per tick are one.
    """
    readout = np.broadcast_to(1 / changes**2, start.readout.shape)
    scale = Learnable(np.ones_like(start.units), np.asarray(readout))
    centre = start.readout.copy()
    centre[: task.predictor.own(start)] = 0.0
    return penalty * scale.flat(), start._replace(readout=centre).flat()


def _drawn(
    every: Origins, segments: Segments, age: Array, count: int, generator: np.random.Generator
) -> Origins:
    """Return ``count`` origins by chance; early ones are rarer."""
    early = segments.first[every.segment] & (every.tick < len(age))
    share = np.where(early, age[np.minimum(every.tick, len(age) - 1)], 1.0)
    kept = np.flatnonzero(generator.random(len(share)) < share)
    if len(kept) > count:
        kept = np.sort(generator.choice(kept, count, replace=False))
    return every.pick(kept)
