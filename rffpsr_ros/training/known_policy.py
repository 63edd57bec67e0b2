"""The policy that chose the recorded actions, where a configuration has it (``dataset.policy``).

Either a channel of the actions holds the logarithm of the probability with which each action was
chosen; it is read like any other, and then taken out of the actions:

    dataset: {policy: {log_probability: CHANNEL, memory: 3}}

where ``memory`` is optional: the policy read the last so many recorded ticks, and nothing else;

or the policy is Gaussian around a linear function of the last observation, in the columns' units:

    dataset: {policy: {gains: [[...]], offset: [...], deviation: [...]}}

or it is a table, with a row of probabilities for each value of the last observation:

    dataset: {policy: {observations: [...], actions: [...], probabilities: [[...]]}}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rffpsr_ros.data.likelihood_ratios import (
    with_gaussian_policy,
    with_log_probability,
    with_table_policy,
)
from rffpsr_ros.errors import InputError, check_known
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.signals.channels import ChannelConfiguration

_FORMS = (
    ("log_probability",),
    ("gains", "deviation"),
    ("observations", "actions", "probabilities"),
)
"""What a policy of each form needs."""
_OPTIONAL = {"log_probability": "memory", "gains": "offset"}
"""What a form may have besides, by its first key."""
_KEYS = (*(key for form in _FORMS for key in form), *_OPTIONAL.values())
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
    check_known(policy, _KEYS, group=f"{_GROUP}.")
    form = next((form for form in _FORMS if set(form) <= policy.keys()), None)
    if form is None:
        forms = ", or ".join(" and ".join(form) for form in _FORMS)
        raise InputError(f"{_GROUP} needs {forms}")
    if extra := policy.keys() - {*form, _OPTIONAL.get(form[0])}:
        raise InputError(
            f"{_GROUP} has {' and '.join(form)}, and also {', '.join(sorted(extra))}; give one form"
        )
    memory = policy.get("memory")
    if memory is not None and not (type(memory) is int and memory >= 0):
        raise InputError(f"{_GROUP}.memory is {memory!r}; it must be a whole number of ticks")
    if "log_probability" in policy:
        names = [channel.name for channel in configuration.actions]
        if policy["log_probability"] not in names:
            raise InputError(
                f"{_GROUP}.log_probability is {policy['log_probability']!r}; it must be the name of"
                f" a channel of the actions: {', '.join(names)}"
            )
        if len(names) == 1:
            raise InputError(f"{_GROUP}.log_probability names the only action; nothing is left")


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
        memory = policy.get("memory")
        return with_log_probability(trajectories, columns[0], memory), columns[0]
    size = len(names), trajectories[0].observations.shape[1]
    if "probabilities" in policy:
        return with_table_policy(trajectories, *_table(policy, *size)), None
    gains = _numbers(policy["gains"], size, "gains")
    offset = _numbers(policy.get("offset", [0.0] * size[0]), size[:1], "offset")
    deviation = _numbers(policy["deviation"], size[:1], "deviation")
    if (deviation <= 0).any():
        raise InputError(f"{_GROUP}.deviation must be greater than 0")
    return with_gaussian_policy(trajectories, gains, offset, deviation), None


def _table(
    policy: Mapping[str, Any], action_columns: int, observation_columns: int
) -> tuple[Array, Array, Array]:
    """Return observations (S, d_o), actions (A, d_a) and probabilities (S, A) of a table."""
    seen = _values(policy["observations"], observation_columns, "observations")
    acted = _values(policy["actions"], action_columns, "actions")
    chances = _numbers(policy["probabilities"], (len(seen), len(acted)), "probabilities")
    if (chances < 0).any() or not np.allclose(chances.sum(axis=1), 1, atol=1e-6):
        raise InputError(f"each row of {_GROUP}.probabilities must hold chances that add up to 1")
    return seen, acted, chances


def _values(value: Any, columns: int, name: str) -> Array:
    """Return distinct rows; where there is one column, plain numbers will do."""
    try:
        rows = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty(0)
    rows = rows[:, None] if rows.ndim == 1 and columns == 1 else rows
    if rows.ndim != 2 or rows.shape[1] != columns or len(np.unique(rows, axis=0)) < len(rows):
        raise InputError(f"{_GROUP}.{name} must hold different rows of {columns} numbers each")
    return rows


def _numbers(value: Any, shape: tuple[int, ...], name: str) -> Array:
    wanted = f"rows of {shape[1]} numbers" if len(shape) == 2 else "numbers"
    try:
        numbers = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.shape != shape or not np.isfinite(numbers).all():
        raise InputError(f"{_GROUP}.{name} must hold {shape[0]} {wanted}")
    return numbers
