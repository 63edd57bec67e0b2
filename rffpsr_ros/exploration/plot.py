"""The exploration check as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rffpsr_ros.evaluation.plots import COLOURS, MARKERS, empty_figure, save_figure
from rffpsr_ros.exploration.check import ExplorationCheck
from rffpsr_ros.exploration.conditions import EXCITED, REPRODUCED

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_exploration(check: ExplorationCheck, path: str | Path, title: str = "") -> None:
    """Draw what the check measured into ``path``: actions, policy, spectra, states.

    Raises
    ------
    InputError
        If matplotlib is missing, or cannot write that file.
    """
    figure = empty_figure(11.0, 7.5)
    (actions, policy), (spectra, states) = figure.subplots(2, 2)
    _draw_actions(check, actions)
    _draw_policy(check, policy)
    _draw_spectra(check, spectra)
    _draw_states(check, states)
    for axes in (actions, policy, spectra, states):
        axes.grid(True, alpha=0.25)
    figure.suptitle(title)
    save_figure(figure, path)


def _draw_actions(check: ExplorationCheck, axes: Axes) -> None:
    axes.set_title("Variance of future actions given the past")
    axes.set_xlabel(f"direction of the next {check.options.future} commands")
    axes.set_ylabel("share of the channel's variance")
    shown = False
    for i, channel in enumerate(check.channels):
        if channel.freedom is None:
            continue
        shown = True
        values = np.maximum(channel.freedom.eigenvalues, 1e-6)
        axes.semilogy(np.arange(1, len(values) + 1), values, label=channel.name, **_style(i))
    axes.axhline(EXCITED, color="black", linestyle="--", linewidth=1, label="excited above")
    if not shown:
        _say_nothing(axes)
    axes.legend(fontsize="small", frameon=False)


def _draw_policy(check: ExplorationCheck, axes: Axes) -> None:
    axes.set_title("Do actions depend on past observations?")
    axes.set_xlabel("share of the residual that past observations explain")
    axes.set_ylabel("permutations")
    policy = check.policy
    if policy is None or not len(policy.shuffled):
        _say_nothing(axes)
        return
    acting = [channel for channel in check.channels if not channel.constant]
    for i, channel in enumerate(acting):
        if np.isnan(policy.p_values[i]):
            continue
        colour = COLOURS[i % len(COLOURS)]
        axes.hist(policy.shuffled[:, i], bins=30, color=colour, alpha=0.35)
        label = f"{channel.name}: p = {policy.p_values[i]:.3f}"
        axes.axvline(policy.observed[i], color=colour, linewidth=2, label=label)
    axes.legend(fontsize="small", frameon=False, title="line: recorded, bars: permuted")


def _draw_spectra(check: ExplorationCheck, axes: Axes) -> None:
    axes.set_title("Stage one: eigenvalues in the model's features")
    axes.set_xlabel("direction (share of all)")
    axes.set_ylabel("eigenvalue")
    posed = check.conditioning
    if posed is None:
        _say_nothing(axes)
        return
    spectra = {
        "history": posed.history,
        "future actions given history": posed.future_action_given_history,
        "history x future actions": posed.history_action,
    }
    for i, (label, values) in enumerate(spectra.items()):
        share = np.linspace(0, 1, len(values))
        line = dict(_style(i), marker="" if len(values) > 60 else MARKERS[i])
        axes.semilogy(share, np.maximum(values, 1e-16), label=label, **line)
    axes.axhline(check.options.ridge, color="black", linestyle="--", linewidth=1, label="ridge")
    axes.legend(fontsize="small", frameon=False)


def _draw_states(check: ExplorationCheck, axes: Axes) -> None:
    axes.set_title("Stage two: directions of the state")
    axes.set_xlabel("direction")
    posed = check.conditioning
    if posed is None:
        _say_nothing(axes)
        return
    directions = np.arange(1, len(posed.state) + 1)
    spread = posed.state / posed.state[0]
    axes.bar(directions, spread, color=COLOURS[5], alpha=0.6, label="singular value, relative")
    axes.plot(directions, posed.reproduced, label="correlation of both halves", **_style(1))
    axes.axhline(REPRODUCED, color="black", linestyle="--", linewidth=1, label="counts above")
    axes.set_ylim(min(0.0, float(posed.reproduced.min())), 1.05)
    axes.legend(fontsize="small", frameon=False)


def _style(index: int) -> dict[str, Any]:
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[index % len(MARKERS)],
        "markersize": 4,
    }


def _say_nothing(axes: Axes) -> None:
    axes.text(0.5, 0.5, "not enough data", ha="center", va="center", transform=axes.transAxes)
