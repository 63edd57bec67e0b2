"""The compiled step: what `PreparedStep` does for one state in usual ticks."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.predictor import FixedStructure, TrainableParameters
from rffpsr_ros.psr.runtime.packed_parts import FIRST, packed
from rffpsr_ros.psr.runtime.tick_kernels import roll_out, roll_out_many, tick
from rffpsr_ros.psr.runtime.tick_layout import layout_of


class CompiledStep:
    """One usual tick of a filter, and forecasts, each in one call of compiled code.

    Parameters
    ----------
    parameters, structure
        The fitted predictor; its features must be random Fourier features, its covariances
        symmetric: see `compilable`.
    mean, deviation
        (d,): how (action, observation) is standardised.
    innovation_weights
        (d_o,): of squared errors in the innovation.
    usual
        The squared norms between which a belief is; what else stands there is for an ensemble.
    expected
        As `PreparedStep` takes it.

    Raises
    ------
    OSError
        If there is no room to keep what was compiled.

    Notes
    -----
    The packed array holds the last two actions that were looked at, and what their features make
    of the state's tensors (`COMMAND` and `COMMANDED` in `packed_parts`). Commands are often held,
    and this is most of what a tick and a forecast compute. It is a function of the action alone and
    computed anew for any other action, so it changes no result, whichever states are asked about in
    between; all else stays as it was packed, but for rooms to work in.
    """

    def __init__(
        self,
        parameters: TrainableParameters,
        structure: FixedStructure,
        mean: Array,
        deviation: Array,
        innovation_weights: Array,
        usual: tuple[float, ...],
        expected: Array | None,
    ) -> None:
        self._given = (parameters, structure, mean, deviation, innovation_weights, usual, expected)
        layout = layout_of(parameters, structure)
        self.packed = packed(*self._given)
        self._observed = layout.observed
        states = len(parameters.initial)
        self._belief, self._past = slice(states), slice(states, None)
        self._action = slice(-layout.columns, -layout.observed)
        self._observation = slice(-layout.observed, None)

        # Compiled now, or read from the cache: not when the first message has arrived. What takes
        # many plans is, when the first ones come.
        start, past = np.zeros(states), np.zeros((max(structure.past, 1) + 1, layout.columns))
        self.tick(start, past, past[0, : layout.acted], past[0, layout.acted :])
        self.roll_out(start, past, np.zeros((1, layout.acted)))

    def __reduce__(self) -> tuple[object, ...]:
        """Let copies and other processes prepare their own."""
        return type(self), self._given

    def tick(
        self, belief: Array, past: Array, action: Array, observation: Array
    ) -> tuple[Array, Array, float, int] | None:
        """Return belief and past after a tick, its mean squared innovation, and what was unusual.

        Unusual were, added up: 1 a limited observation, 2 a limited action, 4 a missing
        observation. The innovation is NaN if all was missing. None is returned for ticks that
        compiled code leaves to `PreparedStep`: with infinite values, or a belief of unusual size.
        """
        after = np.empty(belief.size + past.size)
        after[self._action] = action
        after[self._observation] = observation
        innovation, unusual = tick(self.packed, belief, past.reshape(-1), after)
        if unusual < 0:
            return None
        return after[self._belief], after[self._past].reshape(past.shape), innovation, unusual

    def roll_out(self, belief: Array, past: Array, plans: Array) -> Array:
        """Return the forecast (H, d_o), or (N, H, d_o), given actions, all in their own units."""
        forecasts = np.empty((*plans.shape[:-1], self._observed))
        # Compiled code takes arrays of another order, or not to be written to, for another type.
        plans = np.array(plans, np.float64, order="C")
        if plans.ndim == 2:
            roll_out(self.packed, belief, past.reshape(-1), plans, forecasts)
        else:
            beliefs = belief.reshape(-1, belief.shape[-1])
            pasts = past.reshape(len(beliefs), -1)
            roll_out_many(self.packed, FIRST, beliefs, pasts, plans, forecasts)
        return forecasts
