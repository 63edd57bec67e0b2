"""A layout for Foxglove and Lichtblick: plots of the newest forecasts, of errors, diagnostics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from rffpsr_ros.cli.layouts.curves import (
    COLOURS,
    DIAGNOSTICS,
    ERROR,
    PREDICTED,
    TRAJECTORY,
    Observed,
    dotted,
)

PLOTS = 4
"""Observations that get a plot of their own; the panels' settings name the others."""


def foxglove(observations: Sequence[Observed]) -> str:
    """Return the layout as JSON."""
    drawn = list(enumerate(observations))[:PLOTS]
    panels: dict[str, Any] = {}
    for column, one in drawn:
        panels[f"Plot!over{column}"] = _overlay(one, column)
    panels["Plot!horizon"] = _plot(
        "the newest forecast, tick by tick",
        [_path(f"{TRAJECTORY}.points[:].positions[{column}]", one.name) for column, one in drawn],
        xAxisVal="index",
    )
    panels["Plot!error"] = _plot(
        "measured minus predicted",
        [_path(f"{ERROR}.position[{column}]", one.name, stamped=True) for column, one in drawn],
    )
    panels["DiagnosticSummary!all"] = {
        "minLevel": 0,
        "pinnedIds": [],
        "topicToRender": DIAGNOSTICS,
        "hardwareIdFilter": "",
        "sortByLevel": True,
    }
    overlays = [name for name in panels if name.startswith("Plot!over")]
    others = [name for name in panels if name not in overlays]
    layout = {
        "configById": panels,
        "globalVariables": {},
        "userNodes": {},
        "playbackConfig": {"speed": 1},
        "layout": {
            "first": _stacked(overlays),
            "second": _stacked(others),
            "direction": "row",
            "splitPercentage": 60,
        },
    }
    return json.dumps(layout, indent=2) + "\n"


def measured_path(one: Observed) -> str | None:
    """Return the path of an observation's own number; None if it is computed of several.

    Arrays of joints are read by place, here that among the observations: no path goes by names.
    """
    if one.path is None:
        return None
    if one.joint is not None:
        return f"{one.topic}.{one.joint[0]}[{one.place}]"
    return one.topic + dotted(one.path, ".")


def _overlay(one: Observed, column: int) -> Mapping[str, Any]:
    predicted = _path(f"{PREDICTED}.position[{column}]", "predicted", True, COLOURS[1])
    path = measured_path(one)
    measured = [_path(path, "measured", one.stamped, COLOURS[0])] if path else []
    return _plot(f"{one.name} [{one.unit}]" if one.unit else one.name, [*measured, predicted])


def _path(value: str, label: str, stamped: bool = False, colour: str = "") -> Mapping[str, Any]:
    entry = {
        "value": value,
        "enabled": True,
        "label": label,
        "timestampMethod": "headerStamp" if stamped else "receiveTime",
    }
    return {**entry, "color": colour} if colour else entry


def _plot(
    title: str, paths: Sequence[Mapping[str, Any]], xAxisVal: str = "timestamp"
) -> Mapping[str, Any]:
    over_time = {"followingViewWidth": 15} if xAxisVal == "timestamp" else {}
    return {
        **{f"{program}PanelTitle": title for program in ("foxglove", "lichtblick")},
        "paths": list(paths),
        "xAxisVal": xAxisVal,
        "isSynced": xAxisVal == "timestamp",
        "showLegend": True,
        "legendDisplay": "floating",
        "showPlotValuesInLegend": False,
        "showXAxisLabels": True,
        "showYAxisLabels": True,
        "sidebarDimension": 240,
        **over_time,
    }


def _stacked(panels: Sequence[str]) -> Any:
    """Return panels above each other, all of one height."""

    def above(below: Any, numbered: tuple[int, str]) -> Any:
        count, name = numbered
        share = 100 / (count + 1)
        return {"first": name, "second": below, "direction": "column", "splitPercentage": share}

    *rest, last = panels
    return reduce(above, enumerate(reversed(rest), start=1), last)
