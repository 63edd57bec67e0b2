"""Forecasts along a bag kept in files: a table, or a bag with the topics of the live filter."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

from rffpsr_ros.forecasting.along_bag import BagForecast
from rffpsr_ros.models.contract import Signature
from rffpsr_ros.recordings.bags.writer import BagWriter
from rffpsr_ros.recordings.forecast_messages import (
    FORECAST_TYPES,
    band_bounds,
    band_message,
    predicted_message,
    prediction_message,
    row_ahead,
    trajectory_message,
)

NODE = "/rffpsr_filter"
"""The live filter's name, under which the topics of a bag stand too."""


class ForecastLayout(NamedTuple):
    """What the columns and topics are.

    ``lead`` is how many ticks ahead the topic ``predicted`` looks where a forecast does not say it,
    ``coverage`` the share of observations that the bands cover, if there are any.
    """

    signature: Signature
    lead: int
    coverage: float
    bands: bool


def write_table(file: IO[bytes], forecasts: Iterable[BagForecast], layout: ForecastLayout) -> int:
    """Write a row for each forecast, below a row of names, and return how many there are."""
    names = layout.signature.observation_names
    count = 0
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    rows = csv.writer(text)
    for forecast in forecasts:
        if count == 0:
            ahead = range(1, len(forecast.values) + 1)
            later = [f"{name}+{h}" for name in names for h in ahead]
            bands = [] if forecast.half_width is None else [f"{one} band" for one in later]
            rows.writerow(["time", "segment", *names, *later, *bands])
        count += 1
        numbers = np.concatenate([forecast.seen, forecast.values.T.ravel()])
        if forecast.half_width is not None:
            numbers = np.append(numbers, forecast.half_width.T)
        cells = ["" if np.isnan(number) else repr(float(number)) for number in numbers]
        rows.writerow([_seconds(forecast.made_ns), forecast.segment, *cells])
    text.flush()
    text.detach()
    return count


def write_bag(folder: Path, forecasts: Iterable[BagForecast], layout: ForecastLayout) -> int:
    """Write each forecast to the filter's topics, and return how many there are."""
    names, period = layout.signature.observation_names, layout.signature.period
    types = {name: t for name, t in FORECAST_TYPES.items() if name != "band" or layout.bands}
    count = 0
    with BagWriter(folder) as bag:
        make = bag.message
        for name, type_name in types.items():
            bag.add_topic(f"{NODE}/{name}", type_name)
        for forecast in forecasts:
            count += 1
            made_ns, values, assumes = forecast.made_ns, forecast.values, forecast.assumes
            ahead = row_ahead(values, forecast.lead or layout.lead, made_ns, period)
            messages = {
                "prediction": prediction_message(make, values, assumes),
                "trajectory": trajectory_message(make, values, names, made_ns, period),
            }
            if ahead is not None:
                row, target_ns = ahead
                messages["predicted"] = predicted_message(make, row, names, target_ns)
            if forecast.half_width is not None:
                bounds = band_bounds(values, forecast.half_width)
                if bounds.size:
                    messages["band"] = band_message(make, bounds, layout.coverage)
            for name, message in messages.items():
                # Players and plots that know nothing of headers put it where it belongs, too.
                logged_ns = target_ns if name == "predicted" else made_ns
                bag.write(f"{NODE}/{name}", logged_ns, message)
    return count


def _seconds(nanoseconds: int) -> str:
    """Return seconds exactly: a float would lose the last digits of a clock's time."""
    whole, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{whole}.{rest:09d}"
