"""Published simulation errors as records, to stand beside what was measured here.

    python -m benchmarks.peers.published      writes them into benchmarks/results

Source: Champneys et al. 2024, arXiv 2405.10779, on the splits of `benchmarks.datasets`; root mean
square errors of the Silverbox (mV: multisine, arrow, arrow without extrapolation) and of the
cascaded tanks (V). Those of the Wiener-Hammerstein circuit (mV) and of the positioning system (mm)
are of the papers on each method.
"""

from __future__ import annotations

from pathlib import Path

from benchmarks.records import RESULTS, Record, Run, write_record

SOURCE = "arXiv 2405.10779"

SILVERBOX = {
    "linear state space": (6.96, 14.4, 6.58),
    "linear ARX": (6.95, 14.2, 6.59),
    "polynomial NARX": (0.640, 2.25, 0.571),
    "GP NARX": (0.301, 0.60, 0.259),
    "GRU": (1.49, 2.80, 0.947),
    "LSTM": (1.50, 2.68, 0.960),
    "best": (0.36, 0.26, 0.32),
}
TANKS = {
    "linear state space": 0.588,
    "linear ARX": 0.685,
    "polynomial NARX": 0.413,
    "GP NARX": 0.622,
    "GRU": 0.396,
    "LSTM": 0.490,
    "best, black box": 0.306,
    "best, grey box": 0.191,
}


WIENER_HAMMERSTEIN = {
    "DT-SUBNET": 0.241,
    "PNLSS": 0.42,
    "dynoNet": 0.452,
    "GRU": 3.97,
    "linear": 43.4,
}
EMPS = {
    "dynoNet": 2.64,
    "CT-SUBNET": 4.61,
    "polynomial NARX": 5.17,
    "linear state space": 5.53,
}


def write_published(folder: Path = RESULTS) -> None:
    """Write a record of each published figure."""
    tests = ("multisine", "arrow", "arrow without extrapolation")
    for method, figures in SILVERBOX.items():
        scores = {test: [figure] for test, figure in zip(tests, figures, strict=True)}
        write_record(_record(method, "silverbox", scores), folder)
    simulated = {"tanks": TANKS, "wiener_hammerstein": WIENER_HAMMERSTEIN, "emps": EMPS}
    for task, figures_of in simulated.items():
        for method, figure in figures_of.items():
            write_record(_record(method, task, {"test": [figure]}), folder)


def _record(method: str, task: str, scores: dict[str, list[float]]) -> Record:
    name = f"published: {method}"
    source = SOURCE if task in ("silverbox", "tanks") else "literature"
    return Record(name, task, {}, False, source, "as published", (Run(0, source, scores),))


if __name__ == "__main__":
    write_published()
