"""Stage two: the linear map P_t = W Q_t between what stage one returns.

Paper, "S2 Regression and Learning Algorithm". Features and filter are those of an instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from rffpsr_ros.data.feature_source import FeatureSource
from rffpsr_ros.data.moments import Moment, Regression, ridge_regression
from rffpsr_ros.data.principal_directions import principal_directions
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.instance_features import InstanceFeatures
from rffpsr_ros.psr.stage_one import ConditionalOperators

WindowsT = TypeVar("WindowsT", bound=InstanceFeatures)

SideRegression = Callable[[Array, WindowsT], tuple[Array, Array]]
"""Inputs and targets of another regression on the states (N, p) of a chunk."""


class StageOneMaps(NamedTuple):
    """The fitted stage-one maps from history h."""

    state: ConditionalOperators  # Q_t
    extended: tuple[ConditionalOperators, ...]  # the parts of P_t


class StageTwo(NamedTuple):
    """What the two stages learn, with p state features q = U^q vec Q.

    Operators are flattened with the action's index fastest.
    """

    projection: Array  # U^q (outputs * actions, p)
    weights: tuple[Array, ...]  # W: vec P = W q for each part of P_t, (outputs * actions, p)
    mean: Array  # (p,), the average state
    second: Array  # (p, p), the states' second moment
    side_weights: Array  # (targets, inputs) of the side regression; empty without one


def project_states(
    maps: StageOneMaps,
    chunks: FeatureSource[WindowsT],
    rank: int,
    tolerance: float,
    generator: np.random.Generator,
) -> Array:
    """Return U^q: the principal directions of vec Q_t over a sample of the training windows."""

    def states() -> Iterable[Array]:
        return (_weighted(_flat(maps.state(c.history)), c.weights) for c in chunks.sample)

    size = next(iter(states())).shape[1]
    return principal_directions(states, size, rank, tolerance, generator)


def stage_two(
    maps: StageOneMaps,
    chunks: FeatureSource[WindowsT],
    projection: Array,
    ridge: float,
    side: SideRegression[WindowsT] | None = None,
) -> StageTwo:
    """Return the ridge solution of P_t = W Q_t over the training windows (Algorithm 1).

    ``side`` is another regression on the states, over a sample of the windows.
    """
    (learned,) = stage_two_nested(maps, chunks, projection, ridge, [projection.shape[1]])
    if side is None:
        return learned
    further: Regression | None = None
    for chunk in chunks.sample:
        inputs, targets = side(_flat(maps.state(chunk.history)) @ projection, chunk)
        further = further or Regression.zeros(targets.shape[1], inputs.shape[1])
        further.add(inputs, targets, chunk.weights)
    assert further is not None, "training data hold at least one window"
    return learned._replace(side_weights=further.solve(ridge))


def stage_two_nested(
    maps: StageOneMaps,
    chunks: FeatureSource[WindowsT],
    projection: Array,
    ridge: float,
    sizes: Sequence[int],
) -> list[StageTwo]:
    """Return stage two with the first directions of the projection only, for each number of them.

    One pass over the windows serves all: the moments of the fewer are parts of those of the most.
    """
    sums = chunks.total(_StageTwoWork(maps, projection))
    target_input, input_input = sums.system.target_input.mean, sums.system.input_input.mean
    ends, mean = np.cumsum(sums.sizes)[:-1], sums.mean.mean[:, 0]
    learned = []
    for size in sizes:
        second = input_input[:size, :size]
        weights = ridge_regression(target_input[:, :size], second, ridge)
        parts = tuple(np.split(weights, ends))
        learned.append(StageTwo(projection[:, :size], parts, mean[:size], second, np.empty((0, 0))))
    return learned


@dataclass
class _StageTwoSums:
    """The moments of stage two."""

    system: Regression
    mean: Moment
    sizes: tuple[int, ...]  # of the parts of P_t

    def merge(self, other: _StageTwoSums) -> None:
        self.system.merge(other.system)
        self.mean.merge(other.mean)


@dataclass(frozen=True)
class _StageTwoWork:
    """The sums of stage two over one chunk."""

    maps: StageOneMaps
    projection: Array

    def __call__(self, chunk: InstanceFeatures) -> _StageTwoSums:
        states = _flat(self.maps.state(chunk.history)) @ self.projection
        parts = [_flat(part(chunk.history)) for part in self.maps.extended]
        sizes = tuple(part.shape[1] for part in parts)
        sums = _StageTwoSums(
            Regression.zeros(sum(sizes), states.shape[1]), Moment.zeros(states.shape[1], 1), sizes
        )
        sums.system.add(states, np.hstack(parts), chunk.weights)
        sums.mean.add(states, np.ones((len(states), 1)), chunk.weights)
        return sums


def _weighted(rows: Array, weights: Array | None) -> Array:
    """Return rows that count in second moments as the windows do."""
    return rows if weights is None else rows * np.sqrt(weights)[:, None]


def _flat(operators: Array) -> Array:
    """Return operators (N, outputs, actions) as rows."""
    return operators.reshape(len(operators), -1)
