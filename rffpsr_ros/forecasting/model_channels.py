"""The channels that a model was trained on, as its file tells them: what it must be fed by."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.signals.channels import ChannelConfiguration


def channels_of(model: PredictiveModel[Any]) -> ChannelConfiguration:
    """Return the channel configuration that a model was trained with.

    Raises
    ------
    InputError
        If it was learned from arrays, or the configuration cannot be understood.
    """
    channels = model.signature.channels
    if channels is None:
        raise InputError("the model was learned from arrays and knows no topics; train it on bags")
    configuration = ChannelConfiguration.from_mapping(channels, "the model file")
    columns = model.signature.observation_names, model.signature.action_names
    return replace(configuration, columns=columns)
