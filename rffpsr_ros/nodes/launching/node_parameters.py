"""Every parameter of a node is an argument of the launch file that starts it alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml
from launch import LaunchContext
from launch.actions import DeclareLaunchArgument

from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.nodes.launching.common import COMMON, UNSET, argument
from rffpsr_ros.nodes.shared.interface import Interface
from rffpsr_ros.nodes.shared.parameters import Parameter, Value, what_is_right


def parameter_arguments(node: Interface, *without: str) -> list[Any]:
    """Return the declarations of a node's parameters, but those that others stand for."""
    return [
        DeclareLaunchArgument(
            one.name, default_value="", description=f"{one.description.rstrip('.')}; {UNSET}"
        )
        for one in _parameters(node, without)
    ]


def given_parameters(context: LaunchContext, node: Interface, *without: str) -> dict[str, Value]:
    """Return the node's parameters that were given as arguments.

    Raises
    ------
    InputError
        If one is not of the parameter's type.
    """
    return {
        one.name: _value(one, text)
        for one in _parameters(node, without)
        if (text := argument(context, one.name))
    }


def _parameters(node: Interface, without: Sequence[str]) -> list[Parameter]:
    return [one for one in node.parameters if one.name not in {*COMMON, *without}]


def _value(parameter: Parameter, text: str) -> Value:
    """Return an argument as a value of the parameter's type; its range is the node's to check."""
    kind = type(parameter.default)
    if kind is str:
        return text
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        value = None
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        said = f"launch argument {parameter.name} is {shown(text)}"
        raise InputError(f"{said}; {what_is_right(parameter)}")
    return value
