"""What the sampler gives out: ticks, and the ends of the segments they belong to."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]

Cause: TypeAlias = Literal["gap", "missing", "expired", "time_jump", "end"]


class Tick(NamedTuple):
    """One tick: the action (d_a,) in force from ``start_ns`` and the observation (d_o,) after it.

    ``number`` counts from 0 in every segment. ``stamp_ns`` is the stamp of the pace sample that
    closed the tick, or the tick's end where the pace channel was silent. Entries of the
    observation that are missing are NaN; actions are finite.
    """

    number: int
    start_ns: int
    stamp_ns: int
    action: Vector
    observation: Vector


class SegmentEnd(NamedTuple):
    """The ticks before and after this do not belong together.

    ``cause``: ``gap`` (the pace channel was silent too long), ``missing`` (nothing was observed
    for too long), ``expired`` (no command for longer than its ``max_age``), ``time_jump`` or
    ``end``. ``reason`` says it in words.
    """

    cause: Cause
    reason: str


Event: TypeAlias = "Tick | SegmentEnd"
