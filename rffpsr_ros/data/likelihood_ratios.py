"""Likelihood ratios of recordings whose policy is known: b(a) / pi(a), tick by tick.

The blind policy b is the recordings' own distribution of actions, independent of observations: the
ratios of a policy that is blind itself are then near one, and none is larger than need be.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

MOST_VALUES = 32
"""Actions that take at most so many different values are discrete."""
LARGEST_LOGARITHM = 30.0
"""Ratios are kept between its exponentials; `importance` limits weights far below."""


LAST_OBSERVATION = 1
"""Ticks that a policy reads which chooses by the last observation."""


def with_log_probability(
    trajectories: Sequence[Trajectory], column: int, memory: int | None = None
) -> list[Trajectory]:
    """Return trajectories without one column of the actions, log pi(a) of the others.

    ``memory`` is the number of recorded ticks that the policy read; None: it may have read more.
    """
    kept = [np.delete(trajectory.actions, column, axis=1) for trajectory in trajectories]
    blind = _blind_log_probabilities(kept)
    return [
        _with_ratios(trajectory, expected - trajectory.actions[:, column], memory, actions, column)
        for trajectory, actions, expected in zip(trajectories, kept, blind, strict=True)
    ]


def with_gaussian_policy(
    trajectories: Sequence[Trajectory], gains: Array, offset: Array, deviation: Array
) -> list[Trajectory]:
    """Return trajectories of the policy a_t ~ N(gains o_{t-1} + offset, deviation^2).

    ``gains`` (d_a, d_o), ``offset`` and ``deviation`` (d_a,). A tick whose last observation is not
    known counts as blind.
    """
    blind = _blind_log_probabilities([trajectory.actions for trajectory in trajectories])
    weighted = []
    for trajectory, expected in zip(trajectories, blind, strict=True):
        error = trajectory.actions[1:] - trajectory.observations[:-1] @ gains.T - offset
        chosen = _log_normal(error / deviation) - np.log(deviation).sum()
        difference = np.concatenate([[0.0], expected[1:] - chosen])
        weighted.append(_with_ratios(trajectory, np.nan_to_num(difference), LAST_OBSERVATION))
    return weighted


def with_table_policy(
    trajectories: Sequence[Trajectory], seen: Array, acted: Array, chances: Array
) -> list[Trajectory]:
    """Return trajectories of a policy that chooses by what was seen last: chances[s, a].

    ``seen`` (S, d_o) and ``acted`` (A, d_a) hold the observations and actions of the rows and
    columns of ``chances`` (S, A). A tick whose last observation is not among them counts as blind.

    Raises
    ------
    InputError
        If an action was recorded that the table does not know, or gives no chance.
    """
    blind = _blind_log_probabilities([trajectory.actions for trajectory in trajectories])
    weighted = []
    for trajectory, expected in zip(trajectories, blind, strict=True):
        rows = _places(trajectory.observations[:-1], seen)
        columns = _places(trajectory.actions[1:], acted)
        chance = np.where(columns >= 0, chances[rows, columns], 0.0)
        wrong = np.flatnonzero((rows >= 0) & (chance <= 0))
        if len(wrong):
            tick = int(wrong[0])
            raise InputError(
                f"the policy's table gives action {trajectory.actions[tick + 1].tolist()} after"
                f" observation {trajectory.observations[tick].tolist()} no chance, but it was"
                f" recorded at tick {tick + 1}{trajectory.label and f' of {trajectory.label}'}"
            )
        ratio = expected[1:] - np.log(np.where(rows >= 0, chance, 1.0))
        difference = np.concatenate([[0.0], np.where(rows >= 0, ratio, 0.0)])
        weighted.append(_with_ratios(trajectory, difference, LAST_OBSERVATION))
    return weighted


def _places(rows: Array, values: Array) -> Array:
    """Return which of the values (n, d) each row (N, d) is, (N,); -1 for none."""
    equal = (rows[:, None] == values).all(axis=2)
    return np.where(equal.any(axis=1), equal.argmax(axis=1), -1)


def _blind_log_probabilities(actions: Sequence[Array]) -> list[Array]:
    """Return log b(a) of every action: frequencies of discrete ones, else a fitted Gaussian."""
    rows = np.concatenate(actions)
    ends = np.cumsum([len(part) for part in actions])[:-1]
    values, places, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    if len(values) <= MOST_VALUES:
        return np.split(np.log(counts / len(rows))[places.ravel()], ends)
    covariance = np.atleast_2d(np.cov(rows.T))
    factor = np.linalg.cholesky(covariance + 1e-12 * np.trace(covariance) * np.eye(len(covariance)))
    scaled = np.linalg.solve(factor, (rows - rows.mean(axis=0)).T).T
    return np.split(_log_normal(scaled) - np.log(np.diag(factor)).sum(), ends)


def _log_normal(scaled: Array) -> Array:
    return np.asarray(-0.5 * (scaled**2 + np.log(2 * np.pi)).sum(axis=1))


def _with_ratios(
    trajectory: Trajectory,
    difference: Array,
    memory: int | None,
    actions: Array | None = None,
    column: int | None = None,
) -> Trajectory:
    """Return a trajectory with ratios and its policy's memory, of other actions where given."""
    names = [name for i, name in enumerate(trajectory.action_names) if i != column]
    ratios = np.exp(np.clip(difference, -LARGEST_LOGARITHM, LARGEST_LOGARITHM))
    return Trajectory(
        trajectory.observations,
        trajectory.actions if actions is None else actions,
        trajectory.period,
        trajectory.observation_names,
        names,
        trajectory.label,
        ratios,
        memory,
    )
