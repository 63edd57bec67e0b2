"""Courses of the record as they were driven."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.control.courses import WORLDS

ASKED = "asked for"
SHOWN = ("RFF-PSR", "linear ARX", "PD")


def plot_courses(record: Mapping[str, Any], path: Path) -> None:
    """Draw the first joint on every course of every world, first seed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    worlds = record["worlds"]
    names = list(next(iter(worlds.values()))["shown"])
    figure, axes = pyplot.subplots(
        len(worlds), len(names), figsize=(4 * len(names), 2.6 * len(worlds)), squeeze=False
    )
    for row, (world, found) in zip(axes, worlds.items(), strict=True):
        for place, name in zip(row, names, strict=True):
            driven = found["shown"][name]
            times = WORLDS[world].period * np.arange(len(driven[ASKED]))
            place.plot(times, driven[ASKED], "k", lw=2.5, alpha=0.3, label=ASKED)
            for method in SHOWN:
                place.plot(times, driven[method], lw=1, label=method)
            place.set_title(f"{world}: {name}", fontsize=9)
    axes[0][0].legend(fontsize=7, loc="upper right")
    for place in axes[-1]:
        place.set_xlabel("s")
    for row in axes:
        row[0].set_ylabel("rad")
    figure.tight_layout()
    figure.savefig(path, dpi=90)
    pyplot.close(figure)
