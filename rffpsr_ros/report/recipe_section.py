"""What learning tried and chose: candidates on parts held out, weights of the blend, notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.report.charts import Chart, Curve, drawn
from rffpsr_ros.report.markup import (
    Cell,
    Figure,
    Html,
    Section,
    bullets,
    details,
    grid,
    joined,
    paragraphs,
    table,
)
from rffpsr_ros.training.request import kind_asked_for
from rffpsr_ros.training.validation import CROSS_VALIDATION

_FAR_APART = 30.0
"""From this ratio on errors are shown by their logarithm."""


def recipe_section(model: PredictiveModel[Any]) -> Section:
    """Return the section."""
    record = model.record
    metrics = record.metrics
    parts = [*_held_out(metrics), *_trials(metrics)]
    if not parts:
        parts += (paragraphs("The model was learned as it was asked for; nothing else was tried."),)
    if record.notes:
        parts.append(bullets(list(record.notes)))
    options = [
        [name, "from the data" if value is None else str(value)]
        for name, value in sorted(record.options.items())
        if not isinstance(value, Mapping)
    ]
    if options:
        parts.append(details("options", table(["option", "value"], options)))
    return Section(
        "recipe",
        "What was tried and chosen",
        f"How '{kind_asked_for(model)}' came about, judged on parts held out in turn. A score is"
        " the squared error relative to the variance, summed over observations, robust against"
        " single recordings.",
        joined(*parts),
        "Simple models bear most of the weight: there is little that is nonlinear in these"
        " recordings, or too little of it; record more varied motion. Scores near the number of"
        " observations: hardly anything can be foreseen from what is recorded.",
    )


def _held_out(metrics: Mapping[str, Any]) -> list[Html]:
    candidates = metrics.get(CROSS_VALIDATION)
    if not isinstance(candidates, Mapping) or not candidates:
        return []
    curves, rows = [], []
    places = {name: number for number, name in enumerate(candidates)}
    for number, (name, tried) in enumerate(candidates.items()):
        mse = np.array([np.nan if one is None else one for one in tried["mse"]], dtype=float)
        style = "line" if name == "ensemble" else "dashed"
        curves.append(Curve(name, np.arange(1, len(mse) + 1), mse, number, style))  # type: ignore[arg-type]
        row: list[Cell] = [name, Figure(tried.get("score")), *map(Figure, tried["mse"])]
        rows.append(row)
    sizes = np.concatenate([curve.y for curve in curves])
    far_apart = np.nanmin(sizes) > 0 and np.nanmax(sizes) > _FAR_APART * np.nanmin(sizes)
    held_out = Chart(
        "squared error on parts held out",
        "ticks ahead",
        "MSE",
        curves,
        log_y=bool(far_apart),
        zero=not far_apart,
        whole=True,
    )
    charts = [drawn(held_out)]
    weights = metrics.get("ensemble_weights")
    if isinstance(weights, Mapping) and weights:
        shares = [
            Curve(name, np.arange(1, len(one) + 1), np.array(one, dtype=float), places.get(name, 0))
            for name, one in weights.items()
        ]
        charts.append(
            drawn(
                Chart(
                    "weights of the blend", "ticks ahead", "weight", shares, zero=True, whole=True
                )
            )
        )
    heading = ["candidate", "score", *(f"h{h}" for h in range(1, len(curves[0].x) + 1))]
    return [grid(*charts), details("all figures", table(heading, rows))]


def _trials(metrics: Mapping[str, Any]) -> list[Html]:
    trials = metrics.get("trials")
    if not isinstance(trials, Mapping) or not trials:
        return []
    rows: Sequence[Sequence[Cell]] = [
        [name, Figure(score)] for name, score in sorted(trials.items(), key=lambda one: one[1])
    ]
    heading = ["configuration, on the first folds", "score"]
    return [details("configurations that were tried", table(heading, rows))]
