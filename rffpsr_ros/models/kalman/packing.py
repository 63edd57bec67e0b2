"""A linear system as a member of an ensemble's compiled call, while its filter is steady."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rffpsr_ros.models.kalman.linear_system import Lift, LinearState, SteadyStateFilter
from rffpsr_ros.models.packing import Packing
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.packed_ensemble import LINEAR, PackedMember
from rffpsr_ros.psr.runtime.packed_parts import in_one_array

if TYPE_CHECKING:
    from rffpsr_ros.models.kalman.model import KalmanParts


class KalmanPacking(Packing[LinearState]):
    """The steady filter and the lifted system, in the observations' and actions' own units."""

    def __init__(self, parts: KalmanParts, lifted: Lift, steady: SteadyStateFilter) -> None:
        seen, acted = parts.observation_scaling, parts.action_scaling
        self._steady = steady
        self.longest = len(lifted.outputs) // len(seen.mean)
        deviation = np.tile(seen.deviation, self.longest)[:, None]
        responses = lifted.responses * deviation / np.tile(acted.deviation, self.longest)
        offset = np.tile(seen.mean, self.longest)
        offset = offset - responses @ np.tile(acted.mean, self.longest)
        inputs, states = steady.inputs.T, len(parts.system.start)
        driven = inputs[:, states:] / np.concatenate([acted.deviation, seen.deviation])
        drift = -driven @ np.concatenate([acted.mean, seen.mean])
        linear = [lifted.outputs * deviation, responses, offset[None]]
        packed = in_one_array([], [*linear, inputs[:, :states], driven, drift[None]])
        self.member = PackedMember(LINEAR, packed, states)

    def pack(self, state: LinearState) -> Array | None:
        """Return the mean, if that is all there is to know."""
        return state.mean if self._steady.holds(state) else None

    def unpack(self, numbers: Array) -> LinearState:
        """Return the state of numbers."""
        return LinearState(numbers, self._steady.nothing)
