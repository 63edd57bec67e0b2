"""Measures whether recordings can teach a model, before anything is learned from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rffpsr_ros.data.scaling import fit_scaling, standardise
from rffpsr_ros.data.subsample import evenly_spread
from rffpsr_ros.data.windows import complete_windows, count_windows
from rffpsr_ros.exploration.conditions import (
    ActionFreedom,
    ConditioningOptions,
    RegressionConditioning,
    action_freedom,
    conditioning,
)
from rffpsr_ros.exploration.policy_test import PolicyTest, blindness_test
from rffpsr_ros.exploration.rare_observation import RareObservation, rare_observation
from rffpsr_ros.exploration.response_test import response_p_values
from rffpsr_ros.exploration.response_time import ResponseTime
from rffpsr_ros.models.compressed.learner import fit_projection
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.training_set import training_signature
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.parallel.blas_threads import one_blas_thread
from rffpsr_ros.psr.importance import Importance, importance
from rffpsr_ros.recordings.trajectory import Trajectory

MOST_TICKS = 8000
"""So many ticks are looked at, in stretches spread evenly: more hardly change the verdicts."""
STRETCH = 1000
MOST_OBSERVATIONS = 10
"""More observations than these are looked at by their principal components."""
FEWEST_WINDOWS = 20
"""With fewer windows nothing is measured."""
CONSTANT = 1e-9


class ChannelCheck(NamedTuple):
    """One column of the actions."""

    name: str
    unit: str
    low: float
    high: float
    freedom: ActionFreedom | None  # None: constant, or too few windows
    response: float  # p-value of no response
    policy: float  # p-value of a blind policy
    explained: float  # by past observations, of what past actions do not explain
    explained_by_last: float  # by the last observation alone

    @property
    def constant(self) -> bool:
        """Whether the column never changes."""
        return is_constant(self.low, self.high)


@dataclass(frozen=True)
class ExplorationCheck:
    """What was measured; `findings` puts it into words."""

    ticks: int
    measured_ticks: int
    windows: int
    options: RFFPSROptions
    channels: tuple[ChannelCheck, ...]
    constant_observations: tuple[str, ...]
    conditioning: RegressionConditioning | None
    policy: PolicyTest | None
    weighting: Importance | None  # of windows, where the policy is known
    responses: tuple[ResponseTime, ...] | None = None
    """How soon observations respond to actions; None: nobody asked."""
    damage: tuple[str, ...] = ()
    """A sentence for each damaged recording; nothing else was measured on what is damaged."""
    rarest: RareObservation | None = None
    """The observation that the fewest ticks hold, if some do not."""
    on_both_sides: tuple[str, ...] = ()
    """Fields that are observations and actions."""


def is_constant(low: float, high: float) -> bool:
    """Return whether values from ``low`` to ``high`` differ by rounding only."""
    return high - low <= CONSTANT * max(abs(low), abs(high))


def check_exploration(
    trajectories: Sequence[Trajectory],
    options: RFFPSROptions | None = None,
    action_units: Sequence[str] = (),
) -> ExplorationCheck:
    """Measure whether trajectories can teach a model with these options.

    Raises
    ------
    InputError
        If the trajectories do not fit together.
    """
    options = options or RFFPSROptions()
    training_signature(trajectories)
    ticks = sum(map(len, trajectories))
    generator = np.random.default_rng(options.seed)
    with one_blas_thread():
        chosen = spread_stretches(trajectories)
        moving = _moving(chosen, "observations")
        acting = _moving(chosen, "actions")
        names = np.array(trajectories[0].observation_names)
        measured = None
        windows = sum(count_windows(len(run), options.past, options.future) for run in chosen)
        if moving.any() and acting.any():
            runs = [
                Trajectory(t.observations[:, moving], t.actions[:, acting], t.period)
                for t in chosen
            ]
            measured = _measure(runs, options, generator)
    return ExplorationCheck(
        ticks,
        sum(map(len, chosen)),
        measured.conditioning.windows if measured and measured.conditioning else windows,
        options,
        _channels(trajectories, acting, action_units, measured),
        tuple(names[~moving]),
        measured.conditioning if measured else None,
        measured.policy if measured else None,
        importance(trajectories, options.past, options.future),
        rarest=rare_observation(chosen, moving),
    )


class _Measured(NamedTuple):
    freedom: Sequence[ActionFreedom | None]
    response: Array
    policy: PolicyTest
    conditioning: RegressionConditioning | None


def _measure(
    trajectories: Sequence[Trajectory], options: RFFPSROptions, generator: np.random.Generator
) -> _Measured:
    """Measure everything on columns that change."""
    if trajectories[0].observations.shape[1] > MOST_OBSERVATIONS:
        projection = fit_projection(trajectories, MOST_OBSERVATIONS, options.seed)
        trajectories = [projection.trajectory(t) for t in trajectories]
    runs = standardise(
        trajectories,
        fit_scaling([t.observations for t in trajectories]),
        fit_scaling([t.actions for t in trajectories]),
    )
    complete = sum(
        int(complete_windows(t.observations, options.past, options.future).sum())
        for t in trajectories
    )
    enough = complete >= FEWEST_WINDOWS
    freedom: Sequence[ActionFreedom | None] = [None] * runs[0].actions.shape[1]
    posed = None
    if enough:
        freedom = action_freedom(runs, options.past, options.future)
        posed = conditioning(runs, _conditioning_options(options), generator)
    return _Measured(
        freedom,
        response_p_values(runs, generator),
        blindness_test(runs, options.past, generator),
        posed,
    )


def _conditioning_options(options: RFFPSROptions) -> ConditioningOptions:
    return ConditioningOptions(
        options.past,
        options.future,
        options.rank,
        options.state_rank,
        options.tolerance,
        options.bandwidth,
        options.ridge,
        options.regularisation,
    )


def spread_stretches(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    """Return all trajectories, or of many ticks stretches spread evenly over them."""
    if sum(map(len, trajectories)) <= MOST_TICKS:
        return list(trajectories)
    pieces = [
        trajectory.slice(start, min(start + STRETCH, len(trajectory)))
        for trajectory in trajectories
        for start in range(0, len(trajectory), STRETCH)
    ]
    mean = sum(map(len, pieces)) / len(pieces)
    count = max(1, int(MOST_TICKS / mean))
    return evenly_spread(pieces, count)


def _moving(trajectories: Sequence[Trajectory], what: str) -> NDArray[np.bool_]:
    """Return which columns change, (d,) of bool."""
    low, high = _ranges(trajectories, what)
    return np.array([not is_constant(*ends) for ends in zip(low, high, strict=True)])


def _ranges(trajectories: Sequence[Trajectory], what: str) -> tuple[Array, Array]:
    rows = np.concatenate([getattr(t, what) for t in trajectories])
    seen = np.where(np.isnan(rows), np.inf, rows), np.where(np.isnan(rows), -np.inf, rows)
    return seen[0].min(axis=0), seen[1].max(axis=0)


def _channels(
    trajectories: Sequence[Trajectory],
    acting: NDArray[np.bool_],
    units: Sequence[str],
    measured: _Measured | None,
) -> tuple[ChannelCheck, ...]:
    low, high = _ranges(trajectories, "actions")
    names = trajectories[0].action_names
    place = np.cumsum(acting) - 1
    channels = []
    for column, name in enumerate(names):
        freedom, numbers = None, [np.nan] * 4
        if measured is not None and acting[column]:
            at = int(place[column])
            policy = measured.policy
            freedom = measured.freedom[at]
            figures = (
                measured.response, policy.p_values, policy.explained, policy.explained_by_last
            )  # fmt: skip
            numbers = [float(figure[at]) for figure in figures]
        unit = units[column] if units else ""
        channels.append(
            ChannelCheck(name, unit, float(low[column]), float(high[column]), freedom, *numbers)
        )
    return tuple(channels)
