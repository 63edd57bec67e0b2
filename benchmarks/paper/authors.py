"""What the paper's authors' own programs measured, as records beside ours.

They were run under GNU Octave, one thread; public repository ahefnycmu/rffpsr, revision 7b6ade7.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.datasets import shared_file
from benchmarks.records import RESULTS, Record, Run, write_record

VERSION = "ahefnycmu/rffpsr, revision 7b6ade7, under GNU Octave 7.3"

_SERIES = {"seeds_D20": 20, "D5000": 5000, "D10000": 10_000}
_VARIANTS = {
    "joint": "joint",
    "joint_refine": "joint + refinement",
    "cond": "conditional",
    "cond_refine": "conditional + refinement",
}
_SINGLE = {
    "arx": "authors: RFF-ARX, D = 5000",
    "hsepsr_gram": "authors: HSE-PSR (Gram matrices)",
    "n4sid_octave_n5_s10_x01": "Octave: N4SID, order 5",
}


def authors_records() -> Iterator[Record]:
    """Yield the authors' figures on synth.mat.

    Raises
    ------
    InputError
        If the shared folder does not hold them.
    """
    path = shared_file("reference/reference_results.json")
    figures = json.loads(path.read_text(encoding="utf-8"))
    for series, features in _SERIES.items():
        for variant, words in _VARIANTS.items():
            found = figures[series][variant]
            name = f"authors: RFF-PSR, {words}, D = {features}"
            yield _record(name, found["per_seed"], _seconds(figures[series], variant))
    for key, name in _SINGLE.items():
        found = figures["methods_seed0"][key]
        yield _record(name, [found["mse_mean"]], [found["train_wall_cpu_s"][1]])


def write_authors_records(folder: Path = RESULTS) -> None:
    """Write the authors' figures among the results."""
    for record in authors_records():
        write_record(record, folder)


def _seconds(series: dict[str, Any], variant: str) -> list[float | None]:
    """Return the processor time of learning, by seed."""
    times = series[
        f"time_{variant.split('_')[0]}_[refine_wall,refine_cpu,norefine_wall,norefine_cpu]"
    ]
    return [row[1 if variant.endswith("refine") else 3] for row in times]


def _record(name: str, by_seed: list[list[float]], seconds: list[float | None]) -> Record:
    runs = tuple(
        Run(number, VERSION, {"test": errors}, took)
        for number, (errors, took) in enumerate(zip(by_seed, seconds, strict=True))
    )
    return Record(name, "synth", {}, False, VERSION, "2 shared cores, one thread", runs)
