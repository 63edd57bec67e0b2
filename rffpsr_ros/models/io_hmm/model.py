"""The discrete model: an input-output hidden Markov model in predictive form."""

from __future__ import annotations

from typing import Annotated, ClassVar, NamedTuple

import numpy as np

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.input_gate import InputRange, TrainedRange
from rffpsr_ros.models.io_hmm.discrete_system import (
    DiscreteSystem,
    discrete_step,
    symbol_probabilities,
)
from rffpsr_ros.models.io_hmm.symbols import Codebook
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.numerics.contents import count, sizes


class IOHMMState(NamedTuple):
    """The belief; a leading batch axis is allowed."""

    belief: Array  # (p,)


class IOHMMParts(NamedTuple):
    """An input-output hidden Markov model in predictive form, with belief q (p,).

    P(o = s | q, a) = sum over i of q_i P_ias,   q' = (sum over i of q_i T_ias) / its total
    """

    system: DiscreteSystem
    """P (p, A, S), T (p, A, S, p), the belief at an episode's start, the usual belief's size."""
    symbols: Annotated[Codebook, sizes(S="S", d="d_o")]
    """The rows (S, d_o) that observations can be."""
    choices: Annotated[Codebook, sizes(S="A", d="d_a")]
    """The rows (A, d_a) that actions can be."""
    past: Annotated[int, count("past", least=1)]
    """Ticks of history that training used."""


class IOHMMModel(PredictiveModel[IOHMMState]):
    """Probabilities of the next symbols, given the next actions.

    A symbol is a distinct row of the observations. `predict` returns the expected row: the
    probabilities themselves where the columns are indicators. A partly missing observation counts
    as any of the symbols that agree with what was seen.
    """

    kind: ClassVar[str] = "io_hmm"

    parts_class = IOHMMParts
    parts: IOHMMParts

    @property
    def history_length(self) -> int:
        """Ticks of history that training used."""
        return self.parts.past

    @property
    def trained_range(self) -> TrainedRange:
        """Return the range of the rows that observations and actions can be."""
        books = (self.parts.symbols.rows, self.parts.choices.rows)
        return TrainedRange(*(InputRange(rows.min(axis=0), rows.max(axis=0)) for rows in books))

    def initial_state(self) -> IOHMMState:
        """Return the belief at an episode's start: the average one."""
        return IOHMMState(self.parts.system.start.copy())

    def advance(self, state: IOHMMState, action: Array, observation: Array) -> IOHMMState:
        """Return the state after an action (d_a,) acted and an observation (d_o,) was seen."""
        belief = np.atleast_2d(state.belief)
        chosen, seen = self._chosen(action), self.parts.symbols.matches(observation)
        following = discrete_step(
            self.parts.system, belief, np.atleast_1d(chosen), np.atleast_2d(seen).astype(float)
        )
        return IOHMMState(following if state.belief.ndim == 2 else following[0])

    def forecast(self, state: IOHMMState, actions: Array) -> Array:
        """Return the expected rows (H, d_o), or (B, H, d_o), given the next H actions."""
        return np.asarray(self.probabilities(state, actions) @ self.parts.symbols.rows)

    def probabilities(self, state: IOHMMState, actions: Array) -> Array:
        """Return the probabilities (H, S), or (B, H, S), of the symbols `symbols.rows`."""
        plans = self._chosen(actions if actions.ndim == 3 else actions[None])
        belief = np.broadcast_to(state.belief, (len(plans), state.belief.shape[-1]))
        anything = np.ones((len(plans), len(self.parts.symbols.rows)))
        forecasts = []
        for h in range(plans.shape[1]):
            forecasts.append(symbol_probabilities(self.parts.system, belief, plans[:, h]))
            belief = discrete_step(self.parts.system, belief, plans[:, h], anything)
        forecast = np.stack(forecasts, axis=1)
        return forecast if actions.ndim == 3 or state.belief.ndim == 2 else forecast[0]

    def _chosen(self, action: Array) -> Array:
        """Return the numbers (...) of actions (..., d_a); unknown ones count as the nearest."""
        return np.asarray(self.parts.choices.matches(action).argmax(-1))
