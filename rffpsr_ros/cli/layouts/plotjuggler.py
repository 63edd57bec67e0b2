"""A layout for PlotJuggler: measured and predicted curves over each other, errors, the filter.

Curves have the names that PlotJuggler makes of messages: those of a JointState are
``topic/joint/position``, those of diagnostics ``topic/name/key``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as Xml

from rffpsr_ros.cli.layouts.curves import (
    ASPECT,
    COLOURS,
    DIAGNOSTICS,
    ERROR,
    NOVELTY,
    PREDICTED,
    TYPICAL_ERROR,
    Observed,
    dotted,
    live_error,
)

PLOTS = 6
"""On one tab: more cannot be told apart."""

Plot = tuple[str, Sequence[tuple[str, str]]]
"""A title, and curves with their colours."""


def plotjuggler(observations: Sequence[Observed], horizon: int) -> str:
    """Return the layout as XML."""
    root = Xml.Element("root")
    tabs = Xml.SubElement(root, "tabbed_widget", {"name": "Main Window", "parent": "main_window"})
    for start in range(0, len(observations), PLOTS):
        part = observations[start : start + PLOTS]
        count = f" {start // PLOTS + 1}" if len(observations) > PLOTS else ""
        _tab(tabs, f"measured and predicted{count}", map(_overlay, part))
        _tab(
            tabs,
            f"error{count}",
            [(one.name, [(_joint(ERROR, one.name), COLOURS[2])]) for one in part],
        )
    _tab(tabs, "filter", _of_the_filter(horizon))
    Xml.SubElement(tabs, "currentTabIndex", index="0")
    Xml.SubElement(root, "use_relative_time_offset", enabled="1")
    Xml.SubElement(root, "streaming_buffer_size", value="20")
    topics = dict.fromkeys([*(one.topic for one in observations), PREDICTED, ERROR, DIAGNOSTICS])
    _streamer(root, topics)
    Xml.indent(root)
    return f"<?xml version='1.0' encoding='UTF-8'?>\n{Xml.tostring(root, encoding='unicode')}\n"


def measured_curve(one: Observed) -> str | None:
    """Return the name of an observation's own curve; None if it is computed of several numbers."""
    if one.path is None:
        return None
    if one.joint is not None:
        array, joint = one.joint
        return f"{one.topic}/{joint}/{array}"
    return one.topic + dotted(one.path, "/")


def _joint(topic: str, name: str) -> str:
    return f"{topic}/{name}/position"


def _overlay(one: Observed) -> Plot:
    title = f"{one.name} [{one.unit}]" if one.unit else one.name
    measured = measured_curve(one)
    curves = [(measured, COLOURS[0])] if measured else []
    return title, [*curves, (_joint(PREDICTED, one.name), COLOURS[1])]


def _of_the_filter(horizon: int) -> Iterable[Plot]:
    def told(*keys: str) -> Sequence[tuple[str, str]]:
        return [(f"{DIAGNOSTICS}/{ASPECT}/{key}", c) for key, c in zip(keys, COLOURS, strict=False)]

    for ticks in dict.fromkeys((1, horizon)):
        yield f"error {ticks} ticks ahead, live and in training", told(*live_error(ticks))
    yield "squared error over that of training", told(TYPICAL_ERROR)
    yield "novelty", told(NOVELTY)


def _tab(tabs: Xml.Element, title: str, plots: Iterable[Plot]) -> None:
    drawn = list(plots)
    tab = Xml.SubElement(tabs, "Tab", tab_name=title, containers="1")
    sizes = ";".join([f"{1 / len(drawn):.6f}"] * len(drawn))
    split = Xml.SubElement(
        Xml.SubElement(tab, "Container"),
        "DockSplitter",
        orientation="-",
        count=str(len(drawn)),
        sizes=sizes,
    )
    for name, curves in drawn:
        area = Xml.SubElement(split, "DockArea", name=name)
        plot = Xml.SubElement(
            area,
            "plot",
            mode="TimeSeries",
            style="Lines",
            line_width="1.0",
            flip_x="false",
            flip_y="false",
        )
        for curve, colour in curves:
            Xml.SubElement(plot, "curve", name=curve, color=colour)


def _streamer(root: Xml.Element, topics: Iterable[str]) -> None:
    """Let it listen to the topics, by the stamps of their headers: a forecast's is its target."""
    streamer = "ROS2 Topic Subscriber"
    plugin = Xml.SubElement(Xml.SubElement(root, "Plugins"), "plugin", ID=streamer)
    settings = {
        "use_header_stamp": "true",
        "discard_large_arrays": "true",
        "max_array_size": "500",
        "boolean_strings_to_number": "true",
        "remove_suffix_from_strings": "true",
        "selected_topics": ";".join(topics),
    }
    for name, value in settings.items():
        Xml.SubElement(plugin, name, value=value)
    Xml.SubElement(root, "previouslyLoaded_Datafiles")
    Xml.SubElement(root, "previouslyLoaded_Streamer", name=streamer)
