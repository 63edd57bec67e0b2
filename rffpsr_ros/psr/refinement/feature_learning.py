"""Refinement that learns the features: units, readout and ARX term in one damped step.

On fixed random features a well-regressed readout is already near its best; what is left to gain
lies in the features. Many units are drawn; the few that regress best are taken, or the first if
these roll out better, and then moved together with what reads them, by Levenberg-Marquardt on the
rolled-out error: its logarithm, summed over horizons and observations, so that each of them counts
alike however large its error is. What did best on the validation recordings is kept, the start if
need be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.moments import Regression
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.forward_selection import selected_units
from rffpsr_ros.progress import Progress, silent
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.refinement.feature_descent import Best, Descent
from rffpsr_ros.psr.refinement.learning_effort import FeatureLearningOptions
from rffpsr_ros.psr.refinement.learning_task import LearningTask, learning_task
from rffpsr_ros.psr.refinement.rolling import Learnable, PredictedTick, Rollouts, roll
from rffpsr_ros.psr.refinement.segments import Segments, origins
from rffpsr_ros.psr.refinement.whole_turns import turning_units

RIDGES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
"""Of the regression that learning starts from; in units of the squared change per tick."""

REGRESSED = 20_000
"""Ticks that the start is regressed on, about."""

DRAWN_VALUES, SELECTED = 800, 5000
"""Values of units that are drawn, of which a few are selected, and ticks that tell, about."""


class LearnedFeatures(NamedTuple):
    """The predictor with learned features, its validation score, and how it went."""

    structure: FixedStructure
    parameters: TrainableParameters
    score: float
    initial_score: float
    steps: int
    per_value: float
    """Parameters for each value that was learned from."""
    led_later: bool
    """Whether learning is to be led on."""

    def notes(self) -> dict[str, float]:
        """Return what a model file keeps of it."""
        return {
            "feature_score_before": self.initial_score,
            "feature_score_after": self.score,
            "feature_steps": self.steps,
            "feature_weights_per_value": self.per_value,
            "feature_led_later": self.led_later,
        }


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
    are in ``start``; with `FeatureLearningOptions.state` its state takes part in the readout. Where
    its features are learned ones of the asked kind, learning goes on from these.
    """
    task = learning_task(start, structure, changes, train, validation, options)
    known = task.known()
    if known is None:
        learnable = _regressed(task, changes, options, generator)
    elif options.read_anew:
        anew = _read_anew(task, known.units, _one_tick_rollouts(task), changes)
        learnable = min([known, *anew], key=task.score)
    else:
        learnable = known
    initial = task.score(learnable)
    best = Best(learnable, initial, 0)
    descent = Descent(task, learnable, changes, age, options, generator, progress)
    steps = 0
    per_value = learnable.flat().size / max(int(train.target.sum()), 1)
    led_later = options.led_later and per_value < options.plenty
    descents = list(zip(options.penalties, options.patience, strict=True))
    for penalty, patience in descents[: 1 if led_later else None]:
        best, steps = descent.follow(best, penalty, patience, steps)
    found = task.outward(best.learnable)
    return LearnedFeatures(*found, best.score, initial, best.step, per_value, led_later)


def _regressed(
    task: LearningTask,
    changes: Array,
    options: FeatureLearningOptions,
    generator: np.random.Generator,
) -> Learnable:
    """Return the drawn units, and the readout of these, that roll out best on held-out data.

    Those that regress best, of many, or the first: one tick in noise may tell of nothing but that.
    """
    rollouts = _one_tick_rollouts(task)
    drawn, selected = _drawn(task, changes, options, rollouts, generator)
    candidates = [
        candidate
        for units in (drawn[selected], drawn[: options.units])
        for candidate in _read_anew(task, units, rollouts, changes)
    ]
    return min(candidates, key=task.score)


def _one_tick_rollouts(task: LearningTask) -> Rollouts:
    """Return rollouts of one tick, evenly spread over the recordings."""
    every = origins(task.train, 1)
    past = task.predictor.structure.past
    every = every.pick(~task.train.first[every.segment] | (every.tick >= past))
    stride = max(1, len(every.tick) // REGRESSED)
    return task.rollouts(every.pick(np.arange(0, len(every.tick), stride)), 1)


def _read_anew(
    task: LearningTask, units: Array, rollouts: Rollouts, changes: Array
) -> list[Learnable]:
    """Return units with readouts that are regressed on one tick, one for each ridge."""
    learnable = _repeating(task, units, rollouts)
    regression, _ = _one_tick(task, learnable, rollouts, changes)
    same = learnable.readout
    return [
        learnable._replace(readout=same + regression.solve(ridge).T * changes) for ridge in RIDGES
    ]


def _drawn(
    task: LearningTask,
    changes: Array,
    options: FeatureLearningOptions,
    rollouts: Rollouts,
    generator: np.random.Generator,
) -> tuple[Array, list[int]]:
    """Return many units V (D, d_x), and the places of the few of them that regress best."""
    known = task.predictor
    units, size = known.units, len(known.window_map)
    none = _repeating(task, np.zeros((0, size + units.offset)), rollouts)
    windows = known.windows(_first_tick(task, none, rollouts).window)[:, :size]
    many = max(options.units, DRAWN_VALUES // units.each)
    drawn = units.drawn(windows, many, generator)
    if units.periodic and any(options.turns):
        newest = (known.structure.narx_past - 1) * len(changes)
        drawn = np.concatenate([drawn, turning_units(drawn, newest, options.turns)])
    few = rollouts.pick(slice(None, None, max(1, len(windows) // SELECTED)))
    regression, powers = _one_tick(task, _repeating(task, drawn, few), few, changes)
    inputs, cross = regression.input_input.mean, regression.target_input.mean.T
    return drawn, selected_units(inputs, cross, powers, len(drawn), units.each, options.units)


def _one_tick(
    task: LearningTask, learnable: Learnable, rollouts: Rollouts, changes: Array
) -> tuple[Regression, Array]:
    """Return the regression of the first tick's changes, in units of the usual ones.

    And their mean squares (d_o,).
    """
    seen = _first_tick(task, learnable, rollouts).inputs
    inputs = task.predictor.inputs(learnable, seen)
    newest = rollouts.observations[:, task.predictor.structure.past - 1]
    counts = np.isfinite(rollouts.target[:, 0]).all(axis=1)
    targets = (rollouts.target[:, 0] - newest)[counts] / changes
    regression = Regression.zeros(len(changes), inputs.shape[1])
    regression.add(inputs[counts], targets)
    return regression, np.mean(targets**2, axis=0)


def _first_tick(task: LearningTask, learnable: Learnable, rollouts: Rollouts) -> PredictedTick:
    plain = task.predictor.of_windows(learnable)
    tick, _, _ = next(roll(task.predictor, plain, rollouts))
    return tick


def _repeating(task: LearningTask, units: Array, rollouts: Rollouts) -> Learnable:
    """Return units with the readout (K, d_o) that repeats the last observation."""
    known, columns = task.predictor, rollouts.target.shape[2]
    own = known.units.each * len(units)
    joint = rollouts.state.shape[1] * rollouts.action_features.shape[2]
    same = np.zeros((own + len(known.arx_map) + joint, columns))
    first = own + (known.structure.arx_past - 1) * columns
    same[first : first + columns] = np.eye(columns)
    return Learnable(units, same)
