"""Two-stage regression for predictive state controlled models.

Paper, Algorithm 1, and algorithm Learn-RFF-PSR of its supplement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from rffpsr_ros.data.feature_source import FeaturesOfWindows, FeatureSource
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.data.windows import Windows
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.packing import khatri_rao
from rffpsr_ros.psr.feature_set import (
    PROJECTION_WINDOWS,
    FeatureOptions,
    FeatureSet,
    FittedFeatures,
    WindowFeatures,
    fit_features,
)
from rffpsr_ros.psr.importance import WeightedFeatures
from rffpsr_ros.psr.instance_features import InstanceFeatures
from rffpsr_ros.psr.stage_one import (
    ConditionalStageOne,
    ConditioningForm,
    JointStageOne,
    StageOne,
)
from rffpsr_ros.psr.stage_two import StageOneMaps, WindowsT, project_states, stage_two
from rffpsr_ros.psr.system_map import SystemMap, initial_from_starts

StageOneMethod = Literal["joint", "conditional", "random"]

FitFeatures = Callable[[WindowSource, FeatureOptions, np.random.Generator], FittedFeatures]
"""How an instance finds its features."""

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
    lost: dict[str, float]  # share of each map's second moment that its projection leaves out


def two_stage_regression(
    data: Sequence[Run] | WindowSource,
    options: TwoStageOptions,
    generator: np.random.Generator,
    progress: Callable[[str, float], None] | None = None,
    weighted: WindowSource | None = None,
    fit: FitFeatures = fit_features,
) -> TwoStageResult:
    """Learn W_sys and Q_0 from standardised runs (Algorithms 1 and Learn-RFF-PSR).

    ``weighted`` holds the same windows as ``data`` with what each counts in stage one
    (`WeightedRecording`); ``fit`` finds the features.
    """
    source = _as_source(data, options)
    if progress is not None:
        progress("features", 0.0)
    fitted = fit(source, options, generator)
    features = fitted.features.astype(fitted.precision)
    chunks = FeaturesOfWindows(source, features.__call__, fitted.sample)
    counted = chunks
    if weighted is not None:
        counted = weighted_features(weighted, features.__call__)
    system = _learn_system(features, source, counted, chunks, options, generator, progress)
    return TwoStageResult(fitted.features, system, fitted.lost)


def learn_system(
    features: FeatureSet,
    data: Sequence[Run] | WindowSource,
    options: TwoStageOptions,
    generator: np.random.Generator,
) -> SystemMap:
    """Learn W_sys and Q_0, given features whose extension by a tick is a product.

    Features are computed in their own precision.
    """
    source = _as_source(data, options)
    chunks = FeaturesOfWindows(
        source, features.__call__, source.sample(PROJECTION_WINDOWS, generator)
    )
    return _learn_system(features, source, chunks, chunks, options, generator, None)


def weighted_features(
    source: WindowSource, features: Callable[[Windows, Array], WindowsT]
) -> FeaturesOfWindows[WindowsT]:
    """Return the features and weights of windows whose last action column is their weight.

    Their sample, which stage one does not ask for, is empty.
    """
    nothing = Windows(*(np.empty((0, 0, 0)),) * 4)
    return FeaturesOfWindows(source, WeightedFeatures(features).__call__, nothing)


def _as_source(data: Sequence[Run] | WindowSource, options: TwoStageOptions) -> WindowSource:
    if isinstance(data, WindowSource):
        return data
    return WindowSource.of_runs(data, options.past, options.future)


def _learn_system(
    features: FeatureSet,
    source: WindowSource,
    counted: FeaturesOfWindows[WindowFeatures],
    chunks: FeaturesOfWindows[WindowFeatures],
    options: TwoStageOptions,
    generator: np.random.Generator,
    progress: Callable[[str, float], None] | None,
) -> SystemMap:
    """Return the system map; ``counted`` are the ``chunks`` with what windows count."""
    report = progress or (lambda stage, fraction: None)

    report("stage one", 0.0)
    maps = stage_one(
        counted, NewRegression(options), options.ridge, options.stage_one_regularisation
    )
    report("stage two", 0.0)
    projection = project_states(maps, chunks, options.state_rank, options.tolerance, generator)
    learned = stage_two(maps, chunks, projection, options.stage_two_ridge, _expected_observation)
    extended, immediate = learned.weights
    system = SystemMap(projection, extended, immediate, learned.side_weights.T, learned.mean)
    starts = source.starts()
    if len(starts[0]) >= MANY_RECORDINGS:
        initial = initial_from_starts(features, projection, *starts, options.ridge)
        system = system._replace(initial=initial)
    return _randomise(system, generator) if options.stage_one == "random" else system


def stage_one(
    chunks: FeatureSource[WindowsT],
    regression: Callable[[int, int, int], StageOne],
    ridge: float,
    regularisation: float,
) -> StageOneMaps:
    """Fit the maps from history to conditional operators in one pass.

    ``regression`` makes an empty one for the numbers of history, action and output features.
    """
    return chunks.total(StageOneWork(regression)).maps(ridge, regularisation)


@dataclass
class StageOneSums:
    """The regressions of stage one: of Q_t, then of the parts of P_t."""

    parts: list[StageOne]

    def maps(self, ridge: float, regularisation: float) -> StageOneMaps:
        """Return the fitted maps."""
        state, *extended = (part.solve(ridge, regularisation) for part in self.parts)
        return StageOneMaps(state, tuple(extended))

    def merge(self, other: StageOneSums) -> None:
        """Add the sums over other windows."""
        for ours, theirs in zip(self.parts, other.parts, strict=True):
            ours.merge(theirs)


@dataclass(frozen=True)
class NewRegression:
    """Makes empty stage-one regressions, here or in another process."""

    options: TwoStageOptions

    def __call__(self, history: int, actions: int, outputs: int) -> StageOne:
        """Return an empty one for the numbers of history, action and output features."""
        if self.options.stage_one == "conditional":
            return ConditionalStageOne(history, actions, outputs)
        return JointStageOne(history, actions, outputs, self.options.conditioning)


@dataclass(frozen=True)
class StageOneWork:
    """The sums of stage one over one chunk."""

    regression: Callable[[int, int, int], StageOne]

    def __call__(self, chunk: InstanceFeatures) -> StageOneSums:
        """Return the sums over the windows of a chunk."""
        parts = []
        for pair in (chunk.state, *chunk.extended):
            sizes = chunk.history.shape[1], pair.actions.shape[1], pair.outputs.shape[1]
            parts.append(self.regression(*sizes))
            parts[-1].add(chunk.history, pair.actions, pair.outputs, chunk.weights)
        return StageOneSums(parts)


def _expected_observation(states: Array, chunk: WindowFeatures) -> tuple[Array, Array]:
    """Return the regression of E[phi^o | q, a], the first moment beside P^o."""
    return khatri_rao(states, chunk.action), chunk.observation


def _randomise(system: SystemMap, generator: np.random.Generator) -> SystemMap:
    """Return a system map of random weights as large as the learned ones: the paper's control."""

    def like(weights: Array) -> Array:
        drawn = generator.standard_normal(weights.shape)
        return np.asarray(drawn * np.linalg.norm(weights) / np.linalg.norm(drawn))

    return SystemMap(system.state_projection, *(like(part) for part in system[1:]))
