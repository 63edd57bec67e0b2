"""Where an ensemble's head, its own numbers and its rooms stand, as numba compiles it."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.compiling import part
from rffpsr_ros.psr.runtime.lanes import room_of_lanes
from rffpsr_ros.psr.runtime.packed_ensemble import (
    COLUMNS,
    COUNT,
    LARGEST,
    OBSERVED,
    OWN,
    SILENT,
    SIZE,
    STATE,
)
from rffpsr_ros.psr.runtime.raw_views import doubles, integers


@part
def head_of(packed: Array) -> Array:
    """Return the head (1 + M, `COLUMNS`)."""
    head: Array = integers(packed, 0, 1 + integers(packed, 0, 1, 1)[0, COUNT], COLUMNS)
    return head


@part
def lanes_of(packed: Array, head: Array) -> tuple[Array, Array]:
    """Return the room for four systems and for what is made of them."""
    room = room_of_lanes(head[0, LARGEST])[1]
    start = head[0, OWN] + 4 * head[0, OBSERVED]
    return doubles(packed, start, 1, room)[0], doubles(packed, start + room, 1, room)[0]


@part
def own_numbers(packed: Array, head: Array) -> Array:
    """Return the limits of forecasts and the bounds of their blend (4, d_o)."""
    own: Array = doubles(packed, head[0, OWN], 4, head[0, OBSERVED])
    return own


@part
def unbroken(own: Array, before: Array, observation: Array, after: Array) -> bool:
    """Tell whether a member can take a tick here: no gap begins, goes on or ends with it."""
    start = own[STATE] + own[SIZE]
    broken = False
    for i in range(own[SILENT]):
        broken |= np.isnan(observation[i]) or before[start + i] > 0
        after[start + i] = 0
    return not broken
