"""An ensemble in one array: where its members stand, and how they get there.

It begins with a head of integers, a row of its own and one for each member. Then come its own
numbers, limits and bounds, room for systems side by side, and the members, each with its header.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rffpsr_ros.numerics.arrays import Array
from rffpsr_ros.psr.runtime.packed_parts import PLACES

COLUMNS = 6
COUNT, OBSERVED, ACTED, LARGEST, OWN = PLACES[:5]
"""Columns of the first row: members; d_o; d_a; rows of the largest covariance; where the ensemble's
own numbers begin."""
KIND, BASE, STATE, SIZE, STATES, SILENT = PLACES[:6]
"""Columns of a member's row: its kind; where its parts begin; where its numbers begin in a state,
and how many there are; how many of them are its belief; how many stand behind them, which tell for
how many ticks nothing was seen of each observation."""

RFF_PSR, HISTORY, LINEAR, WINDOW, SYSTEM = PLACES[:5]
"""Kinds: a predictor as of `packed_parts`; the last ticks and how many there were; a state that
follows linearly; the last observations, and the last actions; a nonlinear system's state."""

# Parts of a linear forecast, y = O x + R a + c, a the plan:
OUTPUTS = PLACES[0]  # O (L d_o, n)
RESPONSES = PLACES[1]  # R (L d_o, L d_a), zero where an action comes after the observation
OFFSET = PLACES[2]  # c (1, L d_o)
WINDOW_SCALING = PLACES[3]  # of ticks: mean and deviation (2, d_a + d_o)
# A state that follows linearly, x' = T x + S (a, o) + t, has instead:
TRANSITION, INPUTS, DRIFT = PLACES[3:6]  # T (n, n), S (n, d_a + d_o), t (1, n)

# Parts of a nonlinear system with n states and f features, see `system_kernels`:
MOVES, SHOWS = PLACES[:2]  # X (n, n + d_a + 1 + f), Y (d_o, n + d_a + 1 + f)
DIRECTIONS = PLACES[2]  # W (f, n + d_a + 1)
FEATURE = PLACES[3]  # (2, f): what it makes of v, a power or 0; within what v is held
GAIN = PLACES[4]  # K (n, d_o)
HELD = PLACES[5]  # (3, d_o): within what observations are held; within what all states are
SYSTEM_SCALING = PLACES[6]  # of ticks: mean and deviation (2, d_a + d_o)
INTEGRATES = PLACES[7]  # (1, 1): whether the last d_o states are what is observed

TAIL = 9
"""Behind belief and past of RFF-PSR: running mean of squared innovations, age, calm, events (6,).
"""
NIS_MEMORY = 0.9
"""As that of the filter monitor; a test holds them equal."""

MOST = 62
"""Members at the most: each has a bit."""


class PackedMember(NamedTuple):
    """A member as compiled code knows it."""

    kind: int
    parts: Array
    size: int
    """Numbers of its state."""
    states: int = 0
    """Numbers of its belief."""
    rank: int = 0
    """Rows of its covariance."""
    silent: int = 0
    """Numbers behind its state: d_o, if a tick after a gap is not for compiled code, else none."""

    @property
    def room(self) -> int:
        """Return how many numbers of an ensemble's state are this member's."""
        return self.size + self.silent


def packed_ensemble(
    members: Sequence[PackedMember], columns: tuple[int, int], own: Array, room: int
) -> Array:
    """Return an ensemble of d_o and d_a ``columns`` in one array.

    Parameters
    ----------
    members
        Those that have a packed form.
    columns
        d_o and d_a.
    own
        (4, d_o): the limits of members' forecasts and the bounds of the ensemble's.
    room
        How many numbers four systems take, see `room_of_lanes`.
    """
    head = np.zeros((1 + len(members), COLUMNS), np.int64)
    start, state = head.size + own.size + 2 * room, 0
    largest = max((member.rank for member in members), default=0)
    head[0, :5] = len(members), *columns, largest, head.size
    for row, member in zip(head[1:], members, strict=True):
        row[:] = member.kind, start, state, member.size, member.states, member.silent
        start += len(member.parts)
        state += member.room
    return np.concatenate(
        [
            head.view(np.float64).ravel(),
            own.ravel(),
            np.zeros(2 * room),
            *(member.parts for member in members),
        ]
    )
