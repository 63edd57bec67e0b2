"""The recordings: what was read, what is missing, and whether they excite the robot."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.exploration.check import ExplorationCheck
from rffpsr_ros.exploration.findings import findings
from rffpsr_ros.numerics.spectrum import spectra
from rffpsr_ros.recordings.bags.read_report import ReadReport
from rffpsr_ros.recordings.trajectory import Trajectory
from rffpsr_ros.report.charts import WIDTH, Chart, Curve, drawn
from rffpsr_ros.report.markup import (
    Cell,
    Figure,
    Html,
    Section,
    bullets,
    details,
    element,
    grid,
    joined,
    table,
)
from rffpsr_ros.training.data_check import check_data
from rffpsr_ros.training.judgement import Judgement

_MARKS = {"ok": "good", "note": "note", "warning": "WARNING"}
_BINS = 230
_MOST_BAGS = 200
_MOST_ROWS = 40
_SHOWN_PARTS = ("train", "validation", "test")


def data_section(
    judgement: Judgement, check: ExplorationCheck | str, report: ReadReport | None
) -> Section:
    """Return the section; without a report the recordings were no bags.

    ``check`` is that of `known_best`, or why there is none.
    """
    parts = {name: list(getattr(judgement.parts, name)) for name in _SHOWN_PARTS}
    of_what = "the training part" if parts["train"] else "what is judged on"
    body = [_presence(parts), element("h3", "Excitation"), *_excitation(check, of_what)]
    body.append(grid(*_spectra(known_best(judgement))))
    if report is not None:
        body.append(_bags(report))
    return Section(
        "data",
        "The data",
        "The strips show where observations are present (solid) and missing (pale), with all"
        " recordings laid end to end.",
        joined(*body),
        "Pale stretches: messages were lost, or max_age is shorter than the sensor's interval."
        " Warnings of the check say each what to do, and docs/exploration.md why. Power of an"
        " action at a few frequencies only: the model knows the robot's response there and"
        " nowhere else; play random steps or a multisine.",
    )


def known_best(judgement: Judgement) -> Sequence[Trajectory]:
    """Return the recordings that are checked: those to learn from, or else those judged on."""
    return judgement.parts.train or judgement.parts.test


def checked(judgement: Judgement, report: ReadReport | None) -> ExplorationCheck | str:
    """Return the check of the recordings as ``rffpsr check`` makes it, or why there is none."""
    known = known_best(judgement)
    channels = judgement.model.signature.channels or {}
    units = report.bags[0].action_units if report is not None and report.bags else ()
    if not known[0].action_names:
        return "There are no actions."
    try:
        return check_data(known, channels.get("learning", {}), units, responses=True)
    except (InputError, np.linalg.LinAlgError) as problem:
        return f"These recordings cannot be checked: {problem}"


def _presence(parts: Mapping[str, Sequence[Trajectory]]) -> Html:
    """Return strips with the share of ticks at which each observation is present."""
    runs = [run for part in parts.values() for run in part]
    named = [(name, sum(map(len, part))) for name, part in parts.items() if part]
    total = sum(map(len, runs))
    rows = np.concatenate([np.isfinite(run.observations) for run in runs])
    width, step = float(WIDTH), 34
    names = runs[0].observation_names[:_MOST_ROWS]
    drawing, at = [], 0.0
    for name, ticks in named:
        share = width * ticks / total
        drawing.append(_bar(at, 0, share, name, 1.0))
        at += share
    edges = np.linspace(0, total, min(_BINS, total) + 1).astype(int)
    for place, name in enumerate(names):
        y = 34 + step * place
        drawing.append(element("text", name, x="0", y=f"{y}"))
        shares = np.add.reduceat(rows[:, place], edges[:-1]) / np.diff(edges)
        for first, last in _equal(shares):
            begin, end = edges[first], edges[last]
            opacity = 0.12 + 0.88 * float(shares[first])
            length = width * (end - begin) / total
            drawing.append(_bar(width * begin / total, y + 5, length, None, opacity))
    height = 34 + step * len(names)
    svg = element("svg", *drawing, viewBox=f"0 0 {WIDTH} {height}", role="img")
    missing = 100 * (1 - rows.mean())
    caption = element("figcaption", f"{missing:.2g} % of the observations are missing")
    legend = [
        element("span", element("i", **{"class": f"ribbon part {name}"}), f"{name}: {ticks} ticks")
        for name, ticks in named
    ]
    parts_of = element("p", *legend, **{"class": "legend"})
    return element("figure", caption, parts_of, svg, **{"class": "strip"})


def _bar(x: float, y: float, width: float, kind: str | None, opacity: float) -> Html:
    return element(
        "rect",
        x=f"{x:.1f}",
        y=f"{y:g}",
        width=f"{max(width, 0.5):.1f}",
        height="12",
        opacity=f"{opacity:.2f}",
        **{"class": kind},
    )


def _equal(shares: np.ndarray) -> list[tuple[int, int]]:
    """Return runs (first, last) of bins with one share."""
    edges = [0, *(1 + np.flatnonzero(np.diff(shares))).tolist(), len(shares)]
    return list(itertools.pairwise(edges))


def _excitation(check: ExplorationCheck | str, of_what: str) -> list[Html]:
    if isinstance(check, str):
        return [element("p", check)]
    found = [f"{_MARKS[one.level]}: {one.sentence}" for one in findings(check)]
    said = f"The check of {of_what}, as 'rffpsr check' tells it:"
    return [element("p", said), bullets(found), details("by action", _by_action(check))]


def _by_action(check: ExplorationCheck) -> Html:
    heading = [
        "action",
        "lowest",
        "highest",
        "directions excited",
        "p of no response",
        "p of blind policy",
    ]
    rows: list[Sequence[Cell]] = [
        [
            one.name,
            Figure(one.low),
            Figure(one.high),
            Figure(None if one.freedom is None else float(one.freedom.directions), form=".0f"),
            Figure(one.response),
            Figure(one.policy),
        ]
        for one in check.channels
    ]
    return table(heading, rows)


def _spectra(known: Sequence[Trajectory]) -> list[Html]:
    charts = []
    for title, what, names in (
        ("power of actions", "actions", known[0].action_names),
        ("power of observations", "observations", known[0].observation_names),
    ):
        found = spectra([getattr(run, what) for run in known], known[0].period)
        if found is None or not names:
            continue
        hertz, density = found
        relative = density / np.where(density.sum(axis=0) > 0, density.sum(axis=0), 1.0)
        curves = [Curve(name, hertz, relative[:, i], i) for i, name in enumerate(names[:8])]
        charts.append(
            drawn(
                Chart(title, "frequency (Hz)", "share of the power", curves, log_x=True, log_y=True)
            )
        )
    return charts


def _bags(report: ReadReport) -> Html:
    heading = [
        "bag",
        "messages",
        "damaged",
        "late",
        "duplicate",
        "ticks",
        "left out",
        "ends of segments",
    ]
    rows: list[Sequence[Cell]] = [
        [
            Path(bag.path).name,
            *(
                Figure(float(number), form=".0f")
                for number in (
                    bag.messages, bag.undecodable, bag.late, bag.duplicates, bag.ticks,
                    bag.dropped_ticks, len(bag.segment_ends),
                )
            ),
        ]
        for bag in report.bags[:_MOST_BAGS]
    ]  # fmt: skip
    lost = report.warnings()
    count = f"{len(report.bags)} bag{'' if len(report.bags) == 1 else 's'}"
    parts = [details(count, table(heading, rows))]
    if lost:
        parts.append(bullets(lost))
    return joined(*parts)
