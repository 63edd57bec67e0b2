"""Refinement that learns the features: frequencies, readout and ARX term in one damped step.

On fixed random features a well-regressed readout is already near its best; what is left to gain
lies in the features. They are drawn and regressed as ever, and then moved together with what reads
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
from rffpsr_ros.psr.fourier_features import FeatureMap, draw_frequencies, median_distance
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.refinement.learning_effort import FeatureLearningOptions
from rffpsr_ros.psr.refinement.rollout_loss import filter_segments, recorded
from rffpsr_ros.psr.refinement.rollout_refinement import validation_score
from rffpsr_ros.psr.refinement.segments import Origins, Segments, origins
from rffpsr_ros.psr.refinement.sensitivities import (
    FeedbackModel,
    Learnable,
    Rollouts,
    dependence,
    gradient,
    jacobian,
    predictions,
)

LEARNING_DAMPING = DampingRule(first=1e-2, easier=1 / 3, harder=4.0, failures=6)

RIDGES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
"""Of the regression that learning starts from; in units of the squared change per tick."""

SPREAD = 0.5
"""Variance of a drawn frequency, times the squared median distance between windows."""

REGRESSED = 20_000
"""Ticks that the start is regressed on, about."""

TINY = 1e-30


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
        units, linear = len(learnable.frequencies), len(self.predictor.arx_map)
        narx, arx, prediction = np.split(learnable.readout, [2 * units, 2 * units + linear])
        raw = learnable.frequencies @ self.predictor.window_map
        features = FeatureMap(raw, np.eye(2 * units))
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


class Objective(NamedTuple):
    """The logarithm of rolled-out errors, meant over horizons and observations, and penalties."""

    predictor: FeedbackModel
    rollouts: Rollouts
    like: Learnable
    precision: Array  # (P,)
    centre: Array  # (P,)
    curved: int  # rollouts that the curvature is estimated from, about

    def loss(self, point: Array) -> float:
        """Return the loss at a point (P,); infinite where a rollout is no number."""
        with np.errstate(over="ignore", invalid="ignore"):
            values = predictions(self.predictor, self.like.at(point), self.rollouts)
            mean = np.nanmean((values - self.rollouts.target) ** 2, axis=0)
        loss = float(np.mean(np.log(np.maximum(mean, TINY)))) + self._penalty(point)
        return loss if np.isfinite(loss) else float("inf")

    def equations(self, point: Array) -> tuple[float, Array, Array]:
        """Return the loss, half its gradient (P,), and the Gauss-Newton curvature (P, P)."""
        learnable = self.like.at(point)
        with np.errstate(over="ignore", invalid="ignore"):
            found = dependence(self.predictor, learnable, self.rollouts)
            missed = found.values - self.rollouts.target
            counted = np.isfinite(missed)
            count = np.maximum(counted.sum(axis=0), 1)
            mean = np.maximum(np.nanmean(missed**2, axis=0), TINY)
            root = np.where(counted, 1 / np.sqrt(mean * count * mean.size), 0.0)
            weighted = np.where(counted, missed, 0.0) * root
            slope = gradient(learnable, found, weighted * root)
            curvature = np.zeros((len(point), len(point)), np.float32)
            share = slice(None, None, max(1, round(len(missed) / self.curved)))
            scale = root[share] * np.sqrt(counted.sum(axis=0) / counted[share].sum(axis=0))
            first = 0
            for rows in jacobian(learnable, found.pick(share), np.float32):
                scaled = rows * scale[first : first + len(rows), ..., None].astype(np.float32)
                flat = scaled.reshape(-1, len(point))
                curvature += flat.T @ flat
                first += len(rows)
        slope += self.precision * (point - self.centre)
        whole = curvature.astype(np.float64) + np.diag(self.precision)
        loss = float(np.mean(np.log(mean))) + self._penalty(point)
        return loss, slope, whole

    def _penalty(self, point: Array) -> float:
        away = point - self.centre
        return float(self.precision @ (away * away))


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
    precision = _precision(learnable, changes, options)
    centre = learnable.flat()
    units = len(learnable.frequencies)
    centre = Learnable(
        learnable.frequencies,
        np.concatenate([np.zeros((2 * units, len(changes))), learnable.readout[2 * units :]]),
    ).flat()
    every = origins(task.train, options.horizon)
    initial = task.score(learnable)
    best, lowest, found = learnable, initial, 0
    point, damping = learnable.flat(), LEARNING_DAMPING.first
    for number in range(1, options.steps + 1):
        starts = _drawn(every, task.train, age, options.rollouts, generator)
        objective = Objective(
            task.predictor,
            task.rollouts(starts, options.horizon),
            learnable,
            precision,
            centre,
            options.curved,
        )
        loss, slope, curvature = objective.equations(point)
        step = damped_step(point, loss, slope, curvature, objective.loss, damping, LEARNING_DAMPING)
        if step is None:
            damping *= LEARNING_DAMPING.harder
        else:
            point, damping = step.point, step.damping * LEARNING_DAMPING.easier
            score = task.score(learnable.at(point))
            if score < lowest:
                best, lowest, found = learnable.at(point), score, number
            progress("features", number / options.steps, float(np.sqrt(lowest / len(changes))))
        if number - found >= options.patience:
            break
    return LearnedFeatures(*task.outward(best), lowest, initial, found)


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
        FeedbackModel(structure, start, window_map, with_one),
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
    """Return drawn frequencies, and the regressed readout that rolls out best."""
    every = origins(task.train, 1)
    past = task.predictor.structure.past
    every = every.pick(~task.train.first[every.segment] | (every.tick >= past))
    stride = max(1, len(every.tick) // REGRESSED)
    starts = every.pick(np.arange(0, len(every.tick), stride))
    rollouts = task.rollouts(starts, 1)
    size, columns = len(task.predictor.window_map), len(changes)
    joint = rollouts.state.shape[1] * rollouts.action_features.shape[2]
    none = Learnable(np.zeros((0, size)), np.zeros((len(task.predictor.arx_map) + joint, columns)))
    windows = dependence(task.predictor, none, rollouts).windows[:, 0]
    median = median_distance(windows, generator)
    drawn = draw_frequencies(size, options.units, median / np.sqrt(SPREAD), generator)
    width = 2 * options.units + len(none.readout)
    learnable = Learnable(drawn, np.zeros((width, columns)))
    inputs = dependence(task.predictor, learnable, rollouts).inputs[:, 0]
    newest = rollouts.observations[:, past - 1]
    seen = np.isfinite(rollouts.target[:, 0]).all(axis=1)
    regression = Regression.zeros(columns, width)
    regression.add(inputs[seen], (rollouts.target[:, 0] - newest)[seen] / changes)
    same = _newest_readout(task, learnable)
    candidates = [
        learnable._replace(readout=same + regression.solve(ridge).T * changes) for ridge in RIDGES
    ]
    return min(candidates, key=task.score)


def _newest_readout(task: LearningTask, learnable: Learnable) -> Array:
    """Return the readout (K, d_o) that repeats the last observation."""
    columns = learnable.readout.shape[1]
    same = np.zeros_like(learnable.readout)
    first = 2 * len(learnable.frequencies) + (task.predictor.structure.arx_past - 1) * columns
    same[first : first + columns] = np.eye(columns)
    return same


def _precision(learnable: Learnable, changes: Array, options: FeatureLearningOptions) -> Array:
    readout = np.broadcast_to(1 / changes**2, learnable.readout.shape)
    whole = Learnable(np.ones_like(learnable.frequencies), np.asarray(readout))
    return options.penalty * whole.flat()


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
