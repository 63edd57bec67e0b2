"""Two-stage regression for predictive state controlled models: Algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from rffpsr_ros.learning.arrays import Array, khatri_rao
from rffpsr_ros.learning.feature_set import (
    FeatureOptions,
    FeatureSet,
    WindowFeatures,
    feature_chunks,
    fit_features,
)
from rffpsr_ros.learning.scaling import Run
from rffpsr_ros.learning.stage_one import (
    ConditionalStageOne,
    ConditioningForm,
    JointStageOne,
    StageOne,
)
from rffpsr_ros.learning.stage_two import (
    Chunks,
    StageOneMaps,
    WindowsT,
    project_states,
    stage_two,
)
from rffpsr_ros.learning.system_map import SystemMap, initial_from_starts
from rffpsr_ros.learning.windows import first_windows

StageOneMethod = Literal["joint", "conditional", "random"]

MANY_RECORDINGS = 50
"""From so many recordings on, Algorithm 1 regresses Q_0 on their starts instead of averaging."""


@dataclass(frozen=True)
class TwoStageOptions(FeatureOptions):
    """What the two stages need to know beyond the features."""

    stage_one: StageOneMethod = "joint"
    conditioning: ConditioningForm = "squared"
    ridge: float = 1e-6
    stage_two_ridge: float = 1e-6
    stage_one_regularisation: float = 1e-3
    state_rank: int = 20


class TwoStageResult(NamedTuple):
    """Features and system map learned by two-stage regression."""

    features: FeatureSet
    system: SystemMap


def two_stage_regression(
    runs: Sequence[Run], options: TwoStageOptions, generator: np.random.Generator
) -> TwoStageResult:
    """Learn W_sys and Q_0 from standardised runs (Algorithms 1 and Learn-RFF-PSR)."""
    features = fit_features(runs, options, generator)
    return TwoStageResult(features, learn_system(features, runs, options, generator))


def learn_system(
    features: FeatureSet,
    runs: Sequence[Run],
    options: TwoStageOptions,
    generator: np.random.Generator,
) -> SystemMap:
    """Learn W_sys and Q_0, given features whose extension by a tick is a product."""
    chunks = feature_chunks(features.__call__, runs, options)

    def regression(history: int, actions: int, outputs: int) -> StageOne:
        if options.stage_one == "conditional":
            return ConditionalStageOne(history, actions, outputs)
        return JointStageOne(history, actions, outputs, options.conditioning)

    maps = stage_one(chunks, regression, options.ridge, options.stage_one_regularisation)
    projection = project_states(maps, chunks, options.state_rank, options.tolerance, generator)
    learned = stage_two(maps, chunks, projection, options.stage_two_ridge, _expected_observation)
    extended, immediate = learned.weights
    system = SystemMap(projection, extended, immediate, learned.beside.T, learned.mean)
    starts = first_windows(runs, options.future)
    if len(starts[0]) >= MANY_RECORDINGS:
        initial = initial_from_starts(features, projection, *starts, options.ridge)
        system = system._replace(initial=initial)
    return _randomise(system, generator) if options.stage_one == "random" else system


def stage_one(
    chunks: Chunks[WindowsT],
    regression: Callable[[int, int, int], StageOne],
    ridge: float,
    regularisation: float,
) -> StageOneMaps:
    """Fit the maps from history to conditional operators in one pass.

    ``regression`` makes an empty one for the numbers of history, action and output features.
    """
    first = next(iter(chunks()))
    parts = [
        regression(first.history.shape[1], pair.actions.shape[1], pair.outputs.shape[1])
        for pair in (first.state, *first.extended)
    ]
    for chunk in chunks():
        for part, pair in zip(parts, (chunk.state, *chunk.extended), strict=True):
            part.add(chunk.history, pair.actions, pair.outputs)
    state, *extended = (part.solve(ridge, regularisation) for part in parts)
    return StageOneMaps(state, tuple(extended))


def _expected_observation(states: Array, chunk: WindowFeatures) -> tuple[Array, Array]:
    """Return the regression of E[phi^o | q, a], the first moment beside P^o."""
    return khatri_rao(states, chunk.action), chunk.observation


def _randomise(system: SystemMap, generator: np.random.Generator) -> SystemMap:
    """Return a system map of random weights as large as the learned ones: the paper's control."""

    def like(weights: Array) -> Array:
        drawn = generator.standard_normal(weights.shape)
        return np.asarray(drawn * np.linalg.norm(weights) / np.linalg.norm(drawn))

    return SystemMap(system.state_projection, *(like(part) for part in system[1:]))
