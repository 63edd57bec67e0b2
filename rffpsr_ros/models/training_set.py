"""What learners ask of their trajectories before they learn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.models.record_check import PERIOD_TOLERANCE
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory


def training_signature(
    train: Sequence[Trajectory], validation: Sequence[Trajectory] | None = None
) -> Signature:
    """Return the signature that all trajectories share.

    Raises
    ------
    InputError
        If there is no training trajectory, two trajectories differ in columns or period, or an
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
        If there is no training trajectory, or two trajectories differ in columns or period.
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
