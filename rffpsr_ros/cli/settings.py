"""The configuration that a command works with: a file, and what the command line changes of it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from rffpsr_ros.cli.parser import Parser
from rffpsr_ros.cli.setting_places import check_place
from rffpsr_ros.errors import InputError
from rffpsr_ros.nodes.shared.package_files import package_folder
from rffpsr_ros.signals.channel_file import read_parameters
from rffpsr_ros.signals.channels import ChannelConfiguration
from rffpsr_ros.signals.yaml_text import load_yaml
from rffpsr_ros.training.recordings import ReadingOptions

_SOURCE_OF_SETTINGS = "--set"


def add_reading_arguments(parser: Parser) -> None:
    """Declare what every command needs that reads bags."""
    parser.add_argument(
        "--ros-distro",
        metavar="NAME",
        help="the distribution that recorded bags without type definitions, such as humble",
    )
    parser.add_argument(
        "--msg-path",
        metavar="PATH",
        nargs="+",
        action="extend",
        default=[],
        help=".msg files, or folders of them, for types that the bags do not define",
    )


def reading_options(arguments: argparse.Namespace) -> ReadingOptions:
    """Return what was said of bags that do not say it themselves."""
    return ReadingOptions(arguments.ros_distro, tuple(arguments.msg_path))


def load_configuration(path: str, settings: Sequence[str] = ()) -> ChannelConfiguration:
    """Return a configuration file's content, changed by settings such as ``learning.rank=20``.

    Raises
    ------
    InputError
        If the file or a setting is malformed, or a key is unknown.
    """
    path = _file(path)
    content = read_parameters(path)
    for setting in settings:
        key, value = parse_setting(setting)
        _assign(content, key.split("."), value, key)
        check_place(key, content)
    return ChannelConfiguration.from_mapping(content, path)


def _file(given: str) -> str:
    """Return a configuration file: as given, or that of this package which has the name."""
    if not given.isidentifier() or Path(given).exists():
        return given
    with suppress(InputError):  # the package's files are not there
        brought = {one.stem: one for one in package_folder("config").glob("*.yaml")}
        return str(brought.get(given, given))
    return given


def parse_setting(text: str | list[str]) -> tuple[str, Any]:
    """Return key and value of ``key=value``; the value is read as YAML.

    Raises
    ------
    InputError
        If there is no ``=``, no key, or the value is no YAML.
    """
    if isinstance(text, list):  # some versions of argparse make this of a bare '--'
        text = "--"
    key, equals, value = text.partition("=")
    key = key.strip()
    if not equals or not all(key.split(".")):
        raise InputError(
            f"{_SOURCE_OF_SETTINGS} {text} is malformed; write it as key=value, such as"
            " learning.rank=20"
        )
    try:
        return key, load_yaml(value)
    except yaml.YAMLError:
        raise InputError(
            f"the value of {_SOURCE_OF_SETTINGS} {text} is no YAML; quote it, as in"
            f" --set '{key}=\"text\"'"
        ) from None
    except InputError as problem:
        raise InputError(f"the value of {_SOURCE_OF_SETTINGS} {key} {problem}") from None


def _assign(content: dict[str, Any], steps: Sequence[str], value: Any, key: str) -> None:
    for depth, step in enumerate(steps[:-1]):
        inner = content.setdefault(step, {})
        if not isinstance(inner, dict):
            raise InputError(
                f"{_SOURCE_OF_SETTINGS} {key}: '{'.'.join(steps[: depth + 1])}' is a value, not a"
                " group of keys"
            )
        content = inner
    content[steps[-1]] = value
