"""A learned model as the robot: it is told commands, and what it expects is what is seen.

So a controller can be tried before the robot is touched. Errors add up as in any free run: for how
long it resembles the robot, `trusted_ticks` tells.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rffpsr_ros.errors import InputError
from rffpsr_ros.forecasting.live_error import training_error
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.usable import usable
from rffpsr_ros.numerics.arrays import Array


class LearnedState(NamedTuple):
    """The belief, and what was seen last (d_o,)."""

    belief: Any
    seen: Array


class LearnedRobot:
    """A `System` by a model's forecasts one tick ahead, each taken for what was observed.

    Its states are `LearnedState`, one at a time.
    """

    def __init__(self, model: PredictiveModel[Any]) -> None:
        signature = model.signature
        self.period = signature.period
        self.observation_names = signature.observation_names
        self.action_names = signature.action_names
        self._model = model.inference_model(compiled=False)

    @property
    def action_limits(self) -> tuple[Array, Array]:
        """Return the range of the commands trained on; -1 and 1 where it is not known."""
        known = self._model.trained_range.actions
        one = np.ones(len(self.action_names))
        return (-one, one) if known is None else (known.low, known.high)

    def initial_state(self, generator: np.random.Generator) -> Any:
        """Return the learned state of an episode's start; nothing of it is random."""
        belief = self._model.initial_state()
        rest = np.zeros((1, len(self.action_names)))
        return LearnedState(belief, self._model.predict(belief, rest)[0])

    def step(self, state: Any, action: Array) -> Any:
        """Return the state a tick later.

        Raises
        ------
        InputError
            If the forecast is no usable number: the free run has left all that was learned.
        """
        seen = self._model.predict(state.belief, action[None])[0]
        if not usable(seen):
            raise InputError("the learned robot ran away: its forecast is no finite number")
        return LearnedState(self._model.update(state.belief, action, seen), seen)

    def observe(self, state: Any) -> Array:
        """Return what is seen (d_o,)."""
        seen: Array = state.seen
        return seen


class Trust(NamedTuple):
    """For how many ticks a free run says more than the mean, of the observation known least."""

    ticks: int
    observation: str
    at_least: bool
    """Whether it was not looked any farther."""


def trusted_ticks(model: PredictiveModel[Any]) -> Trust | None:
    """Return for how long a free run can be trusted, by the errors that training noted.

    Its forecasts are no better than the mean of the recordings once their mean squared error
    reaches the variance. None if the model file does not tell.
    """
    error, deviation = training_error(model), _deviation(model)
    if error is None or deviation is None:
        return None
    known = np.nan_to_num(error) < deviation**2
    ticks = np.where(known.all(axis=0), len(error), known.argmin(axis=0))
    worst = int(ticks.argmin())
    name = model.signature.observation_names[worst]
    return Trust(int(ticks[worst]), name, bool(ticks[worst] == len(error)))


def _deviation(model: PredictiveModel[Any]) -> Array | None:
    """Return the standard deviation (d_o,) of the recordings, as a model or its parts hold it."""
    scaling = getattr(model.parts, "observation_scaling", None)
    if scaling is not None:
        deviation: Array = scaling.deviation
        return deviation
    for member in getattr(model.parts, "members", ()):
        if (found := _deviation(member)) is not None:
            return found
    return None
