"""How fast and in how much memory this package learns, beside references of the same run.

    python -m benchmarks.speed                        every row; --quick: smaller ones
    python -m benchmarks.speed --json new.json        also write the figures
    python -m benchmarks.speed --compare old.json     the ratio to an earlier run
    python -m benchmarks.speed --show old.json        the table of an earlier run

Each row runs in a process of its own with one BLAS thread; seconds are processor seconds. The
recording is the synthetic system's, one run, standardised. References: a textbook computation that
holds all features in double precision and decomposes their second moments; the feature maps'
products at the speed of this machine's BLAS; decoding alone. Other tools follow: the filter's step
and refinement's epochs by `benchmarks.speed_step`, a cluster of two workers by
`benchmarks.speed_cluster` and `benchmarks.speed_refinement`, the filter node beside an echo by
`benchmarks.realtime`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed_jobs import (
    AUTHORS_VALIDATION,
    BAGS,
    SEEDS,
    Figures,
    Row,
    do_job,
    products,
)
from benchmarks.tables import markdown, number

LEARN, TEXTBOOK = "both stages, 16 000 windows, D = 1000", "textbook features of these"
SHORT, LONG = "both stages, 100 000 windows, D = 100", "both stages, 1 000 000 windows, D = 100"
STREAM = "10 000 000 ticks from bags within 1 GB, D = 50, rank 10"
AUTHORS = "synth.mat to the authors' refined validation error"

ROWS: Mapping[str, Row] = {
    LEARN: Row("learn", 16_000, 1000),
    TEXTBOOK: Row("textbook", 16_000, 1000),
    SHORT: Row("learn", 100_000, 100),
    LONG: Row("learn", 1_000_000, 100),
    STREAM: Row("stream", 10_000_000, 50),
    AUTHORS: Row("authors"),
}

OCTAVE: Mapping[str, str] = {
    LEARN: "30.2 s, 1075 MB",
    AUTHORS: f"15.0 s (validation {AUTHORS_VALIDATION})",
}
"""The authors' own programs under Octave: shared/reference/README.md."""

TOOLS: Mapping[str, tuple[str, ...]] = {
    "step and epoch": ("speed_step",),
    "cluster": ("speed_cluster",),
    "refinement on a cluster": ("speed_refinement",),
    "nodes": ("realtime", "--seconds", "20"),
    "nodes, one model": ("realtime", "--seconds", "20", "--kind", "single_rff_psr"),
}
"""Tools with tables of their own, by the name of their figures, and how they are called."""

NEEDED: Mapping[str, str] = {
    "speed_cluster": "distributed",
    "speed_refinement": "distributed",
    "realtime": "rclpy",
}
"""What is to be installed for a tool."""

FIGURES = ("microseconds", "seconds", "latency_p50_ms", "cpu_percent")
"""Of the tools' figures these are set beside those of an earlier run; less is better."""


def measure(row: Row) -> Figures:
    """Return the figures of a row, run in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.speed", "--job", json.dumps(row)]
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=alone)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def tool_figures(tool: str, *arguments: str) -> dict[str, Figures] | None:
    """Return the figures of another tool, which prints its table; None where it cannot run."""
    if tool in NEEDED and find_spec(NEEDED[tool]) is None:
        print(f"benchmarks.{tool} is left out: it takes {NEEDED[tool]}", file=sys.stderr)
        return None
    print(f"\nbenchmarks.{tool} {' '.join(arguments)}\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "figures.json"
        command = [sys.executable, "-m", f"benchmarks.{tool}", *arguments, "--json", str(file)]
        subprocess.run(command, check=True)
        figures: dict[str, Figures] = json.loads(file.read_text())
    return figures


def compared_tools(results: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """Return the figures of tools that both runs have, new over old, as Markdown."""
    lines = [
        [f"{tool}: {name}", figure, number(figures[figure]), number(figures[figure] / known)]
        for tool in TOOLS
        for name, figures in results.get(tool, {}).items()
        for figure in FIGURES
        if figure in figures and (known := before.get(tool, {}).get(name, {}).get(figure))
    ]
    return markdown(["what", "figure", "now", "of before"], lines) if lines else ""


def reference(name: str, results: Mapping[str, Any]) -> tuple[float, str] | None:
    """Return the seconds that a row is compared with, and what takes them."""
    figures, row = results[name], ROWS[name]
    if name == LEARN:
        return results[TEXTBOOK]["seconds"], "textbook"
    if name in (SHORT, LONG):
        sized = row._replace(windows=int(figures["windows"]))
        seconds = products(sized) / results["machine"]["single GFlop/s"] / 1e9
        return seconds, "products of the feature maps"
    if name == STREAM:
        return figures["decoding all messages"], "rosbags alone, decoding"
    return None


def table(results: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    """Return the rows as Markdown."""
    heading = [
        "what",
        "CPU s",
        "times",
        "reference",
        "peak MB",
        "predicted MB",
        "taken MB",
        "authors",
    ]
    heading += ["of before"] if before else []
    lines = []
    for name in ROWS:
        if name not in results:
            continue
        figures, compared = results[name], reference(name, results)
        predicted = number(figures["predicted"]) if "predicted" in figures else ""
        line = [name, number(figures["seconds"])]
        line += [number(figures["seconds"] / compared[0]), compared[1]] if compared else ["", ""]
        line += [number(figures["peak"]), predicted, number(figures["peak"] - figures["before"])]
        line.append(OCTAVE.get(name, ""))
        if before:
            known = before.get(name)
            line.append(number(figures["seconds"] / known["seconds"]) if known else "")
        lines.append(line)
    return markdown(heading, lines)


def notes(results: Mapping[str, Any]) -> str:
    """Return what stands beside the table: the machine, growth, parts of rows."""
    speeds = [(name, value) for name, value in results["machine"].items() if name.endswith("/s")]
    lines = [", ".join(f"{number(value)} {name}" for name, value in speeds)]
    if LONG in results and SHORT in results:
        short, long = results[SHORT], results[LONG]
        decades = np.log10(long["windows"] / short["windows"])
        exponent = np.log10(long["seconds"] / short["seconds"]) / decades
        lines.append(f"time grows with the number of windows to the power of {exponent:.2f}")
    if STREAM in results:
        parts = results[STREAM]
        lines.append(
            f"{parts['ticks']:.0f} ticks of {BAGS} bags: {parts['reading']:.0f} s to read,"
            f" {parts['learning']:.0f} s to learn from"
        )
    if AUTHORS in results:
        parts = results[AUTHORS]
        lines.append(
            f"synth.mat, the worst of {SEEDS} seeds: validation {parts['validation']:.3f},"
            f" test {parts['test']:.3f}"
        )
    return "\n".join(f"- {line}" for line in lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print every row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="a hundredth of the largest rows")
    parser.add_argument("--json", type=Path, help="write the figures here, row by row")
    parser.add_argument("--compare", type=Path, help="figures of an earlier run")
    parser.add_argument("--show", type=Path, help="print the figures of an earlier run")
    parser.add_argument("--rows", nargs="*", choices=sorted({row.job for row in ROWS.values()}))
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.job:
        print(json.dumps(do_job(Row(*json.loads(options.job)))))
        return
    before = json.loads(options.compare.read_text()) if options.compare else {}
    results: dict[str, Any] = json.loads(options.show.read_text()) if options.show else {}
    if not options.show:
        results["machine"] = measure(Row("machine"))
    for name, row in ROWS.items():
        if options.show or (options.rows and row.job not in options.rows):
            continue
        sized = row._replace(windows=row.windows // 100) if options.quick else row
        print(name, file=sys.stderr, flush=True)
        results[name] = {**measure(sized), "windows": sized.windows}
        _write(results, options.json)
    print(table(results, before), notes(results), sep="\n\n", flush=True)
    for name, command in TOOLS.items():
        if options.show or options.quick or options.rows:
            break
        if (figures := tool_figures(*command)) is not None:
            results[name] = figures
            _write(results, options.json)
    print(compared_tools(results, before))


def _write(results: Mapping[str, Any], file: Path | None) -> None:
    if file:
        file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
