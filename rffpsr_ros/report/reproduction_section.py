"""How to reproduce the page: commands, versions, what identifies model and data, the channels."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from rffpsr_ros import __version__
from rffpsr_ros.models.storage import ModelFile
from rffpsr_ros.report.markup import Section, details, element, joined, table
from rffpsr_ros.training.judgement import Judgement
from rffpsr_ros.training.request import REQUEST, digests

_LIBRARIES = ("numpy", "scipy", "numba", "rosbags")


def reproduction_section(
    judgement: Judgement, file: ModelFile | None, commands: Sequence[Sequence[str]]
) -> Section:
    """Return the section.

    Parameters
    ----------
    file
        The model's file, if it has been written.
    commands
        The words of each command that led here.
    """
    model = judgement.model
    lines = "\n".join(shlex.join(words) for words in commands)
    asked = model.record.options.get(REQUEST)
    request = asked if isinstance(asked, Mapping) else {}
    facts = [
        ("model file", Path(judgement.path).name),
        *(
            [
                ("its checksum (SHA-256)", str(file.header["checksum"])),
                ("written by", f"rffpsr_ros {file.header['package_version']}"),
            ]
            if file is not None
            else []
        ),
        ("digest of the data learned from", str(request.get("data", "unknown"))),
        ("digest of the data judged on", digests(judgement.parts.test)["data"]),
        ("this page by", f"rffpsr_ros {__version__}, Python {platform.python_version()}"),
        ("libraries", ", ".join(_library(name) for name in _LIBRARIES)),
        ("machine", f"{platform.system()} {platform.machine()}"),
    ]
    parts = [table(["", ""], facts)]
    if lines:
        parts.insert(0, element("pre", lines))
    options = request.get("options")
    if isinstance(options, Mapping):
        given = {name: value for name, value in options.items() if value is not None}
        parts.append(details("options that were asked for", element("pre", _yaml(given))))
    if model.signature.channels is not None:
        parts.append(details("channels", element("pre", _yaml(model.signature.channels))))
    return Section(
        "reproduce",
        "How to reproduce this",
        "The same data, options and seed give the same bytes of the model; rffpsr info shows its"
        " checksum, rffpsr evaluate --json every figure of this page.",
        joined(*parts),
        "",
    )


def _library(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"no {name}"


def _yaml(value: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(_plain(value), sort_keys=False, allow_unicode=True))


def _plain(value: Any) -> Any:
    """Return a value of the types that YAML knows."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
