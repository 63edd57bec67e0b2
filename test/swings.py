"""Recordings of a swing, and options by which an ensemble of it is learned quickly."""

from pathlib import Path
from typing import Any

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.forecasts import errors_by_origin
from rffpsr_ros.recipe.more.kept import Learned
from rffpsr_ros.recipe.more.kept_file import read_kept, write_kept
from rffpsr_ros.recipe.more.learn_more import learn_more
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.state_spaces.settings import StateSpaceSettings
from rffpsr_ros.recordings.trajectory import Trajectory

QUICK: dict[str, Any] = {
    "past": 6,
    "future": 3,
    "horizon": 6,
    "arx_past": 6,
    "features": 12,
    "rank": 10,
    "narx_features": 12,
    "iterations": 5,
    "short_past": 0,
}


NO_STATE_SPACES = StateSpaceSettings(most_weights=1)

WINDOWS_ONLY = RecipeSettings(state_spaces=NO_STATE_SPACES)
"""No state spaces: on a swing they leave nothing to models that see a window."""


def swings(count: int, seed: int, ticks: int = 100, mass: float = 1.0) -> list[Trajectory]:
    """Return ``count`` runs of a swing whose speed is not seen."""
    draw = np.random.default_rng(seed)
    runs = []
    for number in range(count):
        actions = draw.uniform(-1, 1, ticks)
        angle, speed, seen = 0.0, 0.0, []
        for action in actions:
            speed += 0.3 * (action / mass - np.sin(angle) - 0.1 * speed)
            angle += 0.3 * speed
            seen.append(angle + 0.003 * draw.standard_normal())
        runs.append(Trajectory(seen, actions, 0.1, label=f"{seed}-{number}"))
    return runs


def median_error(model: PredictiveModel[Any], runs: list[Trajectory]) -> float:
    """Return that of the middle recording: a swing that goes over the top would decide alone."""
    of_each = [np.sqrt((errors_by_origin(model, run, 6, 20) ** 2).mean()) for run in runs]
    return float(np.median(of_each))


def learned_more_twice(learned: Learned, path: Path) -> list[PredictiveModel[Any]]:
    """Return models that go on from what is kept in memory, and from the same read from a file."""
    write_kept(path, learned, [])
    return [
        learn_more(learned.model, kept, swings(2, 2), processes=1).model
        for kept in (learned.kept, read_kept(path, learned.model).kept)
    ]
