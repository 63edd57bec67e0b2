"""Errors by horizon as text, Markdown and JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rffpsr_ros.evaluation.calibration import Coverage
from rffpsr_ros.evaluation.comparison import Comparison
from rffpsr_ros.evaluation.horizon_error import HorizonErrors
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.json_values import finite


def shown_horizons(last: int, wanted: Sequence[int] | None = None) -> list[int]:
    """Return the horizons that a table shows: some, as far as there are any, and the last."""
    return sorted({h for h in (*(wanted or (1, 2, 3, 5, 10)), last) if 1 <= h <= last})


def table(
    errors: Mapping[str, HorizonErrors], horizons: Sequence[int] | None = None
) -> tuple[list[str], list[list[str]]]:
    """Return heading and rows: a model's MSE at some horizons, its mean over all, its fit.

    The fit (100 is perfect) is the mean over observations at the last horizon shown. By default
    horizons 1, 2, 3, 5 and 10 are shown, as far as there are any, and the last.
    """
    last = max(one.horizon for one in errors.values())
    shown = shown_horizons(last, horizons)
    heading = ["model", *(f"h{h}" for h in shown), f"mean h1..h{last}", f"fit % h{shown[-1]}"]
    rows = [
        [
            name,
            *(f"{one.mse[h - 1]:.3g}" for h in shown),
            f"{one.mse.mean():.3g}",
            f"{one.fit_percent[shown[-1] - 1].mean():.1f}",
        ]
        for name, one in errors.items()
    ]
    return heading, rows


def text_table(errors: Mapping[str, HorizonErrors], horizons: Sequence[int] | None = None) -> str:
    """Return `table` with aligned columns, for a terminal."""
    heading, rows = table(errors, horizons)
    return _aligned(heading, rows)


def markdown_table(
    errors: Mapping[str, HorizonErrors], horizons: Sequence[int] | None = None
) -> str:
    """Return `table` in Markdown."""
    heading, rows = table(errors, horizons)
    rule = ["---", *["---:"] * (len(heading) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heading, rule, *rows])


def coverage_table(covered: Coverage, names: Sequence[str]) -> str:
    """Return the share of observations that bands covered (%), with aligned columns.

    ``names`` are those of the observations. Rows are for bands as in the model file ("fixed") and
    for bands that learn while the recording goes on, as the live filter's do ("adapted").
    """
    last = len(covered.fixed)
    shown = shown_horizons(last)
    heading = ["observation", "bands", *(f"h{h}" for h in shown), f"mean h1..h{last}"]
    rows = [
        [name, kind, *(_percent(share[h - 1, i]) for h in shown), _percent(share[:, i].mean())]
        for i, name in enumerate(names)
        for kind, share in (("fixed", covered.fixed), ("adapted", covered.adapted))
    ]
    return _aligned(heading, rows)


def coverage_as_json(covered: Coverage, names: Sequence[str]) -> dict[str, Any]:
    """Return the shares covered in JSON types: lists over horizons, per observation by name."""
    return {
        "coverage": covered.nominal,
        **{
            kind: dict(zip(names, finite(share.T.tolist()), strict=True))
            for kind, share in (("fixed", covered.fixed), ("adapted", covered.adapted))
        },
    }


def as_json(comparison: Comparison) -> str:
    """Return everything measured as JSON; what could not be measured is null."""
    report = {
        "horizon": comparison.horizon,
        "start": comparison.start,
        "clipped": comparison.clipped,
        "period": comparison.period,
        "models": {
            name: {
                "kind": entry.model.kind,
                **errors_as_json(entry.errors),
                "training_seconds": entry.training_seconds,
                "step_seconds": entry.step_seconds,
                "options": dict(entry.model.record.options),
            }
            for name, entry in comparison.entries.items()
        },
    }
    return json.dumps(report, indent=1)


def errors_as_json(errors: HorizonErrors) -> dict[str, Any]:
    """Return the errors in JSON types: lists over horizons, and per observation by name."""

    def by_name(values: Array) -> dict[str, list[float | None]]:
        return {
            name: finite(column.tolist())
            for name, column in zip(errors.observation_names, values.T, strict=True)
        }

    return {
        "mse": finite(errors.mse.tolist()),
        "mse_by_observation": by_name(errors.mse_by_observation),
        "rmse_by_observation": by_name(errors.rmse),
        "fit_percent_by_observation": by_name(errors.fit_percent),
        "mse_by_trajectory": [finite(row.tolist()) for row in errors.mse_by_trajectory],
        "scored": errors.counts.sum(axis=0).T.tolist(),
    }


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f}"


def _aligned(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with a rule under its heading."""
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [heading, *rows]
    ]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])
