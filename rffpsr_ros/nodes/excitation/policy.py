"""From the parameters of the excitation node to what it plays."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.shared.message_classes import message_class
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.signals.fields.resolver import FieldResolver
from rffpsr_ros.simulation.excitation import excitation, linear_feedback, mixed_policy
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


def known_names(channels: Sequence[Channel]) -> tuple[str, ...] | None:
    """Return the names of the columns of channels with types; None if only messages tell them."""
    names: list[str] = []
    for channel in channels:
        fields = FieldResolver(channel.fields)
        try:
            fields.resolve(message_class(channel.type)())
        except InputError:  # an image without an encoding, for one
            return None
        if fields.width is None:
            return None
        names += [f"{channel.name}.{name}" for name in fields.column_names]
    return tuple(names)


class Play(NamedTuple):
    """What to play: a policy, and a function that returns its next actions (n, d_a)."""

    policy: Policy
    plan: Callable[[], Array] | None


def make_play(
    settings: Settings,
    low: Array,
    high: Array,
    observation_names: Sequence[str] | None,
    generator: np.random.Generator,
    period: float,
) -> Play:
    """Return what to play; its actions are within the limits.

    As long as nobody knows the names of the observations (None) it does without feedback.

    Raises
    ------
    InputError
        If an option of the signal or the feedback does not fit.
    """
    options = {name: settings(name) for name in _OPTIONS[settings("signal")]}
    signal = excitation(settings("signal"), generator, low, high, period, options)
    ahead = settings("announce")
    if settings("feedback") == "none":
        announced = _Announced(signal, ahead)
        return Play(open_loop(announced), announced.plan if ahead else None)
    if ahead:
        raise InputError(
            f"announce is {ahead}, but with feedback the next actions depend on what is yet to be"
            " observed; set announce to 0 or feedback to none"
        )
    if observation_names is None:
        return Play(open_loop(signal), None)
    feedback = _feedback(settings, len(low), observation_names)
    probability = settings("blind_probability")
    return Play(mixed_policy(generator, signal, feedback, probability, low, high), None)


class _Announced:
    """A signal that tells its next ``count`` actions before it plays the first of them."""

    def __init__(self, signal: Iterator[Array], count: int) -> None:
        self._signal = signal
        self._count = count
        self._next: deque[Array] = deque()

    def plan(self) -> Array:
        """Return the next actions (count, d_a)."""
        while len(self._next) < self._count:
            self._next.append(next(self._signal))
        return np.stack(self._next)

    def __iter__(self) -> Iterator[Array]:
        return self

    def __next__(self) -> Array:
        return self._next.popleft() if self._next else next(self._signal)


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
