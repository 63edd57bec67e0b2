"""Forecast fans: what was forecast over what was then observed, where it went best and worst."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rffpsr_ros.evaluation.followed import FollowedRun, Stretch, stretches
from rffpsr_ros.models.bands import Bands
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.report.charts import Chart, Curve, Ribbon, drawn
from rffpsr_ros.report.markup import Html, Section, element, grid, joined, paragraphs
from rffpsr_ros.training.judgement import Judgement

MOST_OBSERVATIONS = 6
_INNER = 0.5


def forecast_section(judgement: Judgement, followed: Sequence[FollowedRun]) -> Section:
    """Return the section."""
    found = stretches(followed)
    title, key = "Forecasts over what was observed", "forecasts"
    if not found:
        body = paragraphs("No recording is long enough to be shown.")
        return Section(key, title, "", body, "")
    chosen = {"best": found[0], "median": found[len(found) // 2], "worst": found[-1]}
    columns = _columns(judgement)
    signature = judgement.model.signature
    units = signature.observation_units or [""] * len(signature.observation_names)
    parts = []
    for column in columns:
        name = signature.observation_names[column]
        unit, bands = units[column], judgement.model.bands
        charts = [
            _fan(word, stretch, column, unit, bands, judgement.options.coverage)
            for word, stretch in chosen.items()
        ]
        parts += [element("h3", name), grid(*charts)]
    omitted = len(signature.observation_names) - len(columns)
    more = f" Shown are the {len(columns)} observations that are hardest." if omitted else ""
    horizon = judgement.comparison.horizon
    said = ""
    if judgement.model.bands is not None:
        shares = f"{_percent(judgement.options.coverage)} and half"
        said = f" Bands are those that shall hold {shares} of what comes."
    return Section(
        key,
        title,
        f"Each line is one forecast of {horizon} ticks, made at its dot with the actions that were"
        f" recorded after it.{said} Stretches of {found[0].forecasts} forecasts in a row are"
        f" ordered by their squared error over all observations, relative to the variance.{more}",
        joined(*parts),
        "Fans that leave in the right direction and stay short or long: dynamics or delay are"
        " learned only in part; give more data of such motion. Fans that all begin beside the"
        " dots: the state lags, or the sensor drifts. A worst stretch unlike the rest: look at"
        " what happened then (contact, slip, a lost message), and record more of it or leave it"
        " out.",
    )


def _columns(judgement: Judgement) -> list[int]:
    """Return the observations that are shown, in their order: all, or those that are hardest."""
    errors = next(iter(judgement.comparison.errors.values()))
    fit = np.nan_to_num(errors.fit_percent[-1], nan=np.inf)
    return sorted(np.argsort(fit, kind="stable")[:MOST_OBSERVATIONS].tolist())


def _fan(
    word: str, stretch: Stretch, column: int, unit: str, bands: Bands | None, nominal: float
) -> Html:
    followed, horizon = stretch.followed, stretch.followed.horizon
    run = followed.trajectory
    begin = followed.start + stretch.first * horizon
    shown = slice(max(0, begin - 1), begin + stretch.forecasts * horizon)
    ticks = np.arange(len(run))[shown]
    observed = run.observations[shown, column]
    curves = [Curve("observed", _seconds(ticks, run.period), observed, "ink")]
    ribbons, starts = [], []
    for place in range(stretch.forecasts):
        made = followed.whole[stretch.first + place, :, column]
        origin = begin + place * horizon
        x = _seconds(np.arange(origin, origin + horizon), run.period)
        last = run.observations[origin - 1, column] if origin else np.nan
        x0 = _seconds(np.array([origin - 1]), run.period)
        starts.append((x0[0], last))
        curves.append(Curve("forecast", np.concatenate([x0, x]), np.concatenate([[last], made]), 1))
        for share, width in _widths(bands, nominal, horizon, column):
            ribbons.append(
                Ribbon(f"{_percent(share)} band", x, made - width, made + width, 1, share == _INNER)
            )
    made_at = np.array(starts)
    curves.append(Curve("", made_at[:, 0], made_at[:, 1], 1, "dots"))
    label = f"time in what is judged (s){f', {run.label}' if run.label else ''}"
    title = f"{word} stretch: {stretch.relative:.2g} of the variance"
    return drawn(Chart(title, label, unit or "value", curves, ribbons))


def _widths(
    bands: Bands | None, nominal: float, horizon: int, column: int
) -> list[tuple[float, Array]]:
    if bands is None:
        return []
    shares = sorted({nominal, _INNER}, reverse=True)
    return [(share, bands.half_width(share, horizon)[:, column]) for share in shares]


def _seconds(ticks: Array, period: float) -> Array:
    return np.asarray((ticks + 1) * period)


def _percent(share: float) -> str:
    return f"{100 * share:g} %"
