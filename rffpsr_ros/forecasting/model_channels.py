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


def other_columns(what: str, found: tuple[str, ...], trained: tuple[str, ...]) -> str:
    """Return what is to be said where columns are not those that a model was trained on."""
    return (
        f"the {what} are now ({listed(found)}) but the model was trained on ({listed(trained)});"
        " serve it on the topics it was trained on"
    )


def listed(names: tuple[str, ...]) -> str:
    """Return names, which messages may bring along, as a sentence can hold them."""
    return ", ".join(names if len(names) <= 12 else (*names[:12], f"... {len(names)} in all"))
