"""Plots of forecasts; matplotlib, the extra ``plot``, is imported only when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rffpsr_ros.errors import InputError, shown
from rffpsr_ros.evaluation.horizon_error import HorizonErrors
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import forecasts
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.recordings.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")
"""Colour-blind readers can tell them apart too (Okabe and Ito)."""
MARKERS = "osD^vP*X"
_LINES = ("-", "--", ":")
_BESIDE: dict[str, Any] = {
    "loc": "upper left",
    "bbox_to_anchor": (1.01, 1.0),
    "frameon": False,
    "fontsize": "small",
}
"""Where a legend names every line and hides none."""


def plot_errors(errors: Mapping[str, HorizonErrors], path: str | Path, title: str = "") -> None:
    """Draw the mean squared error of each model over the horizon, on a log axis, into ``path``.

    Raises
    ------
    InputError
        If matplotlib is missing, or cannot write that file.
    """
    plot_curves({title: {name: one.mse[None] for name, one in errors.items()}}, path)


def plot_curves(
    panels: Mapping[str, Mapping[str, Array]],
    path: str | Path,
    ylabel: str = "mean squared error",
) -> None:
    """Draw errors over the horizon, on log axes, side by side in panels named by their titles.

    Each panel names its curves; a curve is an array (runs, H), drawn as the median over runs with
    the range of all runs shaded. A name has one colour and one marker in all panels.

    Raises
    ------
    InputError
        If matplotlib is missing, or cannot write that file.
    """
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = empty_figure(3.3 + 4.2 * columns, 4.5 * rows)
    from matplotlib.ticker import MaxNLocator

    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    places = figure.subplots(rows, columns, squeeze=False).ravel()
    for spare in places[len(panels) :]:
        spare.set_axis_off()
    for axes, (title, curves) in zip(places, panels.items(), strict=False):
        for name, runs in curves.items():
            i = names.index(name)
            horizons = np.arange(1, runs.shape[1] + 1)
            axes.semilogy(
                horizons,
                np.median(runs, axis=0),
                color=COLOURS[i % len(COLOURS)],
                marker=MARKERS[(i + i // len(COLOURS)) % len(MARKERS)],
                linestyle=_LINES[i // len(COLOURS) % len(_LINES)],
                markersize=5,
                label=name,
            )
            if len(runs) > 1:
                axes.fill_between(
                    horizons,
                    runs.min(axis=0),
                    runs.max(axis=0),
                    color=COLOURS[i % len(COLOURS)],
                    alpha=0.08,
                    linewidth=0,
                )
        axes.set_xlabel("horizon (ticks ahead)")
        axes.set_ylabel(ylabel)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        _plain_numbers(axes)
        axes.grid(True, which="both", alpha=0.25)
        axes.set_title(title)
    handles = {
        label: handle
        for axes in figure.axes
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    places[columns - 1].legend(handles.values(), handles.keys(), **_BESIDE)
    save_figure(figure, path)


def _plain_numbers(axes: Axes) -> None:
    """Write a log axis's numbers as the tables do, those between powers of ten where few are."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    low, high = axes.get_ylim()
    plain = FuncFormatter(lambda number, _: f"{number:.3g}")
    axes.yaxis.set_major_formatter(plain)
    axes.yaxis.set_minor_formatter(plain if high < 10 * low else NullFormatter())


def plot_forecast(
    models: Mapping[str, PredictiveModel[Any]],
    trajectory: Trajectory,
    lead: int,
    path: str | Path,
    title: str = "",
) -> None:
    """Draw each model's forecasts ``lead`` ticks ahead over the observations, into ``path``.

    The forecast before the first tick is left out: it knows nothing yet of where the robot is.

    Raises
    ------
    InputError
        If matplotlib is missing or cannot write that file, or the trajectory has fewer than
        ``lead`` ticks.
    """
    if not 1 <= lead <= len(trajectory):
        raise InputError(f"lead is {lead}; the trajectory has {len(trajectory)} ticks")
    names = trajectory.observation_names
    seconds = (np.arange(len(trajectory)) + 1) * trajectory.period
    figure = empty_figure(9.0, 1.2 + 2.2 * len(names))
    rows = figure.subplots(len(names), sharex=True, squeeze=False)[:, 0]
    for axes, name, truth in zip(rows, names, trajectory.observations.T, strict=True):
        axes.plot(seconds, truth, color="black", linewidth=1.5, label="recorded")
        axes.set_ylabel(name)
        axes.grid(True, alpha=0.25)
    start = min(1, len(trajectory) - lead)
    for i, (label, model) in enumerate(models.items()):
        chunks = [chunk[:, lead - 1] for _, chunk in forecasts(model, trajectory, lead, start)]
        for axes, forecast in zip(rows, np.concatenate(chunks).T, strict=True):
            axes.plot(
                seconds[lead - 1 + start :],
                forecast,
                color=COLOURS[i % len(COLOURS)],
                linewidth=1.2,
                linestyle=("--", "-.", ":")[i % 3],
                label=f"{label}, {lead} ticks ahead",
            )
    rows[-1].set_xlabel("time (s)")
    _legend(rows[0])
    rows[0].set_title(title)
    save_figure(figure, path)


def empty_figure(width: float, height: float) -> Figure:
    """Return an empty figure that needs no display and no global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError as fault:
        raise InputError(
            "plots need matplotlib, which is not installed: pip install matplotlib"
        ) from fault
    except ValueError as fault:  # as for a MPLBACKEND that there is not
        raise InputError(f"matplotlib cannot be used: {shown(fault, 200)}") from fault
    return Figure(figsize=(width, height), layout="constrained")


def _legend(axes: Axes) -> None:
    """Name every line beside the axes."""
    axes.legend(**_BESIDE)


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure.

    Raises
    ------
    InputError
        If that file cannot be written.
    """
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as fault:
        raise InputError(f"cannot write plot '{path}': {fault}") from fault
