"""The policy that chose the recorded actions, where a configuration tells it (``dataset.policy``).

Either a channel of the actions holds the logarithm of the probability with which each action was
chosen; it is read like any other, and then taken out of the actions:

    dataset: {policy: {log_probability: CHANNEL}}

or the policy is Gaussian around a linear function of the last observation, in the columns' units:

    dataset: {policy: {gains: [[...]], offset: [...], deviation: [...]}}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rffpsr_ros.cli.settings import check_keys
from rffpsr_ros.episodes.trajectory import Array, Trajectory
from rffpsr_ros.errors import InputError
from rffpsr_ros.learning.stages.known_policy import with_gaussian_policy, with_log_probability
from rffpsr_ros.signals.channels import ChannelConfiguration

_KEYS = ("log_probability", "gains", "offset", "deviation")
_GROUP = "dataset.policy"


def check_policy(configuration: ChannelConfiguration) -> None:
    """Check ``dataset.policy`` as far as that is possible before bags are read.

    Raises
    ------
    InputError
        If a key is unknown or missing, or no action channel has the name given.
    """
    policy = configuration.dataset.get("policy")
    if policy is None:
        return
    if not isinstance(policy, Mapping):
        raise InputError(f"{_GROUP} is {policy!r}; it must be a group of keys: {', '.join(_KEYS)}")
    check_keys(policy, _KEYS, _GROUP)
    if "log_probability" in policy:
        if len(policy) > 1:
            raise InputError(f"{_GROUP} has log_probability and other keys; give one or the other")
        names = [channel.name for channel in configuration.actions]
        if policy["log_probability"] not in names:
            raise InputError(
                f"{_GROUP}.log_probability is {policy['log_probability']!r}; it must be the name of"
                f" a channel of the actions: {', '.join(names)}"
            )
        if len(names) == 1:
            raise InputError(f"{_GROUP}.log_probability names the only action; nothing is left")
    elif "gains" not in policy or "deviation" not in policy:
        raise InputError(f"{_GROUP} needs log_probability, or gains and deviation")


def without_policy(configuration: ChannelConfiguration) -> ChannelConfiguration:
    """Return what a model of the recordings needs to be fed: all but the policy's own channel."""
    policy = configuration.dataset.get("policy")
    if policy is None:
        return configuration
    named = policy.get("log_probability")
    return replace(
        configuration,
        actions=tuple(channel for channel in configuration.actions if channel.name != named),
        dataset={key: value for key, value in configuration.dataset.items() if key != "policy"},
    )


def apply_policy(
    trajectories: Sequence[Trajectory], configuration: ChannelConfiguration
) -> tuple[list[Trajectory], int | None]:
    """Return trajectories with likelihood ratios, and which column of the actions went for it.

    Raises
    ------
    InputError
        If the policy's numbers do not fit the columns.
    """
    policy = configuration.dataset.get("policy")
    if policy is None or not trajectories:
        return list(trajectories), None
    check_policy(configuration)
    names = trajectories[0].action_names
    if "log_probability" in policy:
        channel = policy["log_probability"]
        columns = [i for i, name in enumerate(names) if name.startswith(f"{channel}.")]
        if len(columns) != 1:
            raise InputError(
                f"channel '{channel}' has {len(columns)} columns; one log-probability is needed"
            )
        return with_log_probability(trajectories, columns[0]), columns[0]
    size = len(names), trajectories[0].observations.shape[1]
    gains = _numbers(policy["gains"], size, "gains")
    offset = _numbers(policy.get("offset", [0.0] * size[0]), size[:1], "offset")
    deviation = _numbers(policy["deviation"], size[:1], "deviation")
    if (deviation <= 0).any():
        raise InputError(f"{_GROUP}.deviation must be greater than 0")
    return with_gaussian_policy(trajectories, gains, offset, deviation), None


def _numbers(value: Any, shape: tuple[int, ...], name: str) -> Array:
    wanted = "rows, one per action, of one number per observation" if len(shape) == 2 else "numbers"
    try:
        numbers = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != shape or not np.isfinite(numbers).all():
        raise InputError(f"{_GROUP}.{name} must hold {shape[0]} {wanted}")
    return numbers
