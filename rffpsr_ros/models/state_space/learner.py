"""Nonlinear state space models, learned from the error of simulations (Schoukens 2021).

Subspace identification gives the best linear system, random directions of state and action give
features without weight; Gauss-Newton steps on the error of simulations then move all there is,
directions included, over longer and longer stretches, held near where each stage started. Where a
stretch begins is learned with them. The gain, by which a robot is followed, comes after each stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rffpsr_ros.data.saturation import Bounds, learned_bounds
from rffpsr_ros.data.scaling import Run, Scaling, forgiving_scaling, standardise
from rffpsr_ros.models.contract import TrainingRecord
from rffpsr_ros.models.in_memory import InMemoryLearner
from rffpsr_ros.models.n4sid.learner import N4SID, ChoiceGrid
from rffpsr_ros.models.option_checks import check_seed, check_type, require
from rffpsr_ros.models.state_space.dynamics import StateSpace
from rffpsr_ros.models.state_space.linear_start import (
    Structure,
    linear_start,
    trajectory_of,
    with_unseen_actions,
)
from rffpsr_ros.models.state_space.model import StateSpaceModel, StateSpaceParts
from rffpsr_ros.models.state_space.simulation import simulation_error
from rffpsr_ros.models.state_space.stage import CHECKED_TICKS, LENGTHS, learned
from rffpsr_ros.models.state_space.stretches import SETTLING, cut_stretches
from rffpsr_ros.models.training_set import shared_signature, training_signature
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.trajectory import Trajectory

CHOSEN_FROM = ChoiceGrid(orders=range(1, 9))
"""What an order is chosen from, each with the ridge that suits it."""

NO_WORSE = 1.6
"""The least order is taken whose linear system has at most so many times the best one's error."""

JUDGED = 16
"""Stretches that the record's error is of."""


class NonlinearStateSpace(InMemoryLearner[StateSpaceModel]):
    """Learner of `StateSpaceModel`.

    Parameters
    ----------
    order
        States of the linear system, without those that integrate; None chooses the least that is as
        good as any.
    features
        Nonlinear functions of the state.
    saturating
        Whether they saturate (tanh), or are squares and cubes.
    integrating
        Whether the system adds up changes of its observations, as positions are of velocities.
    past
        Ticks of past and future in N4SID's windows.
    stages
        How many stages are learned; with none the model is linear.
    seed
        The seed of all randomness.
    actions
        The system sees so many actions only, the first ones; None: all.
    drawn
        Directions that are drawn for features to begin with, if more than there are features: those
        are taken that tell most of what the linear system misses.
    """

    configurable = (
        "order",
        "features",
        "saturating",
        "integrating",
        "past",
        "stages",
        "seed",
        "actions",
        "drawn",
    )

    def __init__(
        self,
        order: int | None = None,
        features: int = 4,
        saturating: bool = True,
        integrating: bool = False,
        past: int = 10,
        stages: int = len(LENGTHS),
        seed: int = 0,
        actions: int | None = None,
        drawn: int = 0,
    ) -> None:
        """Check the options.

        Raises
        ------
        InputError
            If one has the wrong type or is out of its range.
        """
        check_type("order", order, int | None)
        require("order", order, lambda v: v >= 1, "at least 1")
        for name, count in {"features": features, "past": past, "stages": stages}.items():
            check_type(name, count, int)
        require("features", features, lambda v: v >= 1, "at least 1")
        require("past", past, lambda v: v >= 2, "at least 2")
        require("stages", stages, lambda v: v >= 0, "at least 0")
        require("stages", stages, lambda v: v <= len(LENGTHS), f"at most {len(LENGTHS)}")
        check_seed(seed)
        check_type("actions", actions, int | None)
        require("actions", actions, lambda v: v >= 1, "at least 1")
        check_type("drawn", drawn, int)
        require("drawn", drawn, lambda v: v >= 0, "at least 0")
        for name, choice in {"saturating": saturating, "integrating": integrating}.items():
            check_type(name, choice, bool)
        self.order, self.features, self.saturating = order, features, saturating
        self.integrating, self.past = integrating, past
        self.stages, self.seed, self.actions, self.drawn = stages, seed, actions, drawn

    def _fit(
        self, train: list[Trajectory], validation: list[Trajectory] | None, progress: Progress
    ) -> StateSpaceModel:
        shared_signature(train, validation)
        models = []
        last = min(self.stages, stages_for(max(map(len, train))))
        for model in self.path(train):
            models.append(model)
            progress("simulation error", len(models) / (last + 1))
        return models[-1]

    def path(self, train: Sequence[Trajectory]) -> Iterator[StateSpaceModel]:
        """Yield the linear model, then that of every stage, each learned from the last.

        Raises
        ------
        InputError
            As `fit`.
        """
        signature = training_signature(train)
        scalings = _scalings(train)
        runs = standardise(train, *scalings)
        order = self.order if self.order is not None else self._order(runs)
        structure = Structure(order, self.features, self.saturating, self.integrating, self.drawn)
        with one_blas_thread():
            generator = np.random.default_rng(self.seed)
            bounds = _bounds(runs)
            seen = self._seen(runs)
            system = linear_start(seen, structure, self.past, bounds, generator)
            unseen = runs[0].actions.shape[1] - seen[0].actions.shape[1]
            system = with_unseen_actions(system, unseen)
        longest = max(len(run.actions) for run in runs)
        for stage in range(min(self.stages, stages_for(longest)) + 1):
            if stage:
                with one_blas_thread():
                    system = learned(system, runs, stage - 1)
            record = self._record(structure, stage, _missed(system, runs))
            yield StateSpaceModel(signature, record, StateSpaceParts(system, *scalings))

    def led_on(self, model: StateSpaceModel, train: Sequence[Trajectory]) -> StateSpaceModel:
        """Return what the last stage makes of a model of this structure, from recordings (again).

        Raises
        ------
        InputError
            If recordings are not alike.
        """
        signature, scalings = training_signature(train), model.parts[1:]
        runs = standardise(train, *scalings)
        system = model.parts.system._replace(bounds=_bounds(runs))
        with one_blas_thread():
            system = learned(system, runs, self.stages - 1)
        options = {**model.record.options, "stages": self.stages}
        record = TrainingRecord(options, {"simulation_error": _missed(system, runs)})
        return StateSpaceModel(signature, record, StateSpaceParts(system, *scalings))

    def best_order(self, train: Sequence[Trajectory]) -> int:
        """Return the order that is chosen where none is given.

        Raises
        ------
        InputError
            As `fit`.
        """
        return self._order(standardise(train, *_scalings(train)))

    def ending_after(self, stages: int) -> NonlinearStateSpace:
        """Return the learner that ends after so many stages."""
        return self._with(stages=stages)

    def seeded(self, seed: int) -> NonlinearStateSpace:
        """Return the learner that draws with another seed."""
        return self._with(seed=seed)

    def weights(self, observed: int, acted: int) -> int:
        """Return how many weights are learned for so many columns, and an order that is given."""
        assert self.order is not None
        states = self.order + (observed if self.integrating else 0)
        acted = min(acted, self.actions or acted)
        inputs = states + acted + 1
        return (
            (states + observed) * (inputs + self.features)
            + self.features * inputs
            + states * (observed + 1)
        )

    def _with(self, **changed: Any) -> NonlinearStateSpace:
        return NonlinearStateSpace(**{n: getattr(self, n) for n in self.configurable} | changed)

    def _order(self, runs: Sequence[Run]) -> int:
        seen = [run for run in self._seen(runs) if len(run.actions) > 1]
        shown = [trajectory_of(run, self.integrating) for run in seen]
        return least_order(N4SID(self.past, self.past).scores_by_order(shown, CHOSEN_FROM))

    def _seen(self, runs: Sequence[Run]) -> list[Run]:
        """Return runs with the actions that the system sees."""
        return [run._replace(actions=run.actions[:, : self.actions]) for run in runs]

    def _record(self, structure: Structure, stages: int, missed: float | None) -> TrainingRecord:
        options = {
            **structure._asdict(),
            "past": self.past,
            "stages": stages,
            "seed": self.seed,
            "actions": self.actions,
        }
        return TrainingRecord(options, {"simulation_error": missed})


def simulation_error_of(model: StateSpaceModel, recordings: Sequence[Trajectory]) -> float:
    """Return the mean squared error of a model's simulations, in its standard units.

    They are as long as those that its last stage learned from.
    """
    length = LENGTHS[max(model.record.options["stages"] - 1, 1)]
    runs = standardise(recordings, *model.parts[1:])
    stretches = cut_stretches(runs, length, max(CHECKED_TICKS // length, 4))
    error = float(simulation_error(model.parts.system, stretches))
    return error if np.isfinite(error) else np.inf


def stages_for(ticks: int) -> int:
    """Return how many stages there are for recordings of so many ticks at the most.

    A stage with room for no longer stretches than those of the stage before has nothing to add.
    """
    return 1 + sum(ticks > SETTLING + length for length in LENGTHS[:-1])


def least_order(scores: dict[int, float]) -> int:
    """Return the least order that is as good as any, given scores by order."""
    best = min(scores.values(), default=np.inf)
    return min((one for one, score in scores.items() if score <= NO_WORSE * best), default=1)


def _scalings(train: Sequence[Trajectory]) -> tuple[Scaling, Scaling]:
    """Return what makes observations and actions standard."""
    return (
        forgiving_scaling([run.observations for run in train]),
        forgiving_scaling([run.actions for run in train]),
    )


def _bounds(runs: Sequence[Run]) -> Bounds:
    learned = learned_bounds([run.observations for run in runs])
    columns = runs[0].observations.shape[1]
    return learned or Bounds(np.full(columns, -np.inf), np.full(columns, np.inf))


def _missed(system: StateSpace, runs: Sequence[Run]) -> float | None:
    """Return the root of the mean squared error of simulations, in standard deviations."""
    error = float(simulation_error(system, cut_stretches(runs, LENGTHS[1], JUDGED)))
    return float(np.sqrt(error)) if np.isfinite(error) else None
