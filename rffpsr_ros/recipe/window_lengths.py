"""How far windows of the past reach: no further than the recordings support.

The ARX term has a weight for every value in its window. With two hundred columns, twenty ticks
are four thousand weights for each observation; a few thousand ticks cannot tell them apart, and
what is regressed on them is slow and wrong. Nor can windows be nearly as long as the recordings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rffpsr_ros.errors import counted
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recordings.trajectory import Trajectory

_LENGTHS = ("past", "arx_past", "narx_past")


def supported_windows(
    options: RFFPSROptions, trajectories: Sequence[Trajectory], settings: RecipeSettings
) -> tuple[RFFPSROptions, tuple[str, ...]]:
    """Return the options with windows that the recordings support, and notes of what was changed.

    Windows without an ARX term (the paper's model) stay as they are: what is regressed on them
    there is projected onto few directions first. So does a length that was asked for. Where
    columns are too many for the recordings, refinement starts from what is well regularised, and is
    brief, unless the options say from where it starts.
    """
    given = {name: length for name in _LENGTHS if (length := _by_default(options, name))}
    if not options.arx_past or not given or not trajectories:
        return options, ()
    acted = len(trajectories[0].action_names)
    columns = len(trajectories[0].observation_names) + acted
    ticks = sum(map(len, trajectories))
    by_columns = max(1, int((settings.weights_per_tick * ticks - acted - 1) // columns))
    longest = max(given.values())
    by_length = _longest_window(
        trajectories, longest, options.rollout_horizon, settings.origins_kept
    )
    most = min(by_columns, by_length)
    if most >= longest:
        return options, ()
    lengths = {name: min(length, most) for name, length in given.items()}
    shorter = replace(
        options,
        past=lengths.get("past", options.past),
        arx_past=lengths.get("arx_past", options.arx_past),
        narx_past=lengths.get("narx_past", options.narx_past),
    )
    few = f"{counted(len(trajectories), 'recording')} of {ticks} ticks in all"
    if by_columns > by_length:
        return shorter, (f"windows of {most} instead of {longest} ticks: there are only {few}",)
    if shorter.refine_from == "both":
        brief = min(options.iterations, settings.scarce_iterations)
        shorter = replace(shorter, refine_from="regularised", iterations=brief)
    return shorter, (
        f"windows of {most} instead of {longest} ticks: {columns} columns and only {few}",
    )


def shorter_windows(
    longest: RFFPSROptions, asked: RFFPSROptions, settings: RecipeSettings
) -> list[RFFPSROptions]:
    """Return the options with shorter windows, the longest first; none if a length was asked for.

    ``longest`` are the options ``asked`` for with windows that the recordings support.
    """
    if not (asked.arx_past and all(_by_default(asked, name) for name in ("past", "arx_past"))):
        return []
    return [
        replace(asked, past=ticks, arx_past=ticks, narx_past=min(ticks, asked.narx_past))
        for ticks in sorted(settings.few_windows, reverse=True)
        if ticks < longest.past
    ]


def _by_default(options: RFFPSROptions, name: str) -> int:
    """Return a length that nobody asked for; 0 if somebody asked for another one."""
    length: int = getattr(options, name)
    return length if length == getattr(RFFPSROptions, name) else 0


def _longest_window(
    trajectories: Sequence[Trajectory], longest: int, future: int, kept: float
) -> int:
    """Return the longest window that leaves such a share of all origins, or a single tick."""

    def origins(past: int) -> int:
        return sum(max(0, len(trajectory) - past - future) for trajectory in trajectories)

    enough = kept * origins(0)
    return max((past for past in range(1, longest + 1) if origins(past) >= enough), default=1)
