"""What a node does that cannot keep up: forecasts are left out until it can, updates never are."""

from __future__ import annotations

LATE_TICKS = 100
"""A forecast that would come so many ticks late is left out."""
CAUGHT_UP_TICKS = 10
"""Until the node is only so many ticks behind."""


class Backlog:
    """Notes how long messages lie in the queue.

    Forecasts are the larger part of a tick's work. Without them a node that fell behind catches up
    before its queue overflows: a lost message is a missing observation, which costs the belief its
    certainty, and more time than one that is seen.

    Attributes
    ----------
    left_out
        Forecasts left out so far.
    """

    def __init__(self) -> None:
        self.left_out = 0
        self._reported = 0
        self._tick_ns = 0.0
        self._behind = False

    def expect(self, period: float) -> None:
        """Take note of every how many seconds a tick comes."""
        self._tick_ns = period * 1e9

    def note(self, waited_ns: int) -> None:
        """Take note of how long the newest message lay in the queue."""
        limit = CAUGHT_UP_TICKS if self._behind else LATE_TICKS
        self._behind = waited_ns > limit * self._tick_ns

    def allows_forecast(self) -> bool:
        """Tell whether there is time for a forecast now."""
        self.left_out += self._behind
        return not self._behind

    def newly_left_out(self) -> int:
        """Return how many forecasts were left out since this was asked last."""
        new, self._reported = self.left_out - self._reported, self.left_out
        return new
