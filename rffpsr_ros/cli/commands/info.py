"""Show what a model file holds: its columns, options and how good it was in training."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rffpsr_ros.cli.console import aligned, say, say_json
from rffpsr_ros.cli.parser import Parser
from rffpsr_ros.forecasting.model_channels import channels_of
from rffpsr_ros.models.loading import load
from rffpsr_ros.models.storage import ModelFile
from rffpsr_ros.training.request import kind_asked_for
from rffpsr_ros.training.validation import CROSS_VALIDATION
from rffpsr_ros.training.verdict import remembered_verdict_of

_BLEND = "validation_mse"
"""What an ensemble's file calls its errors on parts that were held out in turn."""


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("model", metavar="MODEL", help="a model file")
    parser.add_argument("--json", action="store_true", help="print the file's whole header")


def run(arguments: argparse.Namespace) -> None:
    """Print the model's header."""
    model, file = load(arguments.model)  # a file whose parts do not fit is refused, not described
    if arguments.json:
        say_json(file.header)
    else:
        topics = () if model.signature.channels is None else channels_of(model).topics
        say(*_description(file, Path(arguments.model), kind_asked_for(model), topics))


def _description(file: ModelFile, path: Path, asked: str, topics: Iterable[str]) -> list[str]:
    header = file.header
    signature, record = header["signature"], header["record"]
    numbers = sum(array.size for array in file.arrays.values())
    kind = asked if asked == header["kind"] else f"{asked} ({header['kind']})"
    facts = [
        ("file", f"{path} ({path.stat().st_size / 1024:.0f} KiB, {numbers} numbers)"),
        ("kind", f"{kind}, written by rffpsr_ros {header['package_version']}"),
        ("tick", f"{signature['period']:g} s ({1 / signature['period']:g} Hz)"),
        ("observations", _columns(signature, "observation")),
        ("actions", _columns(signature, "action")),
        ("topics", ", ".join(topics) or "none: learned from arrays"),
        ("checksum", header["checksum"][:16]),
    ]
    lines = aligned(facts)
    options = {name: v for name, v in record["options"].items() if not isinstance(v, Mapping)}
    lines += _section("options", options)
    lines += _metrics(record["metrics"])
    lines += [f"note: {note}" for note in record["notes"]]
    said = remembered_verdict_of(record["metrics"])
    return lines + ([] if said is None else said.lines())


def _columns(signature: Mapping[str, Any], what: str) -> str:
    names = signature[f"{what}_names"]
    units = signature[f"{what}_units"] or [""] * len(names)
    return ", ".join(
        f"{name} ({unit})" if unit else name for name, unit in zip(names, units, strict=True)
    )


def _section(title: str, values: Mapping[str, Any]) -> list[str]:
    if not values:
        return []
    return ["", f"{title}:", *(f"  {line}" for line in aligned(_pairs(values)))]


def _pairs(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, "from the data" if v is None else str(v)) for name, v in sorted(values.items())]


def _metrics(metrics: Mapping[str, Any]) -> list[str]:
    """Return every list of plain numbers over horizons, as one table."""
    found = list(_curves(_told_once(metrics), ""))
    if not found:
        return []
    longest = max(len(curve) for _, curve in found)
    rows = [["horizon", *map(str, range(1, longest + 1))]]
    for name, curve in found:
        cells = ["-" if number is None else f"{number:.3g}" for number in curve]
        rows.append([name, *cells, *[""] * (longest - len(curve))])
    table = aligned(rows, range(1, longest + 1))
    return ["", "mean squared error in training:", *(f"  {line}" for line in table)]


def _told_once(metrics: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metrics with parts that were held out in turn called that, and told once.

    A model that was chosen by these has no other validation part, and repeats what it missed there.
    """
    in_turn = metrics.get(CROSS_VALIDATION)
    if not isinstance(in_turn, Mapping):
        return metrics
    rest = {name: v for name, v in metrics.items() if name not in (CROSS_VALIDATION, _BLEND)}
    by_now = metrics.get(_BLEND)
    ensemble = in_turn.get("ensemble")
    if isinstance(ensemble, Mapping) and ensemble.get("mse") != by_now:
        rest["held out by now mse"] = by_now  # it has learned more since
    return {**{f"held out in turn: {name}": v for name, v in in_turn.items()}, **rest}


def _curves(metrics: Mapping[str, Any], prefix: str) -> list[tuple[str, Sequence[float | None]]]:
    curves: list[tuple[str, Sequence[float | None]]] = []
    for name, value in sorted(metrics.items()):
        if isinstance(value, Mapping):
            curves += _curves(value, f"{prefix}{name} ")
        elif name.endswith("mse") and isinstance(value, list):
            curves.append(((prefix + name.removesuffix("mse")).strip("_ "), value))
    return curves
