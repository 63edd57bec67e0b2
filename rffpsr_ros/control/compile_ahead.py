"""Compile what planning with a model needs, ahead of the first plan.

    python -m rffpsr_ros.control.compile_ahead 5 robot.psr 20     niceness, model, ticks of a plan

What is compiled is kept for the user, as the filter's code is, by one process at a time. Where
numba is not installed there is nothing to do.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.loading import load_model

PLANS = 5
"""Forecast together, as a solver does."""


def warm_up(model: PredictiveModel[Any], horizon: int) -> None:
    """Ask a model, as it runs, for all that planning asks of it."""
    state = model.initial_state()
    actions = np.zeros((horizon, len(model.signature.action_names)))
    observation = np.zeros(len(model.signature.observation_names))
    state = model.update(state, actions[0], observation)
    model.predict(state, np.repeat(actions[None], PLANS, axis=0))
    try:
        model.jacobian_along(state, actions, model.predict(state, actions))
    except InputError:  # it has no derivatives, and is not asked for any
        return


def main(words: Sequence[str]) -> int:
    """Compile for the model of a file."""
    niceness, path, horizon = words
    os.nice(int(niceness))
    try:
        from rffpsr_ros.psr.runtime.compiled_code import SINGLE, alone
    except ImportError:  # without numba
        return 0
    model = load_model(path).inference_model()
    with alone(SINGLE, "plans"):
        warm_up(model, int(horizon))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
