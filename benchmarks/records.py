"""Measured runs as small JSON files, one per task and method, kept while they are current.

A run's key is a digest of the method's options and source, the data and the rule of scoring. A
method from elsewhere names a version in place of its source; whoever measures it, in whatever
environment, writes the same files.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fingerprint import data_digest, digest_of, source_digest
from benchmarks.methods import Method
from benchmarks.tasks import Material, Scores, Task

DIGITS = 5
"""Of figures in records; more say nothing."""

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True)
class Run:
    """One model learned and scored.

    Attributes
    ----------
    number
        The seed, and the draw of the data where a task has several.
    key
        Digest of what the figures depend on.
    scores
        By test: mean squared errors by horizon, or one root mean square.
    training_seconds
        Processor time of learning.
    step_seconds
        Processor time of one tick: an update and a forecast; None where there is no such thing.
    refused
        Why the method cannot do it; empty if it did.
    blocks
        By test: what each block of origins adds to the mean over horizons, so that two methods can
        be compared block by block; empty in older records, and of simulations.
    validation
        Mean squared errors by horizon on the validation part, by which variants are chosen; empty
        where the method learned from it.
    """

    number: int
    key: str
    scores: Scores = field(default_factory=dict)
    training_seconds: float | None = None
    step_seconds: float | None = None
    refused: str = ""
    blocks: dict[str, list[float]] = field(default_factory=dict)
    validation: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Record:
    """The runs of a method on a task, and where they were made."""

    method: str
    task: str
    options: Mapping[str, Any]
    everything: bool
    version: str
    machine: str
    runs: tuple[Run, ...]

    @property
    def refused(self) -> str:
        """Return why the method cannot do the task; empty if it can."""
        return next((run.refused for run in self.runs if run.refused), "")


def run_key(method: Method, task: Task, number: int, material: Material) -> str:
    """Return the digest of what one run's figures depend on."""
    return digest_of(
        {
            "options": dict(method.options),
            "everything": method.everything,
            "source": method.version or source_digest(method.source),
            "data": data_digest(material),
            "protocol": task.protocol(),
            "number": number,
        }
    )


def record_path(method: str, task: str, folder: Path = RESULTS) -> Path:
    """Return the file of a method's runs on a task."""
    words = re.findall(r"[a-z0-9.]+", method.lower().replace("=", " "))
    return folder / task / f"{'_'.join(words)}.json"


def read_record(path: Path) -> Record | None:
    """Return the record in a file, or None where there is no file."""
    if not path.exists():
        return None
    fields = json.loads(path.read_text(encoding="utf-8"))
    runs = tuple(Run(**run) for run in fields.pop("runs"))
    return Record(runs=runs, **fields)


def write_record(record: Record, folder: Path = RESULTS) -> None:
    """Write a record to its file."""
    path = record_path(record.method, record.task, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = asdict(record)
    lines = [json.dumps(_rounded(run)) for run in fields.pop("runs")]
    head = json.dumps(fields, indent=1)[:-2]
    path.write_text(head + ',\n "runs": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n", "utf-8")


def read_records(task: str, folder: Path = RESULTS) -> list[Record]:
    """Return all records of a task, in the order of the methods' names."""
    found = [read_record(path) for path in sorted((folder / task).glob("*.json"))]
    return [record for record in found if record is not None]


def machine() -> str:
    """Return processor, Python and numpy in words."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = re.findall(r"model name\s*: (.*)", information.read_text(encoding="utf-8"))
        model = f"{names[0]}, {len(names)} cores" if names else model
    return f"{model}; Python {platform.python_version()}, numpy {np.__version__}"


def _rounded(value: Any) -> Any:
    """Return the value with numbers of so many digits as say something."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
