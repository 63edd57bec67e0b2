"""What learners ask of their trajectories before they learn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.models.record_check import PERIOD_TOLERANCE
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory


def listed(
    train: Iterable[Trajectory], validation: Iterable[Trajectory] | None
) -> tuple[list[Trajectory], list[Trajectory] | None]:
    """Return the trajectories that a learner was given.

    Raises
    ------
    InputError
        If it was given anything else; it says what to give.
    """
    held_out = None if validation is None else _listed(validation, "validation")
    return _listed(train, "train"), held_out


def _listed(trajectories: Iterable[Trajectory], what: str) -> list[Trajectory]:
    wanted = "give a list of trajectories, such as [Trajectory(observations, actions, period)]"
    try:
        given = list(trajectories)
    except TypeError:
        raise InputError(f"{what} is of type {type(trajectories).__name__}; {wanted}") from None
    for one in given:
        if not isinstance(one, Trajectory):
            raise InputError(f"{what} holds something of type {type(one).__name__}; {wanted}")
    return given


def training_signature(
    train: Sequence[Trajectory], validation: Sequence[Trajectory] | None = None
) -> Signature:
    """Return the signature that all trajectories share.

    Raises
    ------
    InputError
        If there is no training trajectory, one has no ticks, two differ in columns or period, or an
        observation is missing in every tick.
    """
    first = shared_signature(train, validation)
    _refuse_absent(train)
    return first


def shared_signature(
    train: Sequence[Trajectory], validation: Sequence[Trajectory] | None = None
) -> Signature:
    """Return the signature that all trajectories share, without a look at their ticks.

    Raises
    ------
    InputError
        If there is no training trajectory, one has no ticks, or two differ in columns or period.
    """
    if not train:
        raise InputError("there is no trajectory to train on; give at least one")
    first = Signature.of(train[0])
    for trajectory in [*train, *(validation or ())]:
        _refuse_other(first, trajectory)
    return first


def _refuse_other(first: Signature, trajectory: Trajectory) -> None:
    other = Signature.of(trajectory)
    named = f" '{trajectory.label}'" if trajectory.label else ""
    if not len(trajectory):
        raise InputError(f"trajectory{named} has no ticks; leave it out")
    for what in ("observation_names", "action_names"):
        if getattr(first, what) != getattr(other, what):
            raise InputError(
                f"trajectory{named} has {what.replace('_', ' ')} {list(getattr(other, what))} and"
                f" the first one {list(getattr(first, what))}; all trajectories need the same"
            )
    if abs(other.period - first.period) > PERIOD_TOLERANCE * first.period:
        raise InputError(
            f"trajectory{named} has a period of {other.period} s and the first one of"
            f" {first.period} s; all trajectories need the same"
        )


def _refuse_absent(train: Sequence[Trajectory]) -> None:
    present = np.any([~np.isnan(t.observations).all(axis=0) for t in train], axis=0)
    if not present.all():
        name = train[0].observation_names[int(np.argmin(present))]
        raise InputError(f"observation '{name}' is missing in every tick; leave it out")


def observation_mean(trajectories: Sequence[Trajectory]) -> Array:
    """Return the mean (d_o,) of all observations that are there."""
    rows = np.concatenate([trajectory.observations for trajectory in trajectories])
    mean: Array = np.nanmean(rows, axis=0)
    return mean
