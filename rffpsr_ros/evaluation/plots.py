"""Plots of forecasts; matplotlib, the extra ``plot``, is imported only when one is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rffpsr_ros.episodes.trajectory import Trajectory
from rffpsr_ros.errors import InputError
from rffpsr_ros.evaluation.horizon_error import HorizonErrors, forecasts
from rffpsr_ros.models.predictive_model import PredictiveModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#000000")
"""Told apart by the colour-blind too (Okabe and Ito)."""
_MARKERS = "osD^vP*X"


def plot_errors(errors: Mapping[str, HorizonErrors], path: str | Path, title: str = "") -> None:
    """Draw the mean squared error of each model over the horizon, on a log axis, into ``path``.

    Raises
    ------
    InputError
        If matplotlib is missing, or cannot write that file.
    """
    figure = _figure(7.5, 4.5)
    from matplotlib.ticker import MaxNLocator

    axes = figure.subplots()
    for i, (name, one) in enumerate(errors.items()):
        axes.semilogy(
            np.arange(1, one.horizon + 1),
            one.mse,
            color=_COLOURS[i % len(_COLOURS)],
            marker=_MARKERS[i % len(_MARKERS)],
            markersize=5,
            label=name,
        )
    axes.set_xlabel("horizon (ticks ahead)")
    axes.set_ylabel("mean squared error")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(True, which="both", alpha=0.25)
    _legend(axes)
    axes.set_title(title)
    _save(figure, path)


def plot_forecast(
    models: Mapping[str, PredictiveModel[Any]],
    trajectory: Trajectory,
    lead: int,
    path: str | Path,
    title: str = "",
) -> None:
    """Draw what each model said ``lead`` ticks before over what then came, into ``path``.

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
    figure = _figure(9.0, 1.2 + 2.2 * len(names))
    rows = figure.subplots(len(names), sharex=True, squeeze=False)[:, 0]
    for axes, name, truth in zip(rows, names, trajectory.observations.T, strict=True):
        axes.plot(seconds, truth, color="black", linewidth=1.5, label="recorded")
        axes.set_ylabel(name)
        axes.grid(True, alpha=0.25)
    for i, (label, model) in enumerate(models.items()):
        chunks = [chunk[:, lead - 1] for _, chunk in forecasts(model, trajectory, lead)]
        for axes, forecast in zip(rows, np.concatenate(chunks).T, strict=True):
            axes.plot(
                seconds[lead - 1 :],
                forecast,
                color=_COLOURS[i % len(_COLOURS)],
                linewidth=1.2,
                linestyle=("--", "-.", ":")[i % 3],
                label=f"{label}, {lead} ticks ahead",
            )
    rows[-1].set_xlabel("time (s)")
    _legend(rows[0])
    rows[0].set_title(title)
    _save(figure, path)


def _figure(width: float, height: float) -> Figure:
    """Return an empty figure that needs no display and no global state."""
    try:
        from matplotlib.figure import Figure
    except ImportError as fault:
        raise InputError(
            "plots need matplotlib, which is not installed: pip install 'rffpsr_ros[plot]'"
        ) from fault
    return Figure(figsize=(width, height), layout="constrained")


def _legend(axes: Axes) -> None:
    """Name every line beside the axes, where it hides none."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small")


def _save(figure: Figure, path: str | Path) -> None:
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as fault:
        raise InputError(f"cannot write plot '{path}': {fault}") from fault
