"""Error by horizon: the model beside the baselines, and the paired gain with its interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.evaluation.verdict import BASELINES
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.paired_errors import PairedErrors
from rffpsr_ros.report.charts import Chart, Curve, Ribbon, drawn
from rffpsr_ros.report.markup import Cell, Figure, Html, Section, details, grid, joined, table
from rffpsr_ros.training.judgement import Judgement

MOST_OBSERVATIONS = 24
"""Charts of more observations than these would be looked at by nobody."""


def error_section(judgement: Judgement) -> Section:
    """Return the section."""
    errors = judgement.comparison.errors
    horizons = np.arange(1, judgement.comparison.horizon + 1)
    signature = judgement.model.signature
    units = signature.observation_units or [""] * len(signature.observation_names)
    paired = judgement.verdict.paired
    charts = [] if paired is None else [_gain(paired, horizons)]
    columns = list(enumerate(zip(signature.observation_names, units, strict=True)))
    for column, (name, unit) in columns[:MOST_OBSERVATIONS]:
        charts.append(
            drawn(
                Chart(
                    name,
                    "ticks ahead",
                    f"RMSE ({unit})" if unit else "RMSE",
                    [
                        Curve(
                            model,
                            horizons,
                            one.rmse[:, column],
                            number,
                            "dashed" if number else "line",
                        )
                        for number, (model, one) in enumerate(errors.items())
                    ],
                    levels=[
                        ("standard deviation", float(np.sqrt(one_variance(judgement, column))))
                    ],
                    zero=True,
                    whole=True,
                )
            )
        )
    omitted = len(columns) - MOST_OBSERVATIONS
    more = f" {omitted} more observations stand in the tables only." if omitted > 0 else ""
    period = judgement.comparison.period
    return Section(
        "errors",
        "Error by horizon",
        f"Root mean squared error of forecasts 1 to {len(horizons)} ticks ahead (a tick is"
        f" {period:g} s), from {judgement.ticks} ticks, given the actions that were recorded. At"
        f" the dashed level a forecast is as good as the mean.{more}",
        joined(grid(*charts), details("all figures", _table(judgement), _paired_table(paired))),
        "Above linear ARX: the recordings are few for the model, or the robot is nearly linear:"
        " record more and more varied motion, or take --model linear_arx. Rising steeply with the"
        " horizon: the state is not known well; give longer windows (learning.past) or record"
        " what is missing. At the level of the mean from the first tick on: this observation does"
        " not depend on what is recorded.",
    )


def one_variance(judgement: Judgement, column: int) -> float:
    """Return the variance of an observation in what was forecast."""
    errors = next(iter(judgement.comparison.errors.values()))
    return float(np.nanmean(errors.variances[:, column]))


def _gain(paired: PairedErrors, horizons: Array) -> Html:
    """Return the chart of the ratio to the baseline's error, over all observations and of each."""
    baseline = BASELINES.get(paired.baseline, paired.baseline)
    curves = [Curve("all observations", horizons, paired.by_horizon.value, 0)]
    ratios = paired.by_observation.value.T
    if 1 < len(ratios) <= 6:
        curves += [
            Curve(name, horizons, ratio, number, "dashed")
            for number, (name, ratio) in enumerate(
                zip(paired.observation_names, ratios, strict=True), 1
            )
        ]
    ribbon = Ribbon("95 % interval", horizons, paired.by_horizon.low, paired.by_horizon.high, 0)
    return drawn(
        Chart(
            f"Squared error relative to {baseline}: below 1 is better",
            "ticks ahead",
            "ratio",
            curves,
            [ribbon] if np.isfinite(ribbon.high).any() else [],
            levels=[(baseline, 1.0)],
            whole=True,
        )
    )


def _table(judgement: Judgement) -> Html:
    told = judgement.as_json()
    heading = ["model", "observation", "", *(f"h{h}" for h in range(1, told["horizon"] + 1))]
    rows: list[Sequence[Cell]] = []
    for model, one in told["models"].items():
        path = ["models", model]
        rows.append([model, "sum", "MSE", *_figures(one["mse"], [*path, "mse"])])
        for name in told["observation_names"]:
            for key, what, form in (
                ("mse_by_observation", "MSE", ".3g"),
                ("rmse_by_observation", "RMSE", ".3g"),
                ("fit_percent_by_observation", "fit %", ".1f"),
            ):
                figures = _figures(one[key][name], [*path, key, name], form)
                rows.append([model, name, what, *figures])
    return table(heading, rows)


def _paired_table(paired: PairedErrors | None) -> Html:
    if paired is None:
        return Html("")
    told, path = paired.as_json(), ["verdict", "paired"]
    heading = ["ratio of squared errors", "", *(f"h{h}" for h in range(1, paired.horizon + 1))]
    rows: list[Sequence[Cell]] = []
    groups = [("all observations", told["by_horizon"], [*path, "by_horizon"])]
    groups += [
        (name, one, [*path, "by_observation", name]) for name, one in told["by_observation"].items()
    ]
    for name, one, place in groups:
        rows += [
            [name, end, *_figures(one[end], [*place, end])] for end in ("value", "low", "high")
        ]
    for name, shares in told["unexplained"].items():
        figures = _figures(shares, [*path, "unexplained", name])
        rows.append([name, "share of the variance", *figures])
    return table(heading, rows)


def _figures(
    values: Sequence[float | None], path: Sequence[str | int], form: str = ".3g"
) -> list[Figure]:
    return [Figure(value, [*path, place], form) for place, value in enumerate(values)]
