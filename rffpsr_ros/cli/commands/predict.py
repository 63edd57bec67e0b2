"""Forecast along a bag with a model, into a table (.csv) or into a bag of its own.

Every forecast knows what was observed before it, and by default is given the actions that were
recorded after it; --future-actions hold or zero assumes what a live filter must. The log that a
filter writes of what it was fed is followed exactly as the filter did.

A table has one row per forecast: the time it was made at, the observations seen then, and for each
of them its forecast 1, 2, ... ticks ahead. A bag has the topics of the live filter: lay it over the
recording in PlotJuggler or Foxglove.
"""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.cli.console import ProgressBar, say, say_json
from rffpsr_ros.cli.outputs import check_writable, whole_folder
from rffpsr_ros.cli.parser import Parser, fraction, whole_number
from rffpsr_ros.cli.settings import add_reading_arguments
from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.along_bag import RECORDED, BagForecast, replay, run_along
from rffpsr_ros.forecasting.follower import FollowOptions, channels_of
from rffpsr_ros.forecasting.replay import Replay
from rffpsr_ros.forecasting.sequence_log import CONTROL_TOPIC
from rffpsr_ros.models.contract import PredictiveModel, Signature
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.storage import write_atomically
from rffpsr_ros.recordings.bags.files import find_bags
from rffpsr_ros.recordings.bags.message_types import MessageTypes
from rffpsr_ros.recordings.bags.read_report import ReadReport
from rffpsr_ros.recordings.bags.reader import BagSampler, bag_topics
from rffpsr_ros.recordings.bags.writer import BagWriter
from rffpsr_ros.recordings.forecast_messages import (
    FORECAST_TYPES,
    ahead_ns,
    band_bounds,
    band_message,
    predicted_message,
    prediction_message,
    trajectory_message,
)

NODE = "/rffpsr_filter"
"""The live filter's name, under which the topics of a bag stand too."""


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bag", metavar="BAG", help="a bag with the model's topics")
    parser.add_argument("--model", metavar="MODEL", required=True, help="a model file")
    parser.add_argument(
        "--out", metavar="PATH", required=True, help="FILE.csv, or a new bag folder"
    )
    parser.add_argument(
        "--horizon", type=whole_number(1), default=10, metavar="H", help="ticks ahead (10)"
    )
    parser.add_argument(
        "--lead",
        type=whole_number(1),
        metavar="K",
        help="how far ahead the topic 'predicted' of a bag looks, in ticks (the horizon)",
    )
    parser.add_argument(
        "--every", type=whole_number(1), default=1, metavar="N", help="forecast at each N-th tick"
    )
    parser.add_argument(
        "--future-actions",
        choices=(RECORDED, "hold", "zero"),
        help="what forecasts assume: the recorded actions, the last one held, or zero",
    )
    parser.add_argument(
        "--coverage",
        type=fraction,
        default=0.9,
        metavar="C",
        help="the share of later observations that bands shall cover, if the model has bands (0.9)",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    """Write the forecasts and say how many there are."""
    model = load_model(arguments.model)
    channels_of(model)
    lead = arguments.lead or arguments.horizon
    if lead > arguments.horizon:
        raise InputError(f"--lead is {lead}; it must be at most the horizon {arguments.horizon}")
    target = _target(arguments.out)
    if model.bands is not None:
        model.bands.half_width(arguments.coverage, 1)  # refused before work starts
    topics = {n: t for n, t in FORECAST_TYPES.items() if n != "band" or model.bands is not None}
    layout = _Layout(model.signature, lead, arguments.coverage, topics)
    with ProgressBar(quiet=arguments.quiet) as progress:
        progress("forecasting", 0.0)
        write = _write_table if target.suffix == ".csv" else _write_bag
        count = write(target, _forecasts(model, arguments), layout)
    if arguments.json:
        say_json({"out": str(target), "forecasts": count, "horizon": arguments.horizon})
    else:
        say(f"{count} forecasts of {arguments.horizon} ticks written to {target}")


def _forecasts(model: PredictiveModel[Any], arguments: argparse.Namespace) -> Iterator[BagForecast]:
    """Yield the forecasts along the bag; complain if there are none."""
    path = _only_bag(arguments.bag)
    types = MessageTypes(arguments.ros_distro, arguments.msg_path)
    assumed = arguments.future_actions
    count = 0
    if assumed == RECORDED or (assumed is None and CONTROL_TOPIC not in bag_topics(path)):
        with BagSampler(path, channels_of(model), types) as bag:
            for forecast in run_along(
                model, bag, arguments.horizon, arguments.every, arguments.coverage
            ):
                count += 1
                yield forecast
            ReadReport().finish(bag.report)
        needed = arguments.horizon
    else:
        options = FollowOptions(
            arguments.horizon,
            assumed or "topic",
            arguments.every,
            start="episode",
            coverage=arguments.coverage,
        )
        for forecast in replay(Replay(model, path, options, types)):
            count += 1
            yield forecast
        needed = arguments.every
    if not count:
        raise InputError(f"no segment of bag {path} has {needed} ticks, so nothing was forecast")


class _Layout(NamedTuple):
    """What the columns and topics are."""

    signature: Signature
    lead: int
    coverage: float
    topics: Mapping[str, str]


def _target(text: str) -> Path:
    path = Path(text)
    if path.suffix == ".csv":
        return check_writable(path)
    if path.suffix in (".mcap", ".db3", ".bag"):
        raise InputError(
            f"--out {text} names a storage file; a bag is a folder, such as {path.with_suffix('')}"
        )
    if path.exists():
        raise InputError(f"'{path}' exists already; choose another name or remove it")
    return check_writable(path)


def _only_bag(text: str) -> Path:
    bags = find_bags([text])
    if len(bags) > 1:
        raise InputError(f"{text} means {len(bags)} bags; predict takes one at a time")
    return bags[0]


def _write_table(target: Path, made: Iterable[BagForecast], layout: _Layout) -> int:
    names = layout.signature.observation_names
    count = 0
    with write_atomically(target) as binary:
        text = io.TextIOWrapper(binary, encoding="utf-8", newline="")
        rows = csv.writer(text)
        for forecast in made:
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


def _write_bag(target: Path, made: Iterable[BagForecast], layout: _Layout) -> int:
    names, period = layout.signature.observation_names, layout.signature.period
    topics = {name: f"{NODE}/{name}" for name in layout.topics}
    lead_ns = ahead_ns(layout.lead, period)
    count = 0
    with whole_folder(target) as folder, BagWriter(folder) as bag:
        make = bag.message
        for name, type_name in layout.topics.items():
            bag.add_topic(topics[name], type_name)
        for forecast in made:
            count += 1
            made_ns, values, assumes = forecast.made_ns, forecast.values, forecast.assumes
            target_ns, ahead = made_ns + lead_ns, values[min(layout.lead, len(values)) - 1]
            messages = {
                "prediction": prediction_message(make, values, assumes),
                "trajectory": trajectory_message(make, values, names, made_ns, period, assumes),
                "predicted": predicted_message(make, ahead, names, target_ns, assumes),
            }
            if forecast.half_width is not None:
                bounds = band_bounds(values, forecast.half_width)
                messages["band"] = band_message(make, bounds, layout.coverage)
            for name, message in messages.items():
                # Players and plots that know nothing of headers put it where it belongs, too.
                logged_ns = target_ns if name == "predicted" else made_ns
                bag.write(topics[name], logged_ns, message)
    return count


def _seconds(nanoseconds: int) -> str:
    """Return seconds exactly: a float would lose the last digits of a clock's time."""
    whole, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{whole}.{rest:09d}"
