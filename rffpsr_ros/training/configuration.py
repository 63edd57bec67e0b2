"""What a training is given: channels, options and choice of data, checked before a bag is read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from rffpsr_ros.signals.channel_file import load_channels
from rffpsr_ros.signals.channels import ChannelConfiguration

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
