"""From the parameters of the excitation node to the policy that it plays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rffpsr_ros.episodes.trajectory import Array
from rffpsr_ros.errors import InputError
from rffpsr_ros.simulation.excitation import excitation, linear_feedback, mixture
from rffpsr_ros.simulation.swimmer import seek_goal
from rffpsr_ros.simulation.system import Policy, open_loop

_OPTIONS = {
    "uniform": ("hold",),
    "prbs": ("hold",),
    "multisine": ("lowest_frequency", "highest_frequency", "count"),
    "sine": ("frequency",),
}

Settings = Callable[[str], Any]
"""From the name of a parameter to its value."""


def limits(settings: Settings, columns: int) -> tuple[Array, Array]:
    """Return the lowest and the highest action (d_a,).

    Raises
    ------
    InputError
        If they do not fit the columns, or leave no room.
    """
    low = _per_column(settings("limits.low"), columns, "limits.low", "action")
    high = _per_column(settings("limits.high"), columns, "limits.high", "action")
    if not np.isfinite([low, high]).all() or (low > high).any() or (low == high).all():
        raise InputError(
            f"limits.low is {low.tolist()} and limits.high {high.tolist()}; they must leave the"
            " actions room, as in limits.low: [-1.0] and limits.high: [1.0]"
        )
    return low, high


def make_policy(
    settings: Settings,
    low: Array,
    high: Array,
    observation_names: Sequence[str],
    generator: np.random.Generator,
    period: float,
) -> Policy:
    """Return the policy; its actions are within the limits.

    Raises
    ------
    InputError
        If an option of the signal or the feedback does not fit.
    """
    options = {name: settings(name) for name in _OPTIONS[settings("signal")]}
    signal = excitation(settings("signal"), generator, low, high, period, options)
    if settings("feedback") == "none":
        return open_loop(signal)
    feedback = _feedback(settings, len(low), observation_names)
    return mixture(generator, signal, feedback, settings("blind_probability"), low, high)


def _feedback(settings: Settings, actions: int, observation_names: Sequence[str]) -> Policy:
    count = len(observation_names)
    if settings("feedback") == "swimmer":
        if (actions, count) != (2, 4):
            raise InputError(
                f"feedback 'swimmer' moves 2 torques by 4 observations (two joints, the goal), but"
                f" there are {actions} actions and {count} observations"
            )
        return seek_goal
    gains = np.asarray(settings("feedback_gains"), dtype=np.float64)
    if gains.size != actions * count:
        raise InputError(
            f"feedback_gains has {gains.size} numbers; {actions} actions by {count} observations"
            f" ({', '.join(observation_names)}) need {actions * count}"
        )
    target = _per_column(settings("feedback_target"), count, "feedback_target", "observation")
    return linear_feedback(gains.reshape(actions, count), target)


def _per_column(given: Sequence[float], columns: int, name: str, what: str) -> Array:
    if len(given) not in (1, columns):
        raise InputError(
            f"{name} has {len(given)} numbers; give one, or one for each of {columns} {what}s"
        )
    return np.broadcast_to(np.asarray(given, dtype=np.float64), columns).copy()
