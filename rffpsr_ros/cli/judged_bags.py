"""The arguments with which commands judge a model on bags, and the bags they mean."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rffpsr_ros.cli.console import ProgressBar
from rffpsr_ros.cli.parser import Parser, fraction, whole_number
from rffpsr_ros.cli.settings import add_reading_arguments, reading_options
from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.model_channels import channels_of
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.loading import load_model
from rffpsr_ros.recordings.bags.files import find_bags
from rffpsr_ros.training.judgement import Judgement, Judging, judge
from rffpsr_ros.training.recordings import (
    BagRecordings,
    Split,
    check_columns,
    read_recordings,
    split_recordings,
    three_fractions,
)
from rffpsr_ros.training.request import kind_asked_for


class JudgedBags(NamedTuple):
    """What was judged, and the recordings that it was judged on."""

    judgement: Judgement
    recordings: BagRecordings


def add_judging_arguments(parser: Parser) -> None:
    """Declare which model is judged, on what, and how."""
    parser.add_argument("bags", metavar="BAG", nargs="+", help="bags, folders of bags, patterns")
    parser.add_argument("--model", metavar="MODEL", required=True, help="a model file")
    parser.add_argument(
        "--split", metavar="F,F,F", help="judge only the last of these parts of the bags"
    )
    parser.add_argument(
        "--train", metavar="BAG", nargs="+", action="extend", help="bags to fit linear ARX to"
    )
    parser.add_argument(
        "--beside", metavar="MODEL", nargs="+", action="extend", default=[], help="other models"
    )
    parser.add_argument(
        "--horizon", type=whole_number(1), default=10, metavar="H", help="ticks ahead (10)"
    )
    parser.add_argument(
        "--start", type=whole_number(0), default=9, metavar="T", help="first tick judged (9)"
    )
    parser.add_argument(
        "--coverage",
        type=fraction,
        default=0.9,
        metavar="C",
        help="the share of later observations that prediction bands shall cover (0.9)",
    )
    parser.add_argument(
        "--adapt",
        action="store_true",
        help="show the model, too, as it corrects itself by its errors along each recording",
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    add_reading_arguments(parser)


def judge_bags(
    arguments: argparse.Namespace, model: PredictiveModel[Any], progress: ProgressBar
) -> JudgedBags:
    """Read the bags that the arguments name, and judge the model on them.

    Raises
    ------
    InputError
        If a bag or a model cannot be read, columns differ, or there is nothing to judge on.
    """
    if arguments.split and arguments.train:
        raise InputError("--split names a training part and so does --train; give one")
    if arguments.split is not None and three_fractions(arguments.split)[-1] == 0:
        raise _nothing_to_test_on(arguments.split)
    configuration, reading = channels_of(model), reading_options(arguments)
    beside = {path: load_model(path) for path in arguments.beside}
    if arguments.train:
        find_bags(arguments.train)  # a wrong name is told of before anything is read
    recordings = read_recordings(arguments.bags, configuration, reading, progress)
    parts = Split([], [], recordings.trajectories)
    if arguments.split is not None:
        parts = split_recordings(recordings.trajectories, arguments.split)
    if arguments.train:
        known = read_recordings(
            arguments.train, configuration, reading, progress, "reading training bags"
        )
        parts = parts._replace(train=known.trajectories)
    check_columns(parts.test or parts.train, model.signature, arguments.model)
    if not parts.test:
        raise _nothing_to_test_on(arguments.split)
    options = Judging(arguments.horizon, arguments.start, arguments.coverage, arguments.adapt)
    others = _others(beside, model, parts)
    return JudgedBags(judge(model, arguments.model, parts, options, others, progress), recordings)


def _others(
    beside: Mapping[str, PredictiveModel[Any]], model: PredictiveModel[Any], parts: Split
) -> dict[str, PredictiveModel[Any]]:
    """Return the models given with --beside, by their kind, or their file where that is taken."""
    others: dict[str, PredictiveModel[Any]] = {}
    for path, other in beside.items():
        check_columns(parts.test, other.signature, path)
        kind = kind_asked_for(other)
        taken = kind in others or kind == kind_asked_for(model)
        others[Path(path).stem if taken else kind] = other
    return others


def _nothing_to_test_on(split: str) -> InputError:
    return InputError(f"the split {split} leaves nothing to test on")
