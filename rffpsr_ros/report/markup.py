"""HTML written by functions: every text that comes from outside is escaped here, and only here."""

from __future__ import annotations

import html
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Html(str):
    """Markup that is ready: what is a plain string still has to be escaped."""

    __slots__ = ()


class Section(NamedTuple):
    """A part of the page: what it shows, and what to do if that looks bad."""

    key: str
    title: str
    lead: str
    body: Html
    advice: str


class Figure(NamedTuple):
    """A number of a table, and where it stands in the evaluation (keys from the top)."""

    value: float | None
    path: Sequence[str | int] = ()
    form: str = ".3g"

    def html(self) -> Html:
        """Return a cell; the number stands there in full as well, for whoever checks it."""
        known = self.value is not None and math.isfinite(self.value)
        return element(
            "td",
            format(self.value, self.form) if known else "-",
            **{
                "class": "number",
                "data-value": json.dumps(self.value if known else None),
                "data-path": json.dumps(list(self.path)) if self.path else None,
            },
        )


Cell = str | Figure


def element(tag: str, *content: str, **attributes: str | None) -> Html:
    """Return an element; attributes that are None are left out."""
    words = "".join(
        f' {name}="{html.escape(value)}"' for name, value in attributes.items() if value is not None
    )
    return Html(f"<{tag}{words}>{joined(*content)}</{tag}>")


def joined(*content: str) -> Html:
    """Return contents one after the other, escaped where they are no markup yet."""
    return Html("".join(part if isinstance(part, Html) else html.escape(part) for part in content))


def table(heading: Sequence[str], rows: Sequence[Sequence[Cell]]) -> Html:
    """Return a table that can be scrolled sideways where it is too wide."""
    head = element("tr", *(element("th", cell) for cell in heading))
    body = [
        element(
            "tr",
            *(cell.html() if isinstance(cell, Figure) else element("td", cell) for cell in row),
        )
        for row in rows
    ]
    inner = element("table", element("thead", head), element("tbody", *body))
    return element("div", inner, **{"class": "scroll"})


def details(summary: str, *content: str) -> Html:
    """Return contents that are shown when asked for, and on paper."""
    return element("details", element("summary", summary), *content)


def grid(*content: str) -> Html:
    """Return figures side by side, as many as there is room for."""
    return element("div", *content, **{"class": "grid"})


def paragraphs(*sentences: str) -> Html:
    """Return a paragraph for each sentence."""
    return joined(*(element("p", sentence) for sentence in sentences))


def bullets(items: Sequence[str]) -> Html:
    """Return a list."""
    return element("ul", *(element("li", item) for item in items))


def script_data(key: str, value: Mapping[str, Any]) -> Html:
    """Return data of JSON types that a script, or another program, finds by its key."""
    text = json.dumps(value, allow_nan=False).replace("<", "\\u003c")
    return Html(f'<script type="application/json" id="{html.escape(key)}">{text}</script>')
