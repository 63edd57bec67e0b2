"""Which new episodes a training holds out, and how models are judged by them; without ROS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.recipe.everything import options_of
from rffpsr_ros.recipe.more.new_recordings import is_long_enough
from rffpsr_ros.recordings.trajectory import Trajectory

JUDGING = 4
"""Of so many new episodes one is held out to judge by, the newest first."""

Episodes = Mapping[Path, Sequence[Trajectory]]
"""The segments of episodes, by their bags."""


class HeldOutEpisodes(NamedTuple):
    """The episodes that are held out; none where too few can be judged by."""

    bags: Sequence[Path]
    told: str
    """The end of a sentence on the decision: which do not judge, and why; empty if all may."""


def held_out(episodes: Episodes, fewest: int) -> HeldOutEpisodes:
    """Return which new episodes judge; one that has ``fewest`` ticks in a row is learned from.

    Episodes with fewer never judge: whether they can is seen now, not after learning.
    """
    long = [
        bag
        for bag, runs in episodes.items()
        if any(is_long_enough(run.loaded(), fewest) for run in runs)
    ]
    if len(long) < 2:
        return HeldOutEpisodes(
            [],
            f"; nothing is held out to judge by: {len(long)} of {len(episodes)} new episodes have"
            f" {fewest} ticks in a row without a missing observation, and 2 are needed",
        )
    short = len(episodes) - len(long)
    return HeldOutEpisodes(
        long[::-JUDGING],
        f"; {short} of {len(episodes)} new episodes are too short to judge by" if short else "",
    )


def judged_horizon(model: PredictiveModel[Any]) -> int:
    """Return for how many ticks ahead models are judged beside this one.

    As many as it was learned for; if its record does not tell, as many as the recipe's default.
    """
    return options_of(model).rollout_horizon


def held_out_errors(
    models: Sequence[PredictiveModel[Any]], runs: Sequence[Trajectory], horizon: int
) -> list[float]:
    """Return the models' errors up to a horizon, in standard deviations of the observations.

    Raises
    ------
    InputError
        If no recording is long enough.
    """
    long = [run for run in runs if len(run) > horizon]
    if not long:
        raise InputError(f"no held-out episode is longer than {horizon} ticks")
    deviation = np.nanstd(np.concatenate([run.observations for run in long]), axis=0)
    scale = np.where(deviation > 0, deviation, 1.0)
    found = []
    for model in models:
        rows = [
            errors_by_origin(model, run, horizon, min(model.history_length, len(run) // 4))
            for run in long
        ]
        squares = [np.nanmean((row / scale) ** 2) for row in rows if len(row)]
        found.append(float(np.sqrt(np.mean(squares))))
    return found
