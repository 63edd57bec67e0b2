"""RFF-PSR as a member of an ensemble's compiled call."""

from __future__ import annotations

import sys

import numpy as np

from rffpsr_ros.models.packing import Packing
from rffpsr_ros.models.rff_psr.state import RFFPSRState
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.packed_ensemble import RFF_PSR, TAIL, PackedMember


class RFFPSRPacking(Packing[RFFPSRState]):
    """A predictor in one array; a state's belief, past, and what is counted, one after the other.

    Parameters
    ----------
    parts
        As `packed_parts.packed` returns them.
    belief, rank
        How many numbers a belief has, and rows its covariance.
    past
        The shape of a state's past.
    observed
        d_o.
    """

    longest = sys.maxsize

    def __init__(
        self, parts: Array, belief: int, rank: int, past: tuple[int, int], observed: int
    ) -> None:
        size = belief + past[0] * past[1] + TAIL
        self.member = PackedMember(RFF_PSR, parts, size, belief, rank, observed)
        self._past = past

    def pack(self, state: RFFPSRState) -> Array | None:
        """Return a state's numbers; of the one before the first tick none."""
        if state.belief.ndim != 1 or not state.age > 0:
            return None
        counts = [state.nis, state.age, state.calm]
        return np.concatenate(
            [state.belief, state.past.ravel(), counts, state.events, state.silent]
        )

    def unpack(self, numbers: Array) -> RFFPSRState:
        """Return the state of numbers."""
        _, _, size, states, *_ = self.member
        belief, past, counts, events, silent = np.split(
            numbers, [states, size - TAIL, size - TAIL + 3, size]
        )
        nis, age, calm = counts.tolist()
        return RFFPSRState(
            belief,
            past.reshape(self._past),
            int(age),
            int(calm),
            nis,
            silent.astype(np.int64),
            events.astype(np.int64),
        )
