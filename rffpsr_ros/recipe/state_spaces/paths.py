"""Paths of learning: the models of a state space stage by stage, each with its scores on a fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.state_space.learner import NonlinearStateSpace
from rffpsr_ros.models.state_space.model import StateSpaceModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.progress import Progress
from rffpsr_ros.recipe.blend import HeldOut, judged_blocks, observation_deviation, score
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.simulations import (
    Simulations,
    far_simulations_on,
    long_blocks,
    simulations_on,
    very_long_blocks,
)
from rffpsr_ros.recipe.state_spaces.structures import simplest
from rffpsr_ros.recordings.trajectory import Trajectory

FIRST_STAGES = 3
"""The linear system, and two of learning: most of what there is to learn shows in these."""


@dataclass(frozen=True)
class Judge:
    """Scores models by blocks of a fold: up to the horizon, and by simulations if any."""

    held_out: HeldOut
    simulations: Sequence[Simulations]
    deviation: Array

    def scores(self, model: PredictiveModel[Any]) -> Array:
        """Return the scores, lower is better."""
        found = [score(self.held_out.errors([model]), self.deviation)]
        for simulations in self.simulations:
            pairs = zip(simulations.targets(), simulations.forecasts([model]), strict=True)
            found.append(score([target - made for target, made in pairs], self.deviation))
        return np.asarray(np.nan_to_num(np.array(found), nan=np.inf))


def judge_of(prepared: Preparation, settings: RecipeSettings, place: int) -> Judge:
    """Return the judge of the fold at a place."""
    options, blocks = prepared.options, judged_blocks(prepared, settings)[place]
    very_long = very_long_blocks(prepared.folds[place].held_out, settings)
    held_out = HeldOut(
        [evenly_spread(blocks, settings.state_spaces.first_blocks)],
        options.past,
        options.rollout_horizon,
        settings.settling,
    )
    simulated = [
        simulations_on([long_blocks(blocks, settings)], options, settings),
        far_simulations_on([very_long], settings),
    ]
    simulations = [one for one in simulated if one.blocks[0]]
    return Judge(held_out, simulations, observation_deviation(prepared))


class ScoredStage(NamedTuple):
    """The model of a stage of learning, its scores, and a learner that ends there."""

    learner: NonlinearStateSpace
    model: StateSpaceModel
    scores: Array

    @property
    def total(self) -> float:
        """Return the geometric mean of the scores."""
        return float(np.prod(self.scores) ** (1 / len(self.scores)))

    @property
    def training_error(self) -> float:
        """Return the mean squared error of simulations in training, in standard units."""
        error = self.model.record.metrics["simulation_error"]
        return np.inf if error is None else float(error**2)


Path = list[ScoredStage]
"""Stages from the linear system on, each learned from the one before."""


@dataclass(frozen=True)
class Paths:
    """The task of learning on a fold, stage by stage, by learners of the same kind of features.

    Those go on whose linear system is not far behind the best one's; of ``long`` recordings, on
    which that takes long, the one alone whose linear system is the simplest that is as good as any.
    A stage that is hopeless beside the one before is the last, and so is the second where none has
    bettered the linear system by the factor ``enough``.
    """

    learners: Sequence[NonlinearStateSpace]
    train: Sequence[Trajectory]
    judge: Judge
    settings: RecipeSettings
    enough: float
    long: bool

    def __call__(self, progress: Progress) -> list[Path]:
        """Return the paths of those that go on, at least their linear systems."""
        del progress
        begun = [found for one in self.learners if (found := self._begun(one)) is not None]
        totals = [first.total for first, _ in begun]
        if begun and self.long:
            states = [first.model.parts.system.states for first, _ in begun]
            begun = [begun[simplest(totals, states, self.settings.state_spaces.as_good)]]
        enough = self.settings.far_behind * min(totals, default=np.inf)
        return [self._path(*one) for one in begun if one[0].total <= enough]

    def _begun(
        self, learner: NonlinearStateSpace
    ) -> tuple[ScoredStage, Iterator[StateSpaceModel]] | None:
        """Return the linear system and what goes on from it; None where there is none."""
        path = learner.path(self.train)
        try:
            return self._stage(learner, 0, next(path)), path
        except InputError:  # no stable one of this order
            return None

    def _path(self, first: ScoredStage, path: Iterator[StateSpaceModel]) -> Path:
        found = [first]
        for model in path:
            found.append(self._stage(first.learner, len(found), model))
            if not found[-1].total <= self.settings.hopeless * found[-2].total:
                break
            if len(found) == FIRST_STAGES and not least(found) <= self.enough * first.total:
                break
        return found

    def _stage(
        self, learner: NonlinearStateSpace, stage: int, model: StateSpaceModel
    ) -> ScoredStage:
        return ScoredStage(learner.ending_after(stage), model, self.judge.scores(model))


def least(stages: Sequence[ScoredStage]) -> float:
    """Return the least total score of stages."""
    return min(one.total for one in stages)


def bettering(paths: Sequence[Path], enough: float) -> list[Path]:
    """Return the paths that better the best linear system without integrators, which competes.

    Without integrators they must do so by the factor ``enough``.
    """
    totals = [path[0].total for path in paths if not path[0].learner.integrating]
    linear = min(totals, default=np.inf)
    return [
        path
        for path in paths
        if least(path) <= (1.0 if path[0].learner.integrating else enough) * linear
    ]


def best_stage(by_fold: Sequence[Path]) -> list[ScoredStage]:
    """Return each fold's model of the stage that is best on all, as a geometric mean."""
    alike = list(zip(*by_fold, strict=False))
    return list(min(alike, key=lambda ones: float(np.prod([one.total for one in ones]))))
