"""Make a bag of a table: one JointState message per row, with the columns as names.

The table is a .csv file (commas, semicolons or tabs) whose first row names the columns. A cell
that is empty or 'nan' is a missing value. A command and the observation of one row are taken to
be of the same time: the command acts from then on.

Without --topic all columns go to the topic /table. With it, columns are shared out, and the others
are left out: --topic /motor=voltage --topic /encoder=position,speed
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rffpsr_ros.cli.console import ProgressBar, say, say_json, warn
from rffpsr_ros.cli.outputs import whole_folder
from rffpsr_ros.cli.parser import Parser
from rffpsr_ros.errors import InputError, did_you_mean, plain, shown
from rffpsr_ros.recordings.bags.writer import BagWriter
from rffpsr_ros.recordings.forecast_messages import PREDICTED_TYPE, predicted_message
from rffpsr_ros.recordings.table_file import TIME_UNITS, Table, read_table
from rffpsr_ros.training.proposal.numeric_fields import element_path

_DEFAULT_TOPIC = "/table"
_USUAL_RATES = 0.1, 20_000.0
"""Rows a second: others rather come of another unit of time."""
_EARLIEST_NS = 1
"""A time of 0 means in ROS that there is none."""
_TOPIC = re.compile(r"(/[A-Za-z_][A-Za-z0-9_]*)+\Z")
"""What ROS lets a topic be called."""


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("table", metavar="FILE", help="a .csv file with a time column")
    parser.add_argument("--out", metavar="BAG", required=True, help="the bag folder to make")
    parser.add_argument("--time", metavar="COLUMN", help="the column with the time")
    parser.add_argument("--time-unit", choices=tuple(TIME_UNITS), default="s", help="its unit (s)")
    parser.add_argument(
        "--topic", metavar="NAME=COLUMN,...", action="append", default=[], help="share out columns"
    )
    parser.add_argument(
        "--storage", choices=("mcap", "sqlite3"), default="mcap", help="file format (mcap)"
    )
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print a summary as JSON")


def run(arguments: argparse.Namespace) -> None:
    """Read the table and write the bag."""
    table = read_table(arguments.table, arguments.time, arguments.time_unit)
    topics = _topics(arguments.topic, table)
    target = Path(arguments.out)
    with (
        ProgressBar(quiet=arguments.quiet) as progress,
        whole_folder(target) as folder,
        BagWriter(folder, arguments.storage) as bag,
    ):
        for topic in topics:
            bag.add_topic(topic, PREDICTED_TYPE)
        for row, (time, values) in enumerate(zip(table.times_ns, table.values, strict=True)):
            time_ns = max(int(time), _EARLIEST_NS)
            for topic, columns in topics.items():
                names = [table.columns[column] for column in columns]
                message = predicted_message(bag.message, values[columns], names, time_ns)
                bag.write(topic, time_ns, message)
            if row % 1000 == 0:
                progress("writing", row / len(table.values))
    _tell(arguments, table, topics, target)


def _topics(shares: Sequence[str], table: Table) -> dict[str, list[int]]:
    """Return column indices by topic."""
    if not shares:
        return {_DEFAULT_TOPIC: list(range(len(table.columns)))}
    topics: dict[str, list[int]] = {}
    for share in shares:
        name, equals, listed = share.partition("=")
        if not equals or not name.strip("/") or not listed:
            raise InputError(
                f"--topic {plain(share)} is malformed; write a topic and its columns, such as"
                " --topic /motor=voltage,current"
            )
        topic = "/" + name.strip("/")
        if not _TOPIC.match(topic):
            raise InputError(
                f"--topic names {shown(topic)}, which no topic can be called; names consist of"
                " letters, digits, '_' and '/', and none begins with a digit"
            )
        whole = listed in table.columns  # its name may have a comma
        for column in [listed] if whole else listed.split(","):
            if column not in table.columns:
                raise _no_column(column, table)
            place = table.columns.index(column)
            columns = topics.setdefault(topic, [])
            if place in columns:
                raise InputError(f"--topic names column '{plain(column)}' twice in {topic}")
            columns.append(place)
    return topics


def _no_column(column: str, table: Table) -> InputError:
    if column == table.clock:
        return InputError(f"column '{plain(column)}' holds the time, which every message has")
    nearest = did_you_mean(column, table.columns)
    return InputError(f"the table has no column '{plain(column)}'{nearest}")


def _tell(
    arguments: argparse.Namespace, table: Table, topics: Mapping[str, list[int]], target: Path
) -> None:
    names = {topic: [table.columns[c] for c in columns] for topic, columns in topics.items()}
    seconds = (table.times_ns[-1] - table.times_ns[0]) / 1e9
    summary: dict[str, Any] = {"out": str(target), "rows": len(table.values), "topics": names}
    if arguments.json:
        say_json({**summary, "seconds": float(seconds)})
        return
    rate = (len(table.values) - 1) / seconds if seconds > 0 else 0.0
    told = f", {rate:.4g} rows a second" if rate else ""
    rows = "1 row" if len(table.values) == 1 else f"{len(table.values)} rows"
    say(f"{rows} over {seconds:.6g} s{told} written to {target}")
    slowest, fastest = _USUAL_RATES
    if rate and not slowest <= rate <= fastest:
        warn(f"{rate:.4g} rows a second are odd; is --time-unit {arguments.time_unit} right?")
    for topic, columns in names.items():
        paths = (element_path("position", column) or shown(column) for column in columns)
        say(f"{topic}: {', '.join(paths)}")
    missing = int((~np.isfinite(table.values)).sum())
    if missing:
        say(f"{missing} values are missing or not finite")
    if not arguments.topic:
        say("next, with the command's column:")
        say(f"  rffpsr inspect {target} --action {_DEFAULT_TOPIC}:position.COLUMN")
