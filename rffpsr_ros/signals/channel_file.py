"""Channel configurations from YAML files: plain, or as the parameters of a ROS node."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from rffpsr_ros.errors import InputError
from rffpsr_ros.signals.channels import TOP_KEYS, ChannelConfiguration
from rffpsr_ros.signals.yaml_text import LONGEST, load_yaml

_PARAMETERS = "ros__parameters"
_DEEPEST = 16


def load_channels(path: str | Path) -> ChannelConfiguration:
    """Read a channel configuration.

    The file holds the mapping itself, or a ROS parameter file with it under
    ``/**: ros__parameters:`` (or any node's name, or several, of which the later ones win). Other
    parameters of the node may stand beside it there; keys may be dotted
    (``observation.inputs: [imu]``).

    Raises
    ------
    InputError
        If the file cannot be read, is no YAML, or its content is wrong.
    """
    source = Path(path).name
    return ChannelConfiguration.from_mapping(read_parameters(path), source)


def read_parameters(path: str | Path) -> dict[str, Any]:
    """Return the channel keys of a configuration file, not yet checked.

    In a ROS parameter file unknown keys are left out unless they look like a misspelt known one:
    they may be parameters of a node.

    Raises
    ------
    InputError
        If the file cannot be read, is no YAML mapping, or is beyond a limit.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            content = load_yaml(file.read(4 * LONGEST + 4).decode())
    except OSError as problem:
        raise InputError(
            f"the configuration file {path} cannot be read: {problem.strerror or problem}"
        ) from None
    except yaml.YAMLError as problem:
        raise InputError(f"{path.name} is no YAML{_where(problem)}") from None
    except InputError as problem:
        raise InputError(f"the configuration file {path} {problem}") from None
    except UnicodeDecodeError as problem:
        raise InputError(f"{path.name} is no YAML: {problem}") from None
    if not isinstance(content, Mapping):
        raise InputError(f"{path.name} holds no mapping of keys to values")
    sections = list(_sections(content, 0))
    if not sections:
        return _nested(content)
    merged: dict[str, Any] = {}
    for section in sections:
        _merge(merged, _nested(section))
    return _channel_keys(merged)


def channels_from_overrides(overrides: Mapping[str, Any], source: str) -> ChannelConfiguration:
    """Return the channel configuration that is among a node's parameters (value by dotted name).

    Raises
    ------
    InputError
        If it is not there, or wrong.
    """
    return ChannelConfiguration.from_mapping(_channel_keys(_nested(overrides)), source)


def _channel_keys(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in parameters.items() if _concerns_channels(key)}


def _where(problem: yaml.YAMLError) -> str:
    mark = getattr(problem, "problem_mark", None)
    what = getattr(problem, "problem", None) or "malformed"
    if mark is None:
        return f": {what}"
    return f": {what} at line {mark.line + 1}, column {mark.column + 1}"


def _sections(content: Mapping[Any, Any], depth: int) -> list[Mapping[Any, Any]]:
    """Return the mappings under ``ros__parameters``, at most three namespaces deep."""
    found = []
    for key, value in content.items():
        if not isinstance(value, Mapping):
            continue
        if key == _PARAMETERS:
            found.append(value)
        elif depth < 3:
            found += _sections(value, depth + 1)
    return found


def _nested(flat: Mapping[Any, Any], depth: int = 0) -> dict[str, Any]:
    """Return a mapping in which a dotted key stands as nested mappings."""
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        if depth + str(key).count(".") > _DEEPEST:  # An alias may refer to what it stands in.
            raise InputError(f"the configuration is nested more than {_DEEPEST} deep")
        entry = _nested(value, depth + 1) if isinstance(value, Mapping) else value
        *outer, last = str(key).split(".")
        for name in reversed(outer):
            entry, last = {last: entry}, name
        _merge(nested, {last: entry})
    return nested


def _merge(into: dict[str, Any], other: Mapping[str, Any]) -> None:
    for key, value in other.items():
        if isinstance(value, Mapping) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _concerns_channels(key: str) -> bool:
    return key in TOP_KEYS or bool(get_close_matches(key, TOP_KEYS, n=1, cutoff=0.75))
