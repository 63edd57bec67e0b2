"""What models have in common that look at nothing but a window of the newest ticks."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from rffpsr_ros.learning.windows.scaling import Scaling
from rffpsr_ros.models.predictive_model import Array, PredictiveModel
from rffpsr_ros.models.tick_window import TickWindow


class TickWindowModel(PredictiveModel[TickWindow]):
    """Follows what happens in a window of ticks; a subclass forecasts from it.

    Attributes
    ----------
    past
        Ticks in the window.
    start
        (d_o + d_a,): the tick that stands for the past before anything was seen.
    observation_scaling, action_scaling
        To the standard units in which the window is.
    """

    past: int
    start: Array
    observation_scaling: Scaling
    action_scaling: Scaling

    def initial_state(self) -> TickWindow:
        """Return the state in which nothing was seen."""
        columns = len(self.observation_scaling.mean)
        return TickWindow.of_start(self.start[:columns], self.start[columns:], self.past)

    def update(self, state: TickWindow, action: Array, observation: Array) -> TickWindow:
        """Return the window with the new tick; the forecast stands in for missing entries."""
        seen = self.observation_scaling.apply(observation)[..., None, :]
        acted = self.action_scaling.apply(action)[..., None, :]
        missing = np.isnan(seen)
        if missing.any():
            seen = np.where(missing, self._forecast(state, acted), seen)
        return state.after(seen, acted)

    @abstractmethod
    def _forecast(self, state: TickWindow, plan: Array) -> Array:
        """Return the forecast (..., H, d_o) of plans (..., H, d_a), all in standard units."""
