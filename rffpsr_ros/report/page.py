"""The page around its sections: the verdict first, a way to each section, the figures as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rffpsr_ros.evaluation.verdict import BASELINES, ModelVerdict
from rffpsr_ros.report.markup import Html, Section, element, joined, script_data

EVALUATION = "evaluation"
"""The key of the data on the page: what ``rffpsr evaluate --json`` tells."""

MARK = "<!-- report by rffpsr_ros -->"
"""What a page begins with, after its type."""

_STANDING = {
    "better": "better than",
    "worse": "worse than",
    "undecided": "not to be told from",
}


def page(
    title: str,
    subtitle: str,
    said: ModelVerdict,
    remarks: Sequence[str],
    sections: Sequence[Section],
    figures: Mapping[str, Any],
) -> str:
    """Return the whole page, which needs nothing beside itself."""
    card = element(
        "div",
        element("b", _standing(said)),
        *(element("p", sentence) for sentence in said.sentences),
        **{"class": f"verdict {said.standing}"},
    )
    ways = element("nav", *(element("a", one.title, href=f"#{one.key}") for one in sections))
    body = element(
        "main",
        element("p", subtitle, **{"class": "soft"}),
        element("h1", title),
        card,
        *(element("p", remark) for remark in remarks),
        ways,
        *map(_section, sections),
    )
    head = joined(
        Html('<meta charset="utf-8">'),
        Html('<meta name="viewport" content="width=device-width,initial-scale=1">'),
        Html('<link rel="icon" href="data:,">'),
        element("title", title),
        Html(f"<style>{_beside('page.css')}</style>"),
    )
    tail = joined(script_data(EVALUATION, figures), Html(f"<script>{_beside('page.js')}</script>"))
    content = f"<head>{head}</head><body>{body}{tail}</body>"
    return f'<!doctype html>\n{MARK}\n<html lang="en">{content}</html>\n'


def _standing(said: ModelVerdict) -> str:
    if said.standing not in _STANDING:
        return "no verdict"
    baseline = "a baseline" if said.paired is None else said.paired.baseline
    return f"{_STANDING[said.standing]} {BASELINES.get(baseline, baseline)}"


def _beside(name: str) -> str:
    """Return the text of a file beside this one."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _section(section: Section) -> Html:
    parts = [element("h2", section.title), element("p", section.lead), section.body]
    if section.advice:
        advice = joined(element("b", "If this looks bad:"), section.advice)
        parts.append(element("p", advice, **{"class": "advice"}))
    return element("section", *parts, id=section.key)
