"""The filter node at a robot's pace while everything around it fails.

    python -m benchmarks.soak                    an hour at 1 kHz, six joints, the default ensemble
    python -m benchmarks.soak --quick            every fault once, in two minutes
    python -m benchmarks.soak --minutes 10 --seed 3 --every 6
    python -m benchmarks.soak --record           writes benchmarks/results/soak.json
    python -m benchmarks.soak --show             the tables of the record
    chrt --fifo 20 python -m benchmarks.soak     as a robot's nodes run, where others work beside

A robot, the node and a listener run as three processes in real time, nobody waits for anybody; a
fourth does to the node what machines do. Exits with 1 if a promise was broken. The model is learned
the first time (a minute) and kept in the temporary folder.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.records import RESULTS, machine
from benchmarks.soak.course import Course, learned, run
from benchmarks.soak.faults import KINDS, schedule, seconds_of_a_round
from benchmarks.tables import markdown
from rffpsr_ros.nodes.demo.processes import enter_a_ros_of_its_own

RECORD = RESULTS / "soak.json"
MINUTES = 60.0
EVERY_SECONDS, QUICK_EVERY_SECONDS = 12.0, 5.5

OF_ECHO = ("ticks", "answered outside faults %", "latency ms", "lives", "processor % beside")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as asked on the command line; return the exit code."""
    asked = _parser().parse_args(arguments)
    if asked.show:
        print(tables(json.loads(asked.file.read_text(encoding="utf-8"))))
        return 0
    every = asked.every or (QUICK_EVERY_SECONDS if asked.quick else EVERY_SECONDS)
    seconds = seconds_of_a_round(every) if asked.quick else 60 * asked.minutes
    faults = schedule(seconds, every, asked.seed, asked.kinds or ())
    model = learned(asked.rate, asked.quick_model)
    enter_a_ros_of_its_own(model.parent)
    course = Course(seconds, asked.rate, asked.seed, tuple(faults))
    urgency = os.sched_getparam(0).sched_priority
    record = {"machine": machine(), "real-time priority": urgency, **run(course, model)}
    if asked.echo_seconds:
        echo = run(Course(asked.echo_seconds, asked.rate, asked.seed, echo=True), model)
        record["echo"] = {name: echo[name] for name in OF_ECHO}
    if asked.record:
        asked.file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(tables(record))
    return 0 if all(record["promises"].values()) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"how long ({MINUTES:g})")
    parser.add_argument("--every", type=float, help=f"seconds between faults ({EVERY_SECONDS:g})")
    parser.add_argument(
        "--echo-seconds",
        type=float,
        default=20.0,
        help="how long an echo node answers afterwards, for comparison (20)",
    )
    parser.add_argument("--seed", type=int, default=0, help="of faults and motion (0)")
    parser.add_argument("--rate", type=float, default=1000.0, help="ticks a second (1000)")
    parser.add_argument("--quick", action="store_true", help="every fault once, in two minutes")
    parser.add_argument(
        "--quick-model", action="store_true", help="a single one, learned faster, and worse"
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, help="of faults (all)")
    parser.add_argument("--record", action="store_true", help="write the record")
    parser.add_argument("--show", action="store_true", help="only print the record's tables")
    parser.add_argument("--file", type=Path, default=RECORD, help="the record's file")
    return parser


def tables(record: dict[str, Any]) -> str:
    """Return a record as Markdown."""
    faults = [
        [kind, *("" if value is None else f"{value:g}" for value in row.values())]
        for kind, row in record["faults"].items()
    ]
    head = ["fault", "times", "recovered", "median ticks", "most ticks", "most s"]
    figures = [
        "real-time priority",
        "ticks",
        "ticks outside faults",
        "unanswered outside faults",
        "unanswered at s",
        "forecasts left out",
        "forecasts not finite",
        "latency ms",
        "robot late ms",
        "alarms outside faults",
        "log lines",
        "log lines an hour",
        "deaths",
        "problems",
    ]
    lines = [f"{name}: {record[name]}" for name in figures]
    lines += [f"{count:6} x {line}" for line, count in record["usual log lines"].items()]
    lines += [f"life {number}: {life}" for number, life in enumerate(record["lives"], 1)]
    lines += [f"beside, processor %: {record['processor % beside']}"]
    lines += [f"echo: {record['echo']}"] if "echo" in record else []
    lines += [f"{'yes' if held else 'NO '}  {what}" for what, held in record["promises"].items()]
    return "\n".join([markdown(head, faults), "", *lines])


if __name__ == "__main__":
    sys.exit(main())
