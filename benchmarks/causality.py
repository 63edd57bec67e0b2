"""Whether forecasts use actions later than the step they predict.

Where a controller chose the recorded actions, a later action tells what was observed before it: a
forecast that sees it looks better on recordings than it can ever be live.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.recordings.trajectory import Trajectory


def steps_ahead_seen(
    model: PredictiveModel[Any], trajectory: Trajectory, horizon: int = 10, start: int = 20
) -> list[int]:
    """Return the horizons whose forecast changes with the actions after them; none is right.

    The model filters through ``start`` ticks of the trajectory. Then its forecast under the
    recorded actions is compared with forecasts whose actions differ from step h + 1 on.
    """
    state = model.initial_state()
    for tick in range(start):
        state = model.update(state, trajectory.actions[tick], trajectory.observations[tick])
    plan = trajectory.actions[start : start + horizon]
    forecast = model.predict(state, plan)
    other = plan[::-1] + trajectory.actions.std(axis=0) + 1e-3
    seen = []
    for h in range(1, horizon):
        changed = model.predict(state, np.concatenate([plan[:h], other[h:]]))
        if not np.array_equal(changed[:h], forecast[:h]):
            seen.append(h)
    return seen
