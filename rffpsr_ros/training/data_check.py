"""Whether recordings can teach a model, asked before training and by ``rffpsr check``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rffpsr_ros.data.screening import screened
from rffpsr_ros.errors import InputError
from rffpsr_ros.exploration.check import ExplorationCheck, check_exploration, spread_stretches
from rffpsr_ros.exploration.findings import warnings
from rffpsr_ros.exploration.response_time import response_times
from rffpsr_ros.models.rff_psr.options import RFFPSROptions
from rffpsr_ros.models.training_set import shared_signature
from rffpsr_ros.recipe.settings import RecipeSettings
from rffpsr_ros.recipe.window_lengths import supported_windows
from rffpsr_ros.recordings.trajectory import Trajectory


class DataWarning(UserWarning):
    """Recordings can teach less than the theory asks for; ``docs/exploration.md`` says more."""


def check_data(
    trajectories: Sequence[Trajectory],
    learning: Mapping[str, Any],
    action_units: Sequence[str] = (),
    responses: bool = False,
) -> ExplorationCheck:
    """Measure what trajectories can teach, with the windows that training would take.

    What is damaged is told, and left out as in training. With ``responses`` it is measured, too,
    how soon observations respond to actions.

    Raises
    ------
    InputError
        If the trajectories do not fit together, or an option has a wrong value.
    """
    names = RFFPSROptions.names()
    asked = RFFPSROptions(**{name: learning[name] for name in learning if name in names})
    settings = RecipeSettings()
    shared_signature(trajectories)
    sound = screened(trajectories, limits=settings.damage)
    options, _ = supported_windows(asked, sound.train, settings)
    check = check_exploration(sound.train, options, action_units)
    found = response_times(spread_stretches(sound.train)) if responses else None
    return replace(check, damage=sound.sentences, responses=found)


def data_warnings(
    trajectories: Sequence[Trajectory],
    learning: Mapping[str, Any],
    action_units: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return a sentence for each thing that is wrong with training data; never an error."""
    try:
        found = warnings(check_data(trajectories, learning, action_units))
    except (InputError, np.linalg.LinAlgError):
        return ()  # what is wrong with such data, training itself says
    return tuple(one.sentence for one in found)
