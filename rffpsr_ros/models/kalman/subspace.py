"""A linear system from the two stages: linear features, the additive class, and the realisation.

The instance "Kalman filter with inputs" of the paper's appendix. Its features are the windows
themselves, its function class is Gamma h + B psi^a, and the extended future is simply one tick
longer, so that P_t = W Q_t holds the system's matrices in plain sight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rffpsr_ros.data.feature_source import FeaturesOfWindows
from rffpsr_ros.data.scaling import Run
from rffpsr_ros.data.window_source import WindowSource
from rffpsr_ros.data.windows import Windows, first_windows, flatten
from rffpsr_ros.models.kalman.linear_system import LinearSystem, with_stable_gain
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.instance_features import FeaturePair
from rffpsr_ros.psr.stage_one import AdditiveOperators, AdditiveStageOne
from rffpsr_ros.psr.stage_two import (
    StageOneMaps,
    StageTwo,
    project_states,
    stage_two_nested,
)
from rffpsr_ros.psr.two_stage import MANY_RECORDINGS, stage_one, weighted_features

SAMPLE = 20_000
"""Windows that the states' directions are found on, at the most."""

NOISE_FLOOR = 1e-10
"""Variance, in standard units, added to innovations: without noise the gain tends to zero."""


@dataclass(frozen=True)
class SubspaceOptions:
    """Sizes and ridge of the two stages; see `Kalman` for their meaning to a user."""

    past: int
    future: int
    ridge: float


class LinearFeatures(NamedTuple):
    """The windows as they are, as the stages ask for them."""

    history: Array  # h: the past and a constant
    state: FeaturePair  # a_{t:t+k-1} and o_{t:t+k-1}
    extended: tuple[FeaturePair]  # a_{t:t+k} and o_{t:t+k}
    weights: Array | None = None  # what each window counts; None: once

    @classmethod
    def of(cls, windows: Windows, weights: Array | None = None) -> LinearFeatures:
        """Return the features of windows, and what each counts."""
        history = windows.history
        return cls(
            np.hstack([history, np.ones((len(history), 1))]),
            FeaturePair(windows.future_actions, windows.future_observations),
            (FeaturePair(flatten(windows.actions), flatten(windows.observations)),),
            weights,
        )


def learn_linear_systems(
    runs: Sequence[Run],
    options: SubspaceOptions,
    orders: Sequence[int],
    counted: Sequence[Run] | None = None,
) -> list[LinearSystem]:
    """Return the linear systems of each order that the two stages find in standardised runs.

    ``counted`` are the runs with what each window counts in stage one, see `weighted_runs`.
    """
    generator = np.random.default_rng(0)
    source = WindowSource.of_runs(runs, options.past, options.future)
    chunks = FeaturesOfWindows(source, LinearFeatures.of, source.sample(SAMPLE, generator))
    weighted = chunks
    if counted is not None:
        weighed = WindowSource.of_runs(counted, options.past, options.future)
        weighted = weighted_features(weighed, LinearFeatures.of)
    maps = stage_one(weighted, AdditiveStageOne, options.ridge, 0.0)
    projection = project_states(maps, chunks, max(orders), 0.0, generator)
    return [
        _start(realise(maps, two, runs), maps, two.projection, runs, options.future)
        for two in stage_two_nested(maps, chunks, projection, options.ridge, orders)
    ]


def realise(maps: StageOneMaps, two: StageTwo, runs: Sequence[Run]) -> LinearSystem:
    """Read the system off P_t = W Q_t: row block 0 is o_t, the others are the next state's.

    The gain follows from what stage one leaves over: the innovation e_t, and by how much the
    future that follows it differs from what was expected.
    """
    (extended,) = maps.extended
    assert isinstance(extended, AdditiveOperators)
    (weights,), into_state = two.weights, two.projection.T
    columns, acted = runs[0].observations.shape[1], runs[0].actions.shape[1]
    innovation = extended.residual[:columns, :columns]
    following = into_state @ extended.residual[columns:, :columns]
    floored = innovation + NOISE_FLOOR * np.eye(columns)
    system = LinearSystem(
        transition=into_state @ weights[columns:],
        action=into_state @ extended.actions[columns:, :acted],
        output=weights[:columns],
        feedthrough=extended.actions[:columns, :acted],
        gain=np.linalg.solve(floored, following.T).T,
        innovation=innovation,
        start=two.mean,
        start_covariance=two.second - np.outer(two.mean, two.mean),
    )
    return with_stable_gain(system)


def _start(
    system: LinearSystem, maps: StageOneMaps, projection: Array, runs: Sequence[Run], future: int
) -> LinearSystem:
    """Return the system with the initial state that many recordings' starts show (Algorithm 1)."""
    observations, actions = first_windows(runs, future)
    if len(observations) < MANY_RECORDINGS:
        return system
    assert isinstance(maps.state, AdditiveOperators)
    starts = (observations - actions @ maps.state.actions.T) @ projection
    noise = projection.T @ maps.state.residual @ projection
    values, vectors = np.linalg.eigh(np.cov(starts, rowvar=False, ddof=0) - noise)
    covariance = (vectors * np.maximum(values, 0)) @ vectors.T
    return system._replace(start=starts.mean(0), start_covariance=covariance)
