"""A learned model as a robot on the topics that it was trained on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from rffpsr_ros.forecasting.model_channels import channels_of
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.nodes.shared.command_writer import CommandWriter
from rffpsr_ros.nodes.simulator.topics import CommandTopic, ObservationTopic, SimulatedRobot
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.signals.fields.resolver import FieldResolver
from rffpsr_ros.simulation.learned_robot import LearnedRobot, Trust, trusted_ticks


def learned_robot(path: str) -> tuple[SimulatedRobot, Trust | None]:
    """Return the robot of a model file, and for how long it resembles the real one.

    Raises
    ------
    InputError
        If there is no such model, or a channel's fields cannot be written into a message.
    """
    model = load_model(Path(path).expanduser())
    configuration = channels_of(model)
    observations = [
        ObservationTopic(channel.topic, channel.type, _message(channel, columns))
        for channel, columns in _by_topic(configuration.observations)
    ]
    commands, start = [], 0
    for channel in configuration.actions:
        columns = slice(start, start + CommandWriter(channel).width)
        start = columns.stop
        commands.append(CommandTopic(channel.topic, channel.type, columns, _values(channel)))
    robot = SimulatedRobot(LearnedRobot(model), tuple(observations), tuple(commands))
    return robot, trusted_ticks(model)


def told(trust: Trust | None, period: float) -> str:
    """Return in words how far a learned robot is to be trusted."""
    if trust is None:
        return "how far the learned robot is to be trusted its model file does not tell"
    if trust.at_least:
        return (
            f"a free run says more than the mean for the {trust.ticks} ticks"
            f" ({trust.ticks * period:.3g} s) that training judged, at least"
        )
    return (
        f"a free run says more than the mean for {trust.ticks} ticks ({trust.ticks * period:.3g} s)"
        f" only: then '{trust.observation}' is as far off as the mean of the recordings"
    )


def _by_topic(channels: Iterable[Channel]) -> list[tuple[Channel, Array]]:
    """Return one channel for each topic, with all fields of it, and the columns they stand in."""
    placed, start = [], 0
    for channel in channels:
        width = CommandWriter(channel).width
        placed.append((channel, np.arange(start, start + width)))
        start += width
    together = []
    ordered = sorted(placed, key=lambda one: one[0].topic)
    for _, group in groupby(ordered, key=lambda one: one[0].topic):
        same = list(group)
        fields = tuple(field for channel, _ in same for field in channel.fields)
        columns = np.concatenate([columns for _, columns in same])
        together.append((replace(same[0][0], fields=fields, units=()), columns))
    return together


def _message(channel: Channel, columns: Array) -> Callable[[Any, Array], Any]:
    writer = CommandWriter(channel)

    def message(header: Any, row: Array) -> Any:
        made = writer.write(row[columns].tolist())
        if hasattr(made, "header"):
            made.header = header
        return made

    return message


def _values(channel: Channel) -> Callable[[Any], Any]:
    resolver = FieldResolver(channel.fields, f"channel '{channel.name}'")

    def values(message: Any) -> Any:
        found = resolver.resolve(message)
        return np.full(1, np.nan) if found is None else found

    return values
