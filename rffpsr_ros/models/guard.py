"""What stands between inputs and a model wherever it follows them: live, in replays, offline.

Absurd inputs are kept from the model (`input_gate`). Should a state nevertheless become one that
nothing can be computed with, it begins anew: of an ensemble, that of the member concerned.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rffpsr_ros.models.contract import PredictiveModel
from rffpsr_ros.models.input_gate import REJECTION_THRESHOLD, InputGate
from rffpsr_ros.numerics.arrays import Array

LOOKED_AT_EVERY = 10
"""Ticks between looks at the state: it costs a fiftieth of an update."""


class Guard:
    """Guards one model that follows one sequence of inputs.

    Parameters
    ----------
    model
        Whose updates are guarded; another form of it may take its place.
    thresholds
        As `InputGate` takes them.

    Attributes
    ----------
    gate
        What inputs pass, and how many values did not.
    replaced
        How many times a state began anew.

    Raises
    ------
    InputError
        As `InputGate` does.
    """

    def __init__(
        self, model: PredictiveModel[Any], thresholds: Sequence[float] = (REJECTION_THRESHOLD,)
    ) -> None:
        self.model = model
        signature = model.signature
        columns = len(signature.observation_names), len(signature.action_names)
        self.gate = InputGate(model.known_range, columns, thresholds)
        self.replaced = 0

    def update(self, state: Any, action: Array, observation: Array, number: int) -> Any:
        """Return the state after tick ``number`` of a segment, whose inputs passed the gate."""
        state = self.model.advance(state, action, observation)
        if number % LOOKED_AT_EVERY:
            return state
        sound = self.model.sound_state(state)
        self.replaced += sound is not state
        return sound
