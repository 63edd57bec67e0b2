"""A nonlinear state space system as a member of an ensemble's compiled call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rffpsr_ros.models.packing import Packing
from rffpsr_ros.models.state_space.dynamics import HOLD, SystemState
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.packed_ensemble import SYSTEM, PackedMember
from rffpsr_ros.psr.runtime.packed_parts import in_one_array

if TYPE_CHECKING:
    from rffpsr_ros.models.state_space.model import StateSpaceParts

UNLIMITED = 2**31


class StateSpacePacking(Packing[SystemState]):
    """The system, and beside a state's numbers what was ever seen, as 0 and 1."""

    longest = UNLIMITED

    def __init__(self, parts: StateSpaceParts) -> None:
        system, seen, acted = parts.system, parts.observation_scaling, parts.action_scaling
        self._states, columns = system.states, len(seen.mean)
        scaling = [np.concatenate(pair) for pair in zip(acted[:2], seen[:2], strict=True)]
        packed = in_one_array(
            [],
            [
                system.transition,
                system.output,
                system.directions,
                np.stack([system.powers, system.reach]),
                system.gain,
                np.stack([*system.bounds, np.full(columns, HOLD)]),
                np.stack(scaling),
                np.array([[float(system.integrators.any())]]),
            ],
        )
        self.member = PackedMember(SYSTEM, packed, self._states + columns)

    def pack(self, state: SystemState) -> Array | None:
        """Return a single state's numbers."""
        if state.position.ndim != 1:
            return None
        return np.concatenate([state.position, state.seen])

    def unpack(self, numbers: Array) -> SystemState:
        """Return the state of numbers."""
        return SystemState(numbers[: self._states].copy(), numbers[self._states :] > 0)
