"""Nonlinear state spaces in the ensemble: which structure, learned how far, and whether at all.

They remember what no window shows, and are small: on some robots nothing else comes near them, on
others they are hopeless. The first fold tells, before they are learned on the others. It also
tells of how many states they are, and whether they add up changes of what is seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.state_space.learner import NonlinearStateSpace, simulation_error_of
from rffpsr_ros.models.state_space.model import StateSpaceModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.workers import THIS_PROCESS, Pending, Workers
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recipe.blend import HeldOut, judged_blocks, observation_deviation, score
from rffpsr_ros.recipe.candidates import Candidate
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.simulations import (
    Simulations,
    far_simulations_on,
    long_blocks,
    simulations_on,
    very_long_blocks,
)
from rffpsr_ros.recordings.trajectory import Trajectory

NAME = "state_space"

FIRST_STAGES = 3
"""The linear system, and two of learning: most of what there is to learn shows in these."""


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
        self._enough = settings.better_than_linear
        self._long = sum(map(len, prepared.recordings)) >= settings.finer_from
        self._trials = [
            self._begun(one, 0, 2, self._enough)
            for one in _learners(prepared, settings, self._long)
        ]

    def best(self, rivals: Sequence[Candidate]) -> Candidate | None:
        """Return the state spaces of the best structure, on each fold and on all recordings.

        None if on the first fold they do not come close to any of the ``rivals``, neither up to the
        horizon nor beyond. One that is no better than the best linear system is none where these
        compete as they are: without integrators. How many stages are learned is chosen by all
        folds: one of them may lack what a robot does elsewhere.
        """
        try:
            trials = _new([path for one in self._trials for path in one.result()], self._enough)
            if not trials:
                return None
            first = _judge(self._prepared, self._settings, 0)
            best_rivals = np.min([first.scores(one.by_fold[0]) for one in rivals], axis=0)
            bests = [min(stages, key=lambda one: one.total) for stages in trials]
            columns = _columns(self._prepared)
            place = _simplest(
                [one.total for one in bests],
                [one.learner.weights(*columns) for one in bests],
                self._settings.as_good,
            )
            chosen, best = trials[place], bests[place]
            if (best.scores > self._settings.close * best_rivals).all():
                return None
            others = [
                self._begun([chosen[-1].learner], place, 0, np.inf)
                for place in range(1, len(self._prepared.folds))
            ]
            found = [chosen, *(path for pending in others for path in pending.result())]
            if len(found) < len(self._prepared.folds):
                return None
            stages = _best_stage(found)
            models = [one.model for one in stages]
            task = _FromAll(stages[0].learner, models, self._prepared.recordings)
            member = self._workers.submit(task, silent).result()
            return Candidate(NAME, [member], models)
        except InputError:  # recordings do not suit them
            return None

    def _begun(
        self, learners: Sequence[NonlinearStateSpace], place: int, urgency: int, enough: float
    ) -> Pending[list[list[_Stage]]]:
        judge = _judge(self._prepared, self._settings, place)
        train, settings = self._prepared.folds[place].train, self._settings
        task = _Paths(learners, train, judge, settings, enough, self._long)
        return self._workers.submit(task, silent, urgency=urgency)


def _simplest(scores: Sequence[float], sizes: Sequence[int], as_good: float) -> int:
    """Return the place of the least size whose score is at most so many times the least one."""
    enough = as_good * min(scores)
    rivals = [place for place, score in enumerate(scores) if score <= enough]
    return min(rivals, key=lambda place: (sizes[place], scores[place]), default=0)


def _best_stage(by_fold: Sequence[Sequence[_Stage]]) -> list[_Stage]:
    """Return each fold's model of the stage that is best on all, as a geometric mean."""
    alike = list(zip(*by_fold, strict=False))
    return list(min(alike, key=lambda ones: float(np.prod([one.total for one in ones]))))


def _learners(
    prepared: Preparation, settings: RecipeSettings, long: bool
) -> list[list[NonlinearStateSpace]]:
    """Return for each kind of features what competes: orders, with and without integrators.

    What suits a linear system on all recordings is among them. What a robot does beyond that may
    need more states, or fewer, and other orders are tried too where recordings are not ``long``.
    Where they are, twice as many features that saturate are a kind of its own. None where
    recordings are too short to tell, or no state spaces are wanted.
    """
    options, columns = prepared.options, _columns(prepared)
    if not (options.arx_past and options.narx_features):
        return []
    kinds = list(settings.state_space_features.items())
    if long:
        kinds += [(saturating, 2 * count) for saturating, count in kinds if saturating]

    def learner(order: int, kind: tuple[bool, int], integrating: bool) -> NonlinearStateSpace:
        saturating, count = kind
        return NonlinearStateSpace(
            order, count, saturating, integrating, settings.subspace_past, seed=options.seed
        )

    def small(one: NonlinearStateSpace) -> bool:
        return one.weights(*columns) <= settings.state_space_weights

    suited = [
        (order, integrating)
        for integrating in (False, True)
        if any(small(learner(1, kind, integrating)) for kind in kinds)
        and (order := _order(prepared, settings, integrating)) is not None
    ]
    if not suited:
        return []
    learners = []
    for kind in kinds:
        others = [] if long else [(order, False) for order in settings.state_space_orders[kind[0]]]
        asked = dict.fromkeys([*suited, *others])
        learners.append([one for order, i in asked if small(one := learner(order, kind, i))])
    return [rivals for rivals in learners if rivals]


def _columns(prepared: Preparation) -> tuple[int, int]:
    """Return how many observations and actions there are."""
    like = prepared.recordings[0]
    return len(like.observation_names), len(like.action_names)


def _order(prepared: Preparation, settings: RecipeSettings, integrating: bool) -> int | None:
    """Return the order that suits all recordings; None where they are too short to tell."""
    learner = NonlinearStateSpace(past=settings.subspace_past, integrating=integrating)
    try:
        return learner.best_order(prepared.recordings)
    except InputError:
        return None


@dataclass(frozen=True)
class _Judge:
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


def _judge(prepared: Preparation, settings: RecipeSettings, place: int) -> _Judge:
    options, blocks = prepared.options, judged_blocks(prepared, settings)[place]
    very_long = very_long_blocks(prepared.folds[place].held_out, settings)
    held_out = HeldOut(
        [evenly_spread(blocks, settings.first_blocks)],
        options.past,
        options.rollout_horizon,
        settings.settling,
    )
    simulated = [
        simulations_on([long_blocks(blocks, settings)], options, settings),
        far_simulations_on([very_long], settings),
    ]
    simulations = [one for one in simulated if one.blocks[0]]
    return _Judge(held_out, simulations, observation_deviation(prepared))


class _Stage(NamedTuple):
    """The model of a stage of learning, its scores, and a learner that ends there."""

    learner: NonlinearStateSpace
    model: StateSpaceModel
    scores: Array

    @property
    def total(self) -> float:
        """Return the geometric mean of the scores."""
        return float(np.prod(self.scores) ** (1 / len(self.scores)))


def _new(paths: Sequence[Sequence[_Stage]], enough: float) -> list[Sequence[_Stage]]:
    """Return the paths that better the best linear system without integrators, which competes.

    Without integrators they must do so by the factor ``enough``.
    """
    totals = [path[0].total for path in paths if not path[0].learner.integrating]
    linear = min(totals, default=np.inf)
    return [
        path
        for path in paths
        if _least(path) <= (1.0 if path[0].learner.integrating else enough) * linear
    ]


def _least(stages: Sequence[_Stage]) -> float:
    return min(one.total for one in stages)


@dataclass(frozen=True)
class _Paths:
    """The task of learning on a fold, stage by stage, by learners of the same kind of features.

    Those go on whose linear system is not far behind the best one's; of long recordings, on which
    that takes long, the one alone whose linear system is the simplest that is as good as any. A
    stage that is hopeless beside the one before is the last, and so is the second where none has
    bettered the linear system by the factor ``enough``.
    """

    learners: Sequence[NonlinearStateSpace]
    train: Sequence[Trajectory]
    judge: _Judge
    settings: RecipeSettings
    enough: float
    long: bool

    def __call__(self, progress: Progress) -> list[list[_Stage]]:
        del progress
        begun = [found for one in self.learners if (found := self._begun(one)) is not None]
        totals = [first.total for first, _ in begun]
        if begun and self.long:
            states = [first.model.parts.system.states for first, _ in begun]
            begun = [begun[_simplest(totals, states, self.settings.as_good)]]
        enough = self.settings.far_behind * min(totals, default=np.inf)
        return [self._path(*one) for one in begun if one[0].total <= enough]

    def _begun(
        self, learner: NonlinearStateSpace
    ) -> tuple[_Stage, Iterator[StateSpaceModel]] | None:
        """Return the linear system and what goes on from it; None where there is none."""
        path = learner.path(self.train)
        try:
            return self._stage(learner, 0, next(path)), path
        except InputError:  # no stable one of this order
            return None

    def _path(self, first: _Stage, path: Iterator[StateSpaceModel]) -> list[_Stage]:
        found = [first]
        for model in path:
            found.append(self._stage(first.learner, len(found), model))
            if not found[-1].total <= self.settings.hopeless * found[-2].total:
                break
            if len(found) == FIRST_STAGES and not _least(found) <= self.enough * first.total:
                break
        return found

    def _stage(self, learner: NonlinearStateSpace, stage: int, model: StateSpaceModel) -> _Stage:
        return _Stage(learner.ending_after(stage), model, self.judge.scores(model))


@dataclass(frozen=True)
class _FromAll:
    """The task of learning from all recordings: the model of the fold that errs least is led on.

    To begin anew would be to draw again: one descent in a few ends with ten times the error.
    """

    learner: NonlinearStateSpace
    by_fold: Sequence[StateSpaceModel]
    recordings: Sequence[Trajectory]

    def __call__(self, progress: Progress) -> StateSpaceModel:
        if not self.learner.stages:
            return self.learner.fit(self.recordings, progress=progress)
        best = min(self.by_fold, key=lambda one: simulation_error_of(one, self.recordings))
        return self.learner.led_on(best, self.recordings)
