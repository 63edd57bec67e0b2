"""What features are learned from, and how a model that has them is judged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.change_coordinates import change_map
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.refinement.learned_units import UNITS
from rffpsr_ros.psr.refinement.learning_effort import FeatureLearningOptions
from rffpsr_ros.psr.refinement.rolling import FeedbackModel, Learnable, Rollouts
from rffpsr_ros.psr.refinement.rollout_loss import filter_segments, recorded
from rffpsr_ros.psr.refinement.rollout_refinement import validation_score
from rffpsr_ros.psr.refinement.segments import Origins, Segments


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

    def known(self) -> Learnable | None:
        """Return what the start has learned; None where its features are no such units.

        Without what its state adds, where that takes no part.
        """
        known, tensors = self.predictor, self.predictor.tensors
        features = known.structure.narx
        if features is None:
            return None
        units = known.units.found_in(features, known.window_map)
        if units is None:
            return None
        linear = np.linalg.solve(known.arx_map.T, tensors.arx)
        prediction = tensors.prediction if self.states.shape[2] else tensors.prediction[:0]
        return Learnable(units, np.concatenate([tensors.narx, linear, prediction]))

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


def learning_task(
    start: TrainableParameters,
    structure: FixedStructure,
    changes: Array,
    train: Segments,
    validation: Segments,
    options: FeatureLearningOptions,
) -> LearningTask:
    """Return the task of learning features beside ``start``; arguments as of `learn_features`."""
    acted = train.actions.shape[2]
    arx_map = change_map(structure.arx_past, changes, acted)
    with_one = np.eye(len(arx_map) + 1)
    with_one[:-1, :-1] = arx_map
    window_map = change_map(structure.narx_past, changes, acted, options.changes_only)
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
