"""What a linear ARX model remembers."""

from __future__ import annotations

from typing import Any, NamedTuple

from rffpsr_ros.numerics.arrays import Array


class LinearARXState(NamedTuple):
    """The newest ``past`` ticks in standard units; 0, the training mean, where there were none."""

    history: Array
    """(past, d_o + d_a)"""
    ticks: Any
    """How many were seen so far, () integer."""
    silent: Array
    """(d_o,): for how many ticks nothing was seen of each observation."""
