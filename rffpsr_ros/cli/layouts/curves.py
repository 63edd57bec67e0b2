"""What is worth drawing of a robot and its filter, whatever program draws it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.forecast_files import NODE
from rffpsr_ros.signals.channel import Channel
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.fields.grammar import (
    Element,
    Member,
    Path,
    Step,
    column_names,
    known_width,
    parse_field,
)

JOINTS = "sensor_msgs/msg/JointState"
PREDICTED, ERROR, TRAJECTORY = (f"{NODE}/{name}" for name in ("predicted", "error", "trajectory"))
DIAGNOSTICS = "/diagnostics"
ASPECT = f"{NODE.lstrip('/')}: forecast"
"""The name of the diagnostics that tell of the forecasts."""
TYPICAL_ERROR, NOVELTY = "typical squared error over training", "novelty (0 to 1)"

COLOURS = "#1f77b4", "#d62728", "#7f7f7f"
"""Of what was measured, of what was predicted, of the error."""


def live_error(horizon: int) -> tuple[str, str]:
    """Return the keys of the live error and of training's in the diagnostics."""
    return f"live error at horizon {horizon}", f"training error at horizon {horizon}"


class Observed(NamedTuple):
    """An observation, and where it stands in messages.

    ``path`` are the steps from a message to the number; None where it is computed of several.
    ``place`` is its place among the observations of the same topic's same array.
    """

    name: str
    topic: str
    type: str
    unit: str
    path: tuple[Step, ...] | None
    place: int

    @property
    def joint(self) -> tuple[str, str] | None:
        """Of a JointState: the array and the joint's name."""
        if self.type != JOINTS or self.path is None or len(self.path) != 2:
            return None
        array, joint = self.path
        if not (isinstance(array, Member) and isinstance(joint, Member)):
            return None
        return array.name, joint.name

    @property
    def stamped(self) -> bool:
        """Whether its messages say when they are of."""
        return not self.type.startswith("std_msgs/")


def observed(
    configuration: ChannelConfiguration, names: Sequence[str] = (), units: Sequence[str] = ()
) -> list[Observed]:
    """Return the observations of a configuration, in the order of a model's columns.

    ``names`` and ``units`` are a model's, which knows how many numbers each field has.

    Raises
    ------
    InputError
        If there are no names and a field does not tell by itself how many numbers it has.
    """
    found, places = [], dict[tuple[str, str], int]()
    columns = _from_names(configuration, names, units) if names else _from_fields(configuration)
    for channel, column, unit in columns:
        expression = parse_field(column)
        path = expression.steps if isinstance(expression, Path) else None
        first = path[0] if path else None
        array = channel.topic, first.name if isinstance(first, Member) else column
        places[array] = places.get(array, -1) + 1
        topic = "/" + channel.topic.lstrip("~/")
        name = f"{channel.name}.{column}"
        found.append(Observed(name, topic, channel.type, unit, path, places[array]))
    return found


def dotted(path: Sequence[Step], separator: str) -> str:
    """Return a path's steps with a separator between fields, elements in brackets."""
    text = ""
    for step in path:
        if isinstance(step, Element):
            text += f"[{step.index}]"
        elif isinstance(step, Member):
            text += separator + step.name
    return text


def _from_names(
    configuration: ChannelConfiguration, names: Sequence[str], units: Sequence[str]
) -> Iterator[tuple[Channel, str, str]]:
    for name, unit in zip(names, units or [""] * len(names), strict=True):
        for channel in configuration.observations:
            if name.startswith(f"{channel.name}."):
                yield channel, name.removeprefix(f"{channel.name}."), unit
                break


def _from_fields(configuration: ChannelConfiguration) -> Iterator[tuple[Channel, str, str]]:
    for channel in configuration.observations:
        units = channel.units or ("",) * len(channel.fields)
        for text, unit in zip(channel.fields, units, strict=True):
            expression = parse_field(text)
            width = known_width(expression)
            if width is None and text.endswith("]") and ":" in text:
                raise InputError(
                    f"how many numbers '{text}' has only messages tell; give a trained model"
                )
            for column in column_names(expression, width):
                yield channel, column, unit
