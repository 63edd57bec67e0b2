"""Nonlinear state spaces in the ensemble: which features, learned how far, and whether at all.

They remember what no window shows, and are small: on some robots nothing else comes near them, on
others they are hopeless. The first fold tells, before they are learned on the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.state_space.learner import NonlinearStateSpace
from rffpsr_ros.models.state_space.model import StateSpaceModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.workers import THIS_PROCESS, Workers
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recipe.blend import HeldOut, judged_blocks, observation_deviation, score
from rffpsr_ros.recipe.candidates import Candidate
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.simulations import long_blocks, simulations_on
from rffpsr_ros.recordings.trajectory import Trajectory

NAME = "state_space"


class StateSpaceTrials:
    """Trials on the first fold, begun at once and judged when their rivals are known.

    There are none where columns are many, where recordings are too short, or where the model itself
    is to have no ARX or no NARX term.
    """

    def __init__(
        self, prepared: Preparation, settings: RecipeSettings, workers: Workers = THIS_PROCESS
    ) -> None:
        """Have the trials computed, whenever there is nothing more urgent."""
        self._prepared, self._settings, self._workers = prepared, settings, workers
        self._judge = _judge_on_first(prepared, settings)
        first = prepared.folds[0].train
        self._trials = [
            workers.submit(_Stages(one, first, self._judge), silent, urgency=2)
            for one in _learners(prepared, settings)
        ]

    def best(self, rivals: Sequence[Candidate]) -> Candidate | None:
        """Return the state spaces of the best structure, on each fold and on all recordings.

        None if on the first fold they do not come close to any of the ``rivals``, neither up to the
        horizon nor beyond.
        """
        try:
            stages = [stage for pending in self._trials for stage in pending.result()]
            if not stages:
                return None
            best_rivals = np.min([self._judge.scores(one.by_fold[0]) for one in rivals], axis=0)
            best = min(stages, key=lambda one: float(np.prod(one.scores / best_rivals)))
            if (best.scores > self._settings.close * best_rivals).all():
                return None
            parts = [fold.train for fold in self._prepared.folds[1:]]
            tasks = [_Fit(best.learner, runs) for runs in (self._prepared.recordings, *parts)]
            member, *others = [self._workers.submit(task, silent) for task in tasks]
            by_fold = [best.model, *(pending.result() for pending in others)]
            return Candidate(NAME, [member.result()], by_fold)
        except InputError:  # recordings do not suit them
            return None


def _learners(prepared: Preparation, settings: RecipeSettings) -> list[NonlinearStateSpace]:
    """Return a learner for each kind of features, of an order that suits all recordings.

    None where recordings are too short to tell the order, or no state spaces are wanted.
    """
    options, like = prepared.options, prepared.recordings[0]
    if not (options.arx_past and options.narx_features):
        return []
    try:
        order = NonlinearStateSpace(past=settings.subspace_past).best_order(prepared.recordings)
    except InputError:
        return []
    learners = [
        NonlinearStateSpace(
            order, features, saturating, past=settings.subspace_past, seed=options.seed
        )
        for saturating, features in settings.state_space_features.items()
    ]
    columns = len(like.observation_names), len(like.action_names)
    return [one for one in learners if one.weights(*columns) <= settings.state_space_weights]


@dataclass(frozen=True)
class _Judge:
    """Scores models by blocks of one fold: up to the horizon, and by simulations if any."""

    held_out: HeldOut
    blocks: Sequence[Trajectory]
    """Of simulations."""
    settings: RecipeSettings
    deviation: Array

    def scores(self, model: PredictiveModel[Any]) -> Array:
        """Return the scores, lower is better."""
        found = [score(self.held_out.errors([model]), self.deviation)]
        if self.blocks:
            past, horizon = self.held_out.past, self.held_out.horizon
            simulations = simulations_on([self.blocks], past, horizon, self.settings)
            pairs = zip(simulations.targets(), simulations.forecasts([model]), strict=True)
            found.append(score([target - made for target, made in pairs], self.deviation))
        return np.asarray(np.nan_to_num(np.array(found), nan=np.inf))


def _judge_on_first(prepared: Preparation, settings: RecipeSettings) -> _Judge:
    options, blocks = prepared.options, judged_blocks(prepared, settings)[0]
    held_out = HeldOut(
        [evenly_spread(blocks, settings.first_blocks)],
        options.past,
        options.rollout_horizon,
        settings.settling,
    )
    deviation = observation_deviation(prepared)
    return _Judge(held_out, long_blocks(blocks, settings), settings, deviation)


class _Stage(NamedTuple):
    """The model of a stage of learning, its scores, and a learner that ends there."""

    learner: NonlinearStateSpace
    model: StateSpaceModel
    scores: Array


@dataclass(frozen=True)
class _Stages:
    """The task of learning on the first fold, stage by stage; none where that cannot be."""

    learner: NonlinearStateSpace
    train: Sequence[Trajectory]
    judge: _Judge

    def __call__(self, progress: Progress) -> list[_Stage]:
        del progress
        return [
            _Stage(self.learner.ending_after(stage), model, self.judge.scores(model))
            for stage, model in enumerate(self.learner.path(self.train))
        ]


@dataclass(frozen=True)
class _Fit:
    """The task of learning from recordings."""

    learner: NonlinearStateSpace
    recordings: Sequence[Trajectory]

    def __call__(self, progress: Progress) -> StateSpaceModel:
        return self.learner.fit(self.recordings, progress=progress)
