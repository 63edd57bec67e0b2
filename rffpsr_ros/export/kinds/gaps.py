"""What stands in for missing observations, mended in hindsight; see `models.tick_window`."""

from __future__ import annotations

import numpy as np

from rffpsr_ros.export.graph import Node, constant, join, less, maximum, minimum, take, total, where
from rffpsr_ros.export.program import SeenTick

MOST = 2.0**23
"""Ticks that every language can count."""


def unbroken(silent: Node, tick: SeenTick) -> Node:
    """Return whether no gap begins, goes on or ends with a tick."""
    return less(total(silent) + total(tick.missing), 0.5)


def silent_after(silent: Node, tick: SeenTick) -> Node:
    """Return for how many ticks (d_o,) nothing was seen, after one more."""
    return where(tick.missing, minimum(silent + 1.0, MOST), constant(np.zeros(silent.size)))


def mended(earlier: Node, errors: Node, silent: Node, columns: int, first: int = 0) -> Node:
    """Return rows (P,) of ticks of so many ``columns``, oldest first, as a new tick mends them.

    Observations begin at column ``first``. ``errors`` (d_o,) is the observation of the new tick
    minus what was expected, 0 where it is missing.
    """
    back, column = np.divmod(np.arange(earlier.size), columns)
    back, place = float(earlier.size // columns) - back, column - first
    place = np.where((place >= 0) & (place < errors.size), place, errors.size)
    moved, waited = (take(join([part, constant([0.0])]), place) for part in (errors, silent))
    share = maximum(constant(np.ones(len(back))) - constant(back) / (waited + 1.0), 0.0)
    return earlier + share * moved
