"""How much of what came the prediction bands held, by horizon."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.report.charts import Chart, Curve, drawn
from rffpsr_ros.report.error_section import MOST_OBSERVATIONS
from rffpsr_ros.report.markup import (
    Cell,
    Figure,
    Html,
    Section,
    details,
    grid,
    joined,
    paragraphs,
    table,
)
from rffpsr_ros.training.judgement import Judgement


def coverage_section(judgement: Judgement) -> Section:
    """Return the section."""
    covered = judgement.covered
    title, key = "Prediction bands", "bands"
    if covered is None:
        body = paragraphs("The model has no bands: it was trained with --bands none.")
        return Section(key, title, "", body, "")
    horizons = np.arange(1, judgement.comparison.horizon + 1)
    names = judgement.model.signature.observation_names
    charts = [
        drawn(
            Chart(
                name,
                "ticks ahead",
                "share covered (%)",
                [
                    Curve("as in the model file", horizons, 100 * fixed, 0),
                    Curve("adapted along the recording", horizons, 100 * adapted, 2, "dashed"),
                ],
                levels=[("promised", 100 * covered.nominal), ("", 100.0)],
                whole=True,
            )
        )
        for name, fixed, adapted in zip(names, covered.fixed.T, covered.adapted.T, strict=True)
    ]
    return Section(
        key,
        title,
        "The share of later observations within the bands that shall hold"
        f" {100 * covered.nominal:g} %, for bands as they are in the model file and for bands that"
        " adapt, as the live filter's do.",
        joined(grid(*charts[:MOST_OBSERVATIONS]), details("all figures", _table(judgement))),
        "Well below the promise: this recording is unlike those that the model was trained on"
        " (load, floor, speed): train on both; until then the filter's bands adapt. Well above:"
        " bands are wider than they need be, and more recordings narrow them.",
    )


def _table(judgement: Judgement) -> Html:
    told = judgement.as_json()
    heading = ["observation", "bands", *(f"h{h}" for h in range(1, told["horizon"] + 1))]
    rows: list[Sequence[Cell]] = []
    for name in told["observation_names"]:
        for kind in ("fixed", "adapted"):
            shares = told["bands"][kind][name]
            figures = [
                Figure(share, ["bands", kind, name, place]) for place, share in enumerate(shares)
            ]
            rows.append([name, kind, *figures])
    return table(heading, rows)
