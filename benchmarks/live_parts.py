"""What the parts of the nodes' ``executor: direct`` gain, each beside rclpy's own way.

    python -m benchmarks.live_parts             measure, write the record, print its table
    python -m benchmarks.live_parts --show      the table of the record

`nodes.shared.message_wait` waits and takes, `recordings.bags.message_layout` decodes,
`nodes.filter.prepared_message` fills in. Every way does the same work in turn, round by round, in
one process, and what it gives must be the same, number by number. Processor time is that of the
whole process: the median over rounds, and of the ratio to rclpy's way in the same round the median
and quartiles.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.records import RESULTS, machine
from benchmarks.tables import markdown
from rffpsr_ros.numerics.arrays import Array

RECORD = RESULTS / "live_parts.json"

Work = Callable[[], int]
"""Does a round of work and returns how many messages it was about."""
Figures = Mapping[str, Mapping[str, float]]
"""What each way of a part took."""


def in_turn(ways: Mapping[str, Work], rounds: int) -> Figures:
    """Return the figures of ways that take turns; the first is what others are compared with."""
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, work in ways.items():
            began = process_time()
            messages = work()
            spent[name].append(1e6 * (process_time() - began) / messages)
    reference = np.array(next(iter(spent.values())))
    return {name: _figures(np.array(one), reference) for name, one in spent.items()}


def _figures(spent: Array, reference: Array) -> Mapping[str, float]:
    low, middle, high = np.percentile(spent / reference, [25, 50, 75])
    values = {"microseconds": np.median(spent), "ratio": middle, "lower": low, "upper": high}
    return {name: float(f"{value:.4g}") for name, value in values.items()}


def table(record: Mapping[str, Any]) -> str:
    """Return a record as Markdown."""
    rows = [
        [
            "" if number else part,
            way,
            f"{one['microseconds']:.1f}",
            f"{one['ratio']:.2f}",
            f"{one['lower']:.2f} to {one['upper']:.2f}",
        ]
        for part, ways in record["parts"].items()
        for number, (way, one) in enumerate(ways.items())
    ]
    return markdown(["what", "way", "us a message", "times rclpy", "quartiles"], rows)


def main() -> None:
    """Run as asked on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live_parts")
    parser.add_argument("--show", action="store_true", help="only print the table of the record")
    parser.add_argument("--rounds", type=int, default=21, help="of every way (21)")
    parser.add_argument("--count", type=int, default=1000, help="messages a round (1000)")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file to write or show")
    options = parser.parse_args()
    if not options.show:
        record = {"machine": machine(), "parts": measured(options.rounds, options.count)}
        options.record.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(table(json.loads(options.record.read_text(encoding="utf-8"))))


def measured(rounds: int, count: int) -> Mapping[str, Figures]:
    """Return the figures of every part."""
    from benchmarks.live_messages import decoding, publishing
    from benchmarks.live_waiting import waiting

    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    return {
        part: in_turn(ways, rounds)
        for parts in (waiting, decoding, publishing)
        for part, ways in parts(count)
    }


if __name__ == "__main__":
    main()
