"""Charts as inline SVG: whole without a script, which only lets one point at values and zoom."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.report.markup import Html, element, joined
from rffpsr_ros.report.scales import AxisScale, label, scale_of

WIDTH, HEIGHT = 460, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 12, 10, 44
COLOURS = 8
"""How many colours there are; more curves begin again."""

Style = Literal["line", "dashed", "dots", "bars"]


class Curve(NamedTuple):
    """Values y (n,) at x (n,); NaN leaves a gap.

    ``colour`` is a number, or "ink" for that of the text.
    """

    name: str
    x: Array
    y: Array
    colour: int | str = 0
    style: Style = "line"


class Ribbon(NamedTuple):
    """What lies between ``low`` and ``high`` (n,) at x (n,)."""

    name: str
    x: Array
    low: Array
    high: Array
    colour: int | str = 0
    inner: bool = False
    """Whether it lies within another one."""


class Chart(NamedTuple):
    """What a chart shows. ``levels`` are lines all across, by what they mean."""

    title: str
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    ribbons: Sequence[Ribbon] = ()
    levels: Sequence[tuple[str, float]] = ()
    log_x: bool = False
    log_y: bool = False
    zero: bool = False
    whole: bool = False
    """Whether x counts something, such as ticks."""


def drawn(chart: Chart) -> Html:
    """Return a figure with the chart, and its legend."""
    x, y = _scales(chart)
    axes = joined(_y_axis(y, chart), _x_axis(x, chart))
    data = joined(
        *(_ribbon(one, x, y) for one in chart.ribbons), *(_curve(one, x, y) for one in chart.curves)
    )
    frame = _plain_svg(
        "svg",
        joined(
            Html(f"<title>{joined(chart.title)}</title>"), axes, _window(data), _levels(chart, y)
        ),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )
    caption = element("figcaption", chart.title)
    return element(
        "figure",
        caption,
        _legend(chart),
        frame,
        **{"class": "chart", "data-chart": json.dumps(_told(chart, x, y), allow_nan=False)},
    )


def _scales(chart: Chart) -> tuple[AxisScale, AxisScale]:
    xs = np.concatenate([*(one.x for one in chart.curves), *(one.x for one in chart.ribbons)])
    ys = [one.y for one in chart.curves]
    ys += [end for one in chart.ribbons for end in (one.low, one.high)]
    ys.append(np.array([level for _, level in chart.levels]))
    x = scale_of(xs, _LEFT, WIDTH - _RIGHT, log=chart.log_x)
    low, high = float(np.nanmin(xs)), float(np.nanmax(xs))
    if not chart.log_x and high > low:
        x = x._replace(low=low, high=high)
        if any(one.style == "bars" for one in chart.curves):
            x = x._replace(low=low - 0.7, high=high + 0.7)
    y = scale_of(np.concatenate(ys), HEIGHT - _BOTTOM, _TOP, log=chart.log_y, zero=chart.zero)
    return x, y


def _plain_svg(tag: str, content: str = "", **attributes: Any) -> Html:
    """Return an element whose attributes need no escape; ``_`` in a name is ``-``."""
    named = {name.rstrip("_").replace("_", "-"): str(value) for name, value in attributes.items()}
    return element(tag, content, **named)


def _x_axis(x: AxisScale, chart: Chart) -> Html:
    bottom = HEIGHT - _BOTTOM
    ticks = x.ticks(6)
    if chart.whole:
        ticks = [tick for tick in ticks if tick == int(tick)]
    places = zip(ticks, x(np.array(ticks)), strict=True)
    marks = [
        joined(
            _plain_svg("line", x1=f"{at:.1f}", x2=f"{at:.1f}", y1=bottom, y2=bottom + 4),
            _plain_svg("text", label(tick), x=f"{at:.1f}", y=bottom + 16, text_anchor="middle"),
        )
        for tick, at in places
    ]
    name = _plain_svg(
        "text",
        chart.x_label,
        class_="name",
        x=(_LEFT + WIDTH - _RIGHT) / 2,
        y=HEIGHT - 8,
        text_anchor="middle",
    )
    base = _plain_svg("line", x1=_LEFT, x2=WIDTH - _RIGHT, y1=bottom, y2=bottom)
    return joined(_plain_svg("g", joined(*marks), class_="ticks x"), base, name)


def _y_axis(y: AxisScale, chart: Chart) -> Html:
    ticks = y.ticks(5)
    lines = [
        joined(
            _plain_svg(
                "line", class_="rule", x1=_LEFT, x2=WIDTH - _RIGHT, y1=f"{at:.1f}", y2=f"{at:.1f}"
            ),
            _plain_svg("text", label(tick), x=_LEFT - 6, y=f"{at + 4:.1f}", text_anchor="end"),
        )
        for tick, at in zip(ticks, y(np.array(ticks)), strict=True)
    ]
    middle = (_TOP + HEIGHT - _BOTTOM) / 2
    name = _plain_svg(
        "text",
        chart.y_label,
        class_="name",
        x=0,
        y=0,
        text_anchor="middle",
        transform=f"translate(12 {middle:.0f}) rotate(-90)",
    )
    return joined(_plain_svg("g", joined(*lines), class_="ticks y"), name)


def _window(data: Html) -> Html:
    """Return what may be zoomed, cut off at the axes."""
    inner = _plain_svg("g", data, class_="data")
    return _plain_svg(
        "svg",
        inner,
        x=_LEFT,
        y=0,
        width=WIDTH - _LEFT - _RIGHT,
        height=HEIGHT - _BOTTOM + 1,
        viewBox=f"{_LEFT} 0 {WIDTH - _LEFT - _RIGHT} {HEIGHT - _BOTTOM + 1}",
    )


def _levels(chart: Chart, y: AxisScale) -> Html:
    parts = []
    for name, level in chart.levels:
        at = float(y(np.array([level]))[0])
        if math.isfinite(at):
            ends: dict[str, Any] = {"x1": _LEFT, "x2": WIDTH - _RIGHT, "y1": f"{at:.1f}"}
            parts.append(_plain_svg("line", class_="level", y2=f"{at:.1f}", **ends))
            if name:
                parts.append(
                    _plain_svg(
                        "text", name, class_="level", x=WIDTH - _RIGHT - 2, y=f"{at - 4:.1f}",
                        text_anchor="end",
                    )
                )  # fmt: skip
    return joined(*parts)


def _curve(curve: Curve, x: AxisScale, y: AxisScale) -> Html:
    places = np.stack([x(curve.x), y(curve.y)], axis=1)
    if curve.style == "bars":
        base = float(y(np.array([0.0]))[0])
        path = "".join(f"M{a:.1f} {base:.1f}V{b:.1f}" for a, b in places if np.isfinite(a + b))
    elif curve.style == "dots":
        path = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in places if np.isfinite(a + b))
    else:
        path = "".join(f"M{_points(run)}" for run in _runs(places))
    return _plain_svg("path", class_=f"{curve.style} {_colour(curve.colour)}", d=path)


def _ribbon(ribbon: Ribbon, x: AxisScale, y: AxisScale) -> Html:
    high = np.stack([x(ribbon.x), y(ribbon.high)], axis=1)
    low = np.stack([x(ribbon.x), y(ribbon.low)], axis=1)
    known = np.isfinite(high).all(axis=1) & np.isfinite(low).all(axis=1)
    path = ""
    for run in _runs(np.where(known[:, None], np.arange(len(known))[:, None], np.nan)):
        places = run[:, 0].astype(int)
        path += f"M{_points(np.concatenate([high[places], low[places][::-1]]))}Z"
    return _plain_svg("path", class_=f"{_kind(ribbon)} {_colour(ribbon.colour)}", d=path)


def _kind(ribbon: Ribbon) -> str:
    return "ribbon inner" if ribbon.inner else "ribbon"


def _runs(places: Array) -> list[Array]:
    """Return the stretches of rows without NaN."""
    known = np.isfinite(places).all(axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], known, [False]]).astype(int)))
    return [places[first:last] for first, last in edges.reshape(-1, 2)]


def _points(places: Array) -> str:
    return "L".join(f"{a:.1f} {b:.1f}" for a, b in places.tolist())


def _colour(colour: int | str) -> str:
    return f"c{colour % COLOURS}" if isinstance(colour, int) else colour


def _legend(chart: Chart) -> Html:
    """Return the names of curves and ribbons, each once."""
    kinds = [(one.name, _colour(one.colour), str(one.style)) for one in chart.curves]
    kinds += [(one.name, _colour(one.colour), _kind(one)) for one in chart.ribbons]
    named = {name: (colour, style) for name, colour, style in reversed(kinds) if name}
    if len(named) < 2:
        return Html("")
    return element(
        "p",
        *(
            element("span", element("i", **{"class": f"{style} {colour}"}), name)
            for name, (colour, style) in reversed(named.items())
        ),
        **{"class": "legend"},
    )


def _told(chart: Chart, x: AxisScale, y: AxisScale) -> dict[str, Any]:
    """Return what the script needs to name values and to zoom."""
    series = [
        {"name": one.name, "x": _short(one.x), "y": _short(one.y)}
        for one in chart.curves
        if one.name
    ]
    ribbons = [
        {"name": one.name, "x": _short(one.x), "low": _short(one.low), "high": _short(one.high)}
        for one in chart.ribbons
        if one.name
    ]
    return {
        "x": [x.low, x.high, x.start, x.end],
        "y": [y.low, y.high, y.start, y.end],
        "logX": chart.log_x,
        "logY": chart.log_y,
        "xLabel": chart.x_label,
        "series": series + ribbons,
    }


def _short(values: Array) -> list[float | None]:
    return [
        float(f"{one:.4g}") if math.isfinite(one) else None for one in np.asarray(values).tolist()
    ]
