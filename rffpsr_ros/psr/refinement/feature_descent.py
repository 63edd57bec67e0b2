"""Descents of feature learning: damped steps on random rollouts, the best on held-out data kept.

Steps are those of few random rollouts, so near the minimum they scatter around it. A running mean
of where they led to lies nearer to it than most of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.levenberg_marquardt import DampingRule, damped_step
from rffpsr_ros.progress import Progress
from rffpsr_ros.psr.refinement.learning_effort import FeatureLearningOptions
from rffpsr_ros.psr.refinement.learning_objective import Objective, random_mixtures
from rffpsr_ros.psr.refinement.learning_task import LearningTask
from rffpsr_ros.psr.refinement.rolling import Learnable, Rollouts
from rffpsr_ros.psr.refinement.segments import Origins, Segments, origins, thin_early

LEARNING_DAMPING = DampingRule(first=1e-2, easier=1 / 3, harder=4.0, failures=6)

KEPT_CURVATURE = 0.5
"""A step's curvature is that of its mixtures and, by this share, that of the step before: of so few
mixtures alone it is known badly."""

WORK, ENOUGH = 1e9, 5000
"""Products in a step's J^T J that need no saving: where parameters are few, mixtures are more, but
no more than this."""

AVERAGED = 0.7
"""Weight of the past in the running mean of where steps led to."""

BETTER = 0.995
"""A score must be so many times the lowest one, at the most, for a descent to be thought under
way: a running mean betters by tiny amounts for long. With .98, where there is no noise, descents
ended at up to 2.4 times the score."""

AT_FIRST = 3
"""Times as many tell a curvature that none goes before."""


class Best(NamedTuple):
    """What did best on the validation recordings, and after how many steps."""

    learnable: Learnable
    score: float
    step: int


class Descent(NamedTuple):
    """What stays the same in every descent."""

    task: LearningTask
    start: Learnable
    changes: Array
    age: Array
    options: FeatureLearningOptions
    generator: np.random.Generator
    progress: Progress

    def follow(self, best: Best, penalty: float, patience: int, steps: int) -> tuple[Best, int]:
        """Descend from the best so far, ``steps`` after the start, until nothing gets better.

        That is judged by this descent's own scores, of where steps led to and of its running mean:
        where a start regresses well, all that is near may be worse at first. Returns the best,
        which may be that given, and how many steps were taken by then.
        """
        options, like = self.options, self.start
        every = origins(self.task.train, options.horizon)
        precision, centre = _prior(self.task, like, self.changes, penalty)
        point, damping = best.learnable.flat(), LEARNING_DAMPING.first
        newest, lowest, before, mean = steps, float("inf"), None, None
        while steps < options.steps and steps - newest < patience:
            steps += 1
            given, mixtures = self._drawn(every, len(point), before is None)
            objective = Objective(self.task.predictor, given, like, precision, centre, mixtures)
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
            failed = step.damping > damping
            point, damping = step.point, step.damping
            if not failed:  # else the next one would only fail again, a Cholesky factor and a loss
                damping *= LEARNING_DAMPING.easier
            mean = point if mean is None else AVERAGED * mean + (1 - AVERAGED) * point
            for led_to in (like.at(point), like.at(mean)):
                score = self.task.score(led_to)
                if score <= BETTER * lowest:
                    lowest, newest = score, steps
                if score < best.score:
                    best = Best(led_to, score, steps)
            error = float(np.sqrt(best.score / len(self.changes)))
            self.progress("features", steps / options.steps, error)
        return best, steps

    def _drawn(self, every: Origins, parameters: int, first: bool) -> tuple[Rollouts, Array]:
        """Return a step's rollouts and mixtures of their predictions."""
        task, options = self.task, self.options
        drawn = _drawn_origins(every, task.train, self.age, options.rollouts, self.generator)
        rollouts = task.rollouts(drawn, options.horizon)
        wanted = max(min(WORK / parameters**2, ENOUGH), options.mixtures * parameters)
        return rollouts, random_mixtures(
            rollouts, wanted * (AT_FIRST if first else 1), self.generator
        )


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


def _drawn_origins(
    every: Origins, segments: Segments, age: Array, count: int, generator: np.random.Generator
) -> Origins:
    """Return ``count`` origins by chance; early ones are rarer."""
    kept = thin_early(every, segments, age, generator)
    if len(kept.tick) <= count:
        return kept
    return kept.pick(np.sort(generator.choice(len(kept.tick), count, replace=False)))
