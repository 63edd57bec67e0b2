"""What a training is given: channels, options and choice of data, checked before a bag is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from rffpsr_ros.errors import check_known
from rffpsr_ros.signals.channel_file import load_channels
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.training.known_policy import check_policy
from rffpsr_ros.training.recordings import Fractions, three_fractions

Configuration: TypeAlias = "str | Path | Mapping[str, Any] | ChannelConfiguration"
"""A YAML file, its content, or what was made of it."""


def channel_configuration(configuration: Configuration) -> ChannelConfiguration:
    """Return a configuration, read from its file or checked as a mapping if it is not one yet.

    Raises
    ------
    InputError
        If the file cannot be read, a key is unknown or missing, or a value is wrong.
    """
    if isinstance(configuration, ChannelConfiguration):
        return configuration
    if isinstance(configuration, Mapping):
        return ChannelConfiguration.from_mapping(configuration)
    return load_channels(configuration)


def check_dataset(channels: ChannelConfiguration) -> None:
    """Check the choice of data as far as that is possible before bags are read.

    Raises
    ------
    InputError
        If a key is unknown, or a policy makes no sense.
    """
    check_known(channels.dataset, ("split", "policy"), group="dataset.")
    check_policy(channels)


def asked_split(split: Fractions | None, dataset: Mapping[str, Any]) -> tuple[float, ...] | None:
    """Return the shares of the parts: those given, else the configuration's; None: all is one.

    Raises
    ------
    InputError
        If they make no sense.
    """
    chosen = dataset.get("split") if split is None else split
    return None if chosen is None else three_fractions(chosen)
