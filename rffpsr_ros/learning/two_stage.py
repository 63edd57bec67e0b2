"""Two-stage regression for predictive state controlled models: Algorithm 1 of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from rffpsr_ros.learning.arrays import Array
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
    StageOneMaps,
    SystemMap,
    initial_from_starts,
    project_states,
    stage_two,
)
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
    chunks = feature_chunks(features, runs, options)
    maps = _stage_one(chunks, options)
    projection = project_states(maps, chunks, options.state_rank, options.tolerance, generator)
    system = stage_two(maps, chunks, projection, options.stage_two_ridge)
    starts = first_windows(runs, options.future)
    if len(starts[0]) >= MANY_RECORDINGS:
        initial = initial_from_starts(features, projection, *starts, options.ridge)
        system = system._replace(initial=initial)
    if options.stage_one == "random":
        system = _randomise(system, generator)
    return TwoStageResult(features, system)


def _stage_one(
    chunks: Callable[[], Iterable[WindowFeatures]], options: TwoStageOptions
) -> StageOneMaps:
    """Fit the three maps from history to conditional operators in one pass."""
    first = next(iter(chunks()))

    def regression(actions: int, outputs: int) -> StageOne:
        history = first.history.shape[1]
        if options.stage_one == "conditional":
            return ConditionalStageOne(history, actions, outputs)
        return JointStageOne(history, actions, outputs, options.conditioning)

    state = regression(first.future_action.shape[1], first.future_observation.shape[1])
    extended = regression(first.extended_action.shape[1], first.extended_observation.shape[1])
    immediate = regression(first.action.shape[1], first.products.shape[1])
    for chunk in chunks():
        state.add(chunk.history, chunk.future_action, chunk.future_observation)
        extended.add(chunk.history, chunk.extended_action, chunk.extended_observation)
        immediate.add(chunk.history, chunk.action, chunk.products)
    solved = (
        part.solve(options.ridge, options.stage_one_regularisation)
        for part in (state, extended, immediate)
    )
    return StageOneMaps(*solved)


def _randomise(system: SystemMap, generator: np.random.Generator) -> SystemMap:
    """Return a system map of random weights as large as the learned ones: the paper's control."""

    def like(weights: Array) -> Array:
        drawn = generator.standard_normal(weights.shape)
        return np.asarray(drawn * np.linalg.norm(weights) / np.linalg.norm(drawn))

    return SystemMap(system.state_projection, *(like(part) for part in system[1:]))
