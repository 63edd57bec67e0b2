"""Nonlinear state spaces in the ensemble: which structure, learned how far, and whether at all.

They remember what no window shows, and are small: on some robots nothing else comes near them, on
others they are hopeless. The first fold tells, before they are learned on the others. It also
tells of how many states they are, and whether they add up changes of what is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.state_space.learner import NonlinearStateSpace, simulation_error_of
from rffpsr_ros.models.state_space.model import StateSpaceModel
from rffpsr_ros.parallel.workers import THIS_PROCESS, Pending, Workers
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.recipe.candidates import Candidate
from rffpsr_ros.recipe.prepare import Preparation
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.state_spaces.paths import (
    Path,
    Paths,
    best_stage,
    bettering,
    judge_of,
)
from rffpsr_ros.recipe.state_spaces.structures import columns_of, competing, simplest
from rffpsr_ros.recordings.trajectory import Trajectory

NAME = "state_space"


class StateSpaceTrials:
    """Trials on the first fold, begun at once and judged when their rivals are known.

    There are none where columns are many, where recordings are too short, or where the model itself
    is to have no ARX or no NARX term.
    """

    def __init__(
        self,
        prepared: Preparation,
        settings: RecipeSettings,
        workers: Workers = THIS_PROCESS,
        given: int | None = None,
    ) -> None:
        """Have the trials computed, whenever there is nothing more urgent.

        So many actions were ``given``, if others are running means of them.
        """
        self._prepared, self._settings, self._workers = prepared, settings, workers
        self._enough = settings.state_spaces.better_than_linear
        self._long = sum(map(len, prepared.recordings)) >= settings.state_spaces.finer_from
        self._trials = [
            self._begun(one, 0, 2, self._enough)
            for one in competing(prepared, settings, self._long, given)
        ]

    def best(self, rivals: Sequence[Candidate]) -> Candidate | None:
        """Return the state spaces of the best structure, on each fold and on all recordings.

        None if on the first fold they do not come close to any of the ``rivals``, neither up to the
        horizon nor beyond. One that is no better than the best linear system is none where these
        compete as they are: without integrators. How many stages are learned is chosen by all
        folds: one of them may lack what a robot does elsewhere.
        """
        try:
            first = self._best_on_first_fold(rivals)
            if first is None:
                return None
            found = self._on_all_folds(first)
            if len(found) < len(self._prepared.folds):
                return None
            stages = best_stage(found)
            models = [one.model for one in stages]
            return Candidate(NAME, self._of_all(stages[0].learner, models), models)
        except InputError:  # recordings do not suit them
            return None

    def _best_on_first_fold(self, rivals: Sequence[Candidate]) -> Path | None:
        """Return the simplest path that is as good as any there; None if none comes close."""
        paths = [path for trial in self._trials for path in trial.result()]
        paths = bettering(paths, self._enough)
        if not paths:
            return None
        judge = judge_of(self._prepared, self._settings, 0)
        best_rivals = np.min([judge.scores(one.by_fold[0]) for one in rivals], axis=0)
        bests = [min(stages, key=lambda one: one.total) for stages in paths]
        columns, limits = columns_of(self._prepared), self._settings.state_spaces
        place = simplest(
            [one.total for one in bests],
            [one.learner.weights(*columns) for one in bests],
            limits.as_good_of_long if self._long else limits.as_good,
        )
        if (bests[place].scores > self._settings.close * best_rivals).all():
            return None
        return paths[place]

    def _on_all_folds(self, first: Path) -> list[Path]:
        """Return the path of each fold; fewer where there is no such system on all of them.

        A descent that ends with a far larger error in training than on the best fold was caught in
        a bad minimum: it is begun again from other directions, and the better one is kept. On long
        recordings that would take too long.
        """
        learner, places = first[-1].learner, range(1, len(self._prepared.folds))
        others = [self._begun([learner], place, 0, np.inf) for place in places]
        found = [first, *(path for pending in others for path in pending.result())]
        if self._long or len(found) < len(self._prepared.folds):
            return found
        stages = min(map(len, found))
        for again in range(1, self._settings.state_spaces.restarts + 1):
            caught = self._caught(found, stages)
            other = learner.seeded(learner.seed + again)
            redone = [self._begun([other], place, 0, np.inf) for place in caught]
            for place, pending in zip(caught, redone, strict=True):
                rivals = [found[place], *pending.result()]
                found[place] = min(rivals, key=lambda path: _training_error(path, stages))
        return found

    def _of_all(
        self, learner: NonlinearStateSpace, by_fold: Sequence[StateSpaceModel]
    ) -> list[StateSpaceModel]:
        """Return the models of all recordings: each fold's led on, without what was caught.

        To begin anew would be to draw again: one descent in a few ends with ten times the error.
        """
        every = self._prepared.recordings
        if not learner.stages:
            return [learner.fit(every)]
        tasks = [_LeadOn(learner, model, every) for model in by_fold]
        led = [pending.result() for pending in [self._workers.submit(t, silent) for t in tasks]]
        return not_caught(led, self._settings.state_spaces.caught)

    def _caught(self, found: Sequence[Path], stages: int) -> list[int]:
        """Return the places of the folds whose descent was caught, by the last of so many stages.

        None where that is the linear system: it does not depend on where a descent begins.
        """
        errors = [_training_error(path, stages) for path in found]
        return _far_above(errors, self._settings.state_spaces.caught) if stages > 1 else []

    def _begun(
        self, learners: Sequence[NonlinearStateSpace], place: int, urgency: int, enough: float
    ) -> Pending[list[Path]]:
        judge = judge_of(self._prepared, self._settings, place)
        train, settings = self._prepared.folds[place].train, self._settings
        task = Paths(learners, train, judge, settings, enough, self._long)
        return self._workers.submit(task, silent, urgency=urgency)


def _training_error(path: Path, stages: int) -> float:
    """Return the error in training of the last of so many stages; infinite: there are fewer."""
    return path[stages - 1].training_error if len(path) >= stages else np.inf


class Led(NamedTuple):
    """A model that was led on, and its mean squared error in training."""

    model: StateSpaceModel
    error: float


def not_caught(led: Sequence[Led], caught: float) -> list[StateSpaceModel]:
    """Return the models whose error in training is at most ``caught`` times the least one.

    What each has learned by heart differs: together they err .94 times as much as the best one
    alone in forecasts of 10 ticks on 13 systems, .93 times in those of 150, at worst 1.07 times.
    """
    lost = _far_above([one.error for one in led], caught)
    return [one.model for place, one in enumerate(led) if place not in lost]


def _far_above(errors: Sequence[float], factor: float) -> list[int]:
    """Return the places of errors that are more than so many times the least one."""
    most = factor * min(errors)
    return [place for place, error in enumerate(errors) if error > most]


@dataclass(frozen=True)
class _LeadOn:
    """The task of leading a fold's model on with all recordings."""

    learner: NonlinearStateSpace
    model: StateSpaceModel
    recordings: Sequence[Trajectory]

    def __call__(self, progress: Progress) -> Led:
        del progress
        made = self.learner.led_on(self.model, self.recordings)
        return Led(made, simulation_error_of(made, self.recordings))
