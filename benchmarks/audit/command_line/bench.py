"""A folder with everything that the commands work on, made by the commands themselves."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.audit.command_line.verdict import run_here

CONFIGURATION = """\
rate: 50.0
observation:
  inputs: [arm]
  arm: {topic: /arm, fields: [position.angle], units: [rad]}
action:
  inputs: [motor]
  motor: {topic: /motor, fields: [position.voltage], units: [V]}
"""

QUICK = (
    *("--set", "learning.iterations=5", "--set", "learning.features=10"),
    *("--set", "learning.rank=4", "--set", "learning.folds=1", "--bands", "none", "--quiet"),
)
"""Options for a training in which only its going through matters."""

_ROWS = 300


@contextmanager
def bench() -> Iterator[Path]:
    """Work in a new folder: table.csv, c.yaml, bag, other (a bag too), m.psr, empty, text.txt."""
    before = os.getcwd()
    folder = Path(tempfile.mkdtemp(prefix="rffpsr_bench_"))
    try:
        shutil.copytree(template(), folder / "bench")
        os.chdir(folder / "bench")
        yield folder / "bench"
    finally:
        os.chdir(before)
        shutil.rmtree(folder, ignore_errors=True)


@cache
def template() -> Path:
    """Make the folder that every case gets a copy of, once in a process."""
    folder = Path(tempfile.mkdtemp(prefix="rffpsr_bench_"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "table.csv").write_text(_table(), encoding="utf-8")
    (folder / "c.yaml").write_text(CONFIGURATION, encoding="utf-8")
    (folder / "text.txt").write_text("no bag, no model, no table\n", encoding="utf-8")
    (folder / "binary").write_bytes(bytes(range(256)) * 8)
    (folder / "nothing").touch()
    (folder / "empty").mkdir()
    before = os.getcwd()
    os.chdir(folder)
    try:
        share = ("--topic", "/arm=angle", "--topic", "/motor=voltage", "--quiet")
        _done("csv2bag", "table.csv", "--out", "bag", *share)
        _done("csv2bag", "table.csv", "--out", "other", *share, "--storage", "sqlite3")
        _done("train", "bag", "--config", "c.yaml", "--out", "m.psr", "--no-check", *QUICK)
    finally:
        os.chdir(before)
    return folder


def _done(*words: str) -> None:
    said = run_here(words)
    if said.code != 0:
        raise RuntimeError(f"{words[0]}: {said.error.decode(errors='replace')}")


def _table() -> str:
    """Return a damped swing that is driven at random, row by row."""
    generator = np.random.default_rng(0)
    rows, angle, speed, voltage = ["time,angle,voltage"], 0.0, 0.0, 0.0
    for k in range(_ROWS):
        if k % 5 == 0:
            voltage = generator.uniform(-1, 1)
        rows.append(f"{5 + k / 50},{angle},{voltage}")
        speed += 0.02 * (-4 * np.sin(angle) - 0.5 * speed + 6 * voltage)
        angle += 0.02 * speed
    return "\n".join(rows) + "\n"
