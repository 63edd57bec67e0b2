"""A gated recurrent network (GRU), run by NumPy; `benchmarks.peers.gru_training` learns it.

One step takes the last observation, its change and the action of the tick; the readout sees the new
hidden state and, linearly, the step's inputs. A forecast feeds each prediction back as the next
observation, so the forecast at horizon h depends on the first h actions only.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from benchmarks.peers.feedback import MARGIN
from rffpsr_ros.data.scaling import Scaling
from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import sizes

LARGEST_CHANGE = 10.0
"""Changes of observations are limited to so many of their standard deviations."""


class GRUState(NamedTuple):
    """What the network knows, in standard units."""

    hidden: Array
    """(units,)"""
    last: Array
    """(d_o,) the newest observation; the mean first one before any."""
    change: Array
    """(d_o,) from the observation before, in units of `GRUParts.step`."""


class GRUWeights(NamedTuple):
    """Of the gates reset, update, new, in this order, and of the readout; u units."""

    input: Array
    """(3 u, 2 d_o + d_a)"""
    hidden: Array
    """(3 u, u)"""
    input_bias: Array
    hidden_bias: Array
    readout: Array
    """(d_o, u + 2 d_o + d_a)"""
    readout_bias: Array
    start: Array
    """(u,)"""


class GRUParts(NamedTuple):
    """What a trained network consists of, in standard units."""

    weights: GRUWeights
    increments: bool
    """Whether the readout is a change, in units of ``step``, not the observation itself."""
    step: Array
    """(d_o,) root mean square of the observations' changes from tick to tick."""
    first: Array
    """(d_o,) the mean first observation."""
    observation_scaling: Annotated[Scaling, sizes(d="d_o")]
    action_scaling: Annotated[Scaling, sizes(d="d_a")]


class GRUModel(PredictiveModel[GRUState]):
    """A trained network."""

    kind: ClassVar[str] = "gru"
    parts_class = GRUParts
    parts: GRUParts

    def _prepare(self) -> None:
        scaling = self.parts.observation_scaling
        self._low, self._high = (scaling.apply(limit) for limit in scaling.limits(MARGIN))

    def initial_state(self) -> GRUState:
        """Return the learned start."""
        return GRUState(self.parts.weights.start, self.parts.first, np.zeros_like(self.parts.first))

    def advance(self, state: GRUState, action: Array, observation: Array) -> GRUState:
        """Return the state after one tick; the prediction stands in for missing entries."""
        ahead = self._step(state, self.parts.action_scaling.apply(action))
        seen = self.parts.observation_scaling.apply(observation)
        last = np.where(np.isnan(seen), ahead.last, seen)
        return GRUState(ahead.hidden, last, self._change(state.last, last))

    def forecast(self, state: GRUState, actions: Array) -> Array:
        """Return the forecast (H, d_o) or (B, H, d_o)."""
        planned = self.parts.action_scaling.apply(actions)
        forecast = []
        for step in range(actions.shape[-2]):
            state = self._step(state, planned[..., step, :])
            forecast.append(state.last)
        return self.parts.observation_scaling.invert(np.stack(forecast, axis=-2))

    def _step(self, state: GRUState, action: Array) -> GRUState:
        """Return the state in which the prediction was seen, all in standard units."""
        weights = self.parts.weights
        batch = np.broadcast_shapes(state.last.shape[:-1], action.shape[:-1])
        parts = (state.last, state.change, action)
        inputs = np.concatenate(
            [np.broadcast_to(part, (*batch, part.shape[-1])) for part in parts], -1
        )
        from_input = inputs @ weights.input.T + weights.input_bias
        from_hidden = state.hidden @ weights.hidden.T + weights.hidden_bias
        units = state.hidden.shape[-1]
        gates = _sigmoid(from_input[..., : 2 * units] + from_hidden[..., : 2 * units])
        reset, keep = gates[..., :units], gates[..., units:]
        new = np.tanh(from_input[..., 2 * units :] + reset * from_hidden[..., 2 * units :])
        hidden = (1 - keep) * new + keep * state.hidden
        out = np.concatenate([hidden, inputs], -1) @ weights.readout.T + weights.readout_bias
        predicted = state.last + self.parts.step * out if self.parts.increments else out
        last = np.clip(predicted, self._low, self._high)
        return GRUState(hidden, last, self._change(state.last, last))

    def _change(self, before: Array, after: Array) -> Array:
        return np.clip((after - before) / self.parts.step, -LARGEST_CHANGE, LARGEST_CHANGE)


def _sigmoid(values: Array) -> Array:
    result: Array = 0.5 * (1 + np.tanh(0.5 * values))
    return result
