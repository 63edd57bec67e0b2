"""Linear ARX as a member of an ensemble's compiled call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rffpsr_ros.models.arx.state import LinearARXState
from rffpsr_ros.models.packing import Packing
from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.packed_ensemble import HISTORY, PackedMember
from rffpsr_ros.psr.runtime.packed_parts import in_one_array

if TYPE_CHECKING:
    from rffpsr_ros.models.arx.model import LinearARXParts


class LinearARXPacking(Packing[LinearARXState]):
    """The regressions on the longest history, in the observations' and actions' own units."""

    def __init__(self, parts: LinearARXParts) -> None:
        seen, acted = parts.observation_scaling, parts.action_scaling
        self.longest, observed = parts.intercept.shape[1:]
        self._needed = int(parts.lengths[-1])
        self._shape = parts.history_weights.shape[1:3]
        outputs = self.longest * observed
        deviation = np.tile(seen.deviation, self.longest)
        history = parts.history_weights[-1].reshape(-1, outputs).T * deviation[:, None]
        responses = parts.action_weights[-1].reshape(-1, outputs).T * deviation[:, None]
        responses = responses / np.tile(acted.deviation, self.longest)
        offset = parts.intercept[-1].ravel() * deviation + np.tile(seen.mean, self.longest)
        offset = offset - responses @ np.tile(acted.mean, self.longest)
        scaling = [np.concatenate(pair) for pair in zip(acted[:2], seen[:2], strict=True)]
        packed = in_one_array([], [history, responses, offset[None], np.stack(scaling)])
        self._size = self._shape[0] * self._shape[1]
        self.member = PackedMember(HISTORY, packed, self._size + 1, silent=observed)

    def pack(self, state: LinearARXState) -> Array | None:
        """Return a state's numbers, once it remembers as much as the longest regression takes."""
        if state.history.ndim != 2 or state.ticks < self._needed:
            return None
        return np.concatenate([state.history.ravel(), [state.ticks], state.silent])

    def unpack(self, numbers: Array) -> LinearARXState:
        """Return the state of numbers."""
        history, ticks, silent = np.split(numbers, [self._size, self._size + 1])
        return LinearARXState(
            history.reshape(self._shape), np.int64(ticks[0]), silent.astype(np.int64)
        )
