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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rffpsr_ros.cli.console import ProgressBar, say, say_json
from rffpsr_ros.cli.outputs import FORECASTS, check_writable, whole_folder
from rffpsr_ros.cli.parser import Parser, fraction, whole_number
from rffpsr_ros.cli.settings import add_reading_arguments
from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.adaptation.adaptive_model import AdaptiveModel
from rffpsr_ros.forecasting.along_bag import RECORDED, BagForecast, replay, run_along
from rffpsr_ros.forecasting.follow_options import FollowOptions
from rffpsr_ros.forecasting.forecast_files import ForecastLayout, write_bag, write_table
from rffpsr_ros.forecasting.model_channels import channels_of
from rffpsr_ros.forecasting.replay import Replay
from rffpsr_ros.forecasting.sequence_log import CONTROL_TOPIC
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.models.storage import write_atomically
from rffpsr_ros.progress import Progress
from rffpsr_ros.recordings.bags.files import find_bags
from rffpsr_ros.recordings.bags.message_types import MessageTypes
from rffpsr_ros.recordings.bags.read_report import ReadReport
from rffpsr_ros.recordings.bags.reader import BagSampler, bag_topics

_OTHER_TABLES = (".txt", ".tsv", ".dat", ".json", ".xls", ".xlsx", ".parquet", ".npz", ".npy")


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
    parser.add_argument(
        "--adapt", action="store_true", help="correct forecasts by their errors along the bag"
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
    layout = ForecastLayout(
        model.signature, lead, arguments.coverage, bands=model.bands is not None
    )
    with ProgressBar(quiet=arguments.quiet) as progress:
        progress("forecasting", 0.0)
        forecasts = _forecasts(model, arguments, progress)
        if _is_table(target):
            with write_atomically(target) as file:
                count = write_table(file, forecasts, layout)
        else:
            with whole_folder(target) as folder:
                count = write_bag(folder, forecasts, layout)
    if arguments.json:
        say_json({"out": str(target), "forecasts": count, "horizon": arguments.horizon})
    else:
        say(f"{count} forecasts of {arguments.horizon} ticks written to {target}")


def _forecasts(
    model: PredictiveModel[Any], arguments: argparse.Namespace, progress: Progress
) -> Iterator[BagForecast]:
    """Yield the forecasts along the bag; complain if there are none."""
    path = _only_bag(arguments.bag)
    types = MessageTypes(arguments.ros_distro, arguments.msg_path)
    assumed = arguments.future_actions
    count = 0
    if assumed == RECORDED or (assumed is None and CONTROL_TOPIC not in bag_topics(path)):
        with BagSampler(path, channels_of(model), types) as bag:
            runs = AdaptiveModel(model, arguments.horizon) if arguments.adapt else model
            for forecast in run_along(
                runs, bag, arguments.horizon, arguments.every, arguments.coverage, progress
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
            lead=arguments.lead or arguments.horizon,
            adapt=arguments.adapt,
        )
        for forecast in replay(Replay(model, path, options, types), progress):
            count += 1
            yield forecast
        needed = arguments.every
    if not count:
        raise InputError(f"no segment of bag {path} has {needed} ticks, so nothing was forecast")


def _is_table(path: Path) -> bool:
    """Return whether a table is wanted there, not a bag."""
    return path.suffix.lower() == ".csv"


def _target(text: str) -> Path:
    path = Path(text)
    if _is_table(path):
        return check_writable(path, FORECASTS)
    if path.suffix in (".mcap", ".db3", ".bag"):
        raise InputError(
            f"--out {text} names a storage file; a bag is a folder, such as {path.with_suffix('')}"
        )
    if path.suffix.lower() in _OTHER_TABLES:
        raise InputError(f"--out {text} is no .csv file; forecasts are written as .csv or as a bag")
    if path.exists():
        raise InputError(f"'{path}' exists already; choose another name or remove it")
    return check_writable(path)


def _only_bag(text: str) -> Path:
    bags = find_bags([text])
    if len(bags) > 1:
        raise InputError(f"{text} means {len(bags)} bags; predict takes one at a time")
    return bags[0]
