"""Two-stage regression that goes on: new recordings add to what the two stages have summed up.

Features, scalings and the state's projection stay as they are; given these, the system map is that
of all recordings at once. Stage one is sums. Stage two regresses on what stage one's newest maps
say of every history, so the histories' features are kept too: some twenty numbers a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from rffpsr_ros.data.feature_source import FeaturesInMemory
from rffpsr_ros.data.moments import Moment, Regression
from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.data.windows import CHUNK, Windows
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import count, holds, sizes
from rffpsr_ros.psr.feature_set import FeatureSet
from rffpsr_ros.psr.stage_one import ConditionalStageOne, JointStageOne
from rffpsr_ros.psr.stage_two import stage_two
from rffpsr_ros.psr.system_map import SystemMap
from rffpsr_ros.psr.two_stage import (
    MANY_RECORDINGS,
    NewRegression,
    StageOneSums,
    StageOneWork,
    TwoStageOptions,
)

MOST_HISTORIES = 100_000
"""Of more windows some are kept, evenly spread, each of which counts for several."""


class KeptSums(NamedTuple):
    """The sums of a `Regression` of y (N, d_y) on x (N, d_x)."""

    target_input: Annotated[Array, holds("d_y", "d_x")]
    input_input: Annotated[Array, holds("d_x", "d_x")]
    windows: Annotated[float, holds(least=0)]

    @classmethod
    def of(cls, regression: Regression) -> KeptSums:
        """Return those of a regression."""
        target, inner = regression.target_input, regression.input_input
        return cls(target.total, inner.total, float(inner.count))

    def regression(self) -> Regression:
        """Return a regression that can be added to."""
        return Regression(
            Moment(self.target_input.copy(), self.windows),
            Moment(self.input_input.copy(), self.windows),
        )


class KeptStageOne(NamedTuple):
    """The sums of stage one: of Q_t, and of the parts of P_t."""

    state: Annotated[KeptSums, sizes(d_y="y_q", d_x="x_q")]
    extended: Annotated[KeptSums, sizes(d_y="y_xi", d_x="x_xi")]
    immediate: Annotated[KeptSums, sizes(d_y="y_o", d_x="x_o")]


class KeptTwoStages(NamedTuple):
    """What two-stage regression has summed up, and what it needs to go on."""

    features: FeatureSet
    """In the precision in which sums are added up; in double, they do not depend on the order."""
    projection: Annotated[Array, holds("r_psi_o*r_psi_a", "p")]
    """U^q"""
    past: Annotated[int, count("n", least=1)]
    future: Annotated[int, count("k", least=1)]
    stage_one: KeptStageOne
    histories: Annotated[Array, holds("N", "r_h+1")]
    """h of the windows, with the constant."""
    weights: Annotated[Array, holds("N", least=0)]
    """What each window counts."""
    starts: Annotated[KeptSums, sizes(d_y="r_psi_o", d_x="r_psi_a")]
    """Of psi^o on psi^a at the recordings' beginnings."""


def keep_two_stages(
    features: FeatureSet, projection: Array, source: WindowSource, options: TwoStageOptions
) -> KeptTwoStages:
    """Return what the two stages sum up over windows, with such features."""
    outputs, actions = features.future_observation.size, features.future_action.size
    found = source.total(_Pass(features, NewRegression(options)))
    histories = np.concatenate(found.histories)
    starts = Regression.zeros(outputs, actions)
    observed, acted = source.starts()
    if len(observed):
        starts.add(features.future_action(acted), features.future_observation(observed))
    kept = KeptTwoStages(
        features,
        projection,
        source.past,
        source.future,
        KeptStageOne(*(KeptSums.of(_regression_of(part)) for part in found.sums.parts)),
        histories,
        np.ones(len(histories)),
        KeptSums.of(starts),
    )
    return _limited(kept)


def learn_more(
    kept: KeptTwoStages, source: WindowSource, options: TwoStageOptions, forget: float = 0.0
) -> KeptTwoStages:
    """Return what is kept with the windows of new recordings.

    ``forget`` is the share that old windows lose of what they count.
    """
    new = keep_two_stages(kept.features, kept.projection, source, options)
    left = 1.0 - forget

    def together(old: KeptSums, added: KeptSums) -> KeptSums:
        total = old.regression().scaled(left)
        total.merge(added.regression())
        return KeptSums.of(total)

    return _limited(
        kept._replace(
            stage_one=KeptStageOne(*map(together, kept.stage_one, new.stage_one)),
            histories=np.concatenate([kept.histories, new.histories]),
            weights=np.concatenate([left * kept.weights, new.weights]),
            starts=together(kept.starts, new.starts),
        )
    )


def system_of(kept: KeptTwoStages, options: TwoStageOptions) -> SystemMap:
    """Return W_sys and Q_0 of all windows that were summed up (Algorithm 1).

    E[phi^o | q, a], which no window that is kept tells, is empty.
    """
    features = kept.features
    pairs = (
        (features.future_action.size, features.future_observation.size),
        (features.extended_action.shape[1], features.extended_observation.shape[1]),
        (features.action.size, features.products.shape[1]),
    )
    parts = []
    for (actions, outputs), sums in zip(pairs, kept.stage_one, strict=True):
        part = NewRegression(options)(kept.histories.shape[1], actions, outputs)
        assert isinstance(part, JointStageOne | ConditionalStageOne)
        part.regression = sums.regression()
        parts.append(part)
    maps = StageOneSums(list(parts)).maps(options.ridge, options.stage_one_regularisation)
    learned = stage_two(
        maps, FeaturesInMemory[Any](_chunks(kept)), kept.projection, options.stage_two_ridge
    )
    extended, immediate = learned.weights
    initial = learned.mean
    if kept.starts.windows >= MANY_RECORDINGS:
        initial = kept.starts.regression().solve(options.ridge).ravel() @ kept.projection
    return SystemMap(kept.projection, extended, immediate, np.empty((0, 0)), initial)


class _Histories(NamedTuple):
    """As much of a chunk's features as stage two asks for."""

    history: Array
    weights: Array


def _chunks(kept: KeptTwoStages) -> Sequence[_Histories]:
    return [
        _Histories(kept.histories[first : first + CHUNK], kept.weights[first : first + CHUNK])
        for first in range(0, len(kept.histories), CHUNK)
    ]


def _limited(kept: KeptTwoStages) -> KeptTwoStages:
    """Return no more histories than may be kept; those that are, count for the others."""
    windows = len(kept.histories)
    if windows <= MOST_HISTORIES:
        return kept
    chosen = np.linspace(0, windows - 1, MOST_HISTORIES).round().astype(int)
    weights = kept.weights[chosen]
    weights = weights * (kept.weights.sum() / weights.sum())
    return kept._replace(histories=kept.histories[chosen], weights=weights)


@dataclass
class _PassSums:
    """Stage one's sums over windows, and the histories of these, in order."""

    sums: StageOneSums
    histories: list[Array]

    def merge(self, other: _PassSums) -> None:
        self.sums.merge(other.sums)
        self.histories += other.histories


@dataclass(frozen=True)
class _Pass:
    """The work of keeping, on one chunk of windows."""

    features: FeatureSet
    regression: NewRegression

    def __call__(self, windows: Windows) -> _PassSums:
        chunk = self.features(windows)
        return _PassSums(StageOneWork(self.regression)(chunk), [chunk.history])


def _regression_of(part: object) -> Regression:
    assert isinstance(part, JointStageOne | ConditionalStageOne)
    return part.regression
